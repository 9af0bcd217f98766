/* Where the program runs, and its memory (MPI 5.0, chapter 9). */
#include "chasqui/region.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/process.h"

double PMPI_Wtime(void) { return (double)chq_ticks() * chq.seconds_per_tick; }
MPI_ALIAS(Wtime);

double PMPI_Wtick(void) { return chq.seconds_per_tick; }
MPI_ALIAS(Wtick);

int PMPI_Get_processor_name(char *name, int *resultlen)
{
    *resultlen = (int)chq_platform_host_name(name, MPI_MAX_PROCESSOR_NAME);
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_processor_name);

int PMPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_version);

int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}
MPI_ALIAS(Abi_get_version);

int PMPI_Get_library_version(char *version, int *resultlen)
{
    static const char text[] = "Chasqui guest MPI library, ABI 1";
    memcpy(version, text, sizeof text);
    *resultlen = (int)sizeof text - 1;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_library_version);

/* No process is ever spawned here. */
int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_get_parent);

int PMPI_Pcontrol(const int level, ...)
{
    chasqui_region(level);
    return MPI_SUCCESS;
}
MPI_ALIAS(Pcontrol);

/* malloc: no device of this library can only reach registered memory. */
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    (void)info;
    if (size < 0)
        return chq_fail(NULL, "MPI_Alloc_mem", MPI_ERR_ARG, "negative size");
    void *block = size ? malloc((size_t)size) : NULL;
    if (size && !block)
        return chq_fail(NULL, "MPI_Alloc_mem", MPI_ERR_NO_MEM, "not enough memory");
    *(void **)baseptr = block;
    return MPI_SUCCESS;
}
MPI_ALIAS(Alloc_mem);

int PMPI_Free_mem(void *base)
{
    free(base);
    return MPI_SUCCESS;
}
MPI_ALIAS(Free_mem);
