/* Functions whose arguments differ from C's: no variable arguments, and lengths of texts that count
 * no terminating null. */
#include "fortran/fortran.h"

void pmpi_pcontrol_(MPI_Fint *level) { PMPI_Pcontrol(*level); }
FORTRAN_ALIAS(pcontrol);

/* The address is of no use in Fortran and not returned (MPI 5.0, section 3.6). */
void pmpi_buffer_detach_(void *buffer_addr, MPI_Fint *size, MPI_Fint *ierror)
{
    (void)buffer_addr;
    void *address;
    *ierror = PMPI_Buffer_detach(&address, size);
}
FORTRAN_ALIAS(buffer_detach);

/* The value stays as it is where the key is not found. */
void pmpi_info_get_(MPI_Fint *info, char *key, MPI_Fint *valuelen, char *value, MPI_Fint *flag, MPI_Fint *ierror,
                    size_t key_length, size_t value_length)
{
    char c_key[key_length + 1], c_value[MPI_MAX_INFO_VAL];
    chq_fortran_info_to_c(c_key, key, key_length);
    int most = *valuelen < MPI_MAX_INFO_VAL - 1 ? *valuelen : MPI_MAX_INFO_VAL - 1;
    *ierror = PMPI_Info_get(fortran_to_c(*info), c_key, most, c_value, flag);
    if (!*ierror && *flag)
        chq_fortran_text_from_c(value, value_length, c_value);
}
FORTRAN_ALIAS(info_get);

void pmpi_info_get_string_(MPI_Fint *info, char *key, MPI_Fint *buflen, char *value, MPI_Fint *flag, MPI_Fint *ierror,
                           size_t key_length, size_t value_length)
{
    char c_key[key_length + 1], c_value[MPI_MAX_INFO_VAL];
    chq_fortran_info_to_c(c_key, key, key_length);
    int room = *buflen == 0 ? 0 : *buflen < MPI_MAX_INFO_VAL - 1 ? *buflen + 1 : MPI_MAX_INFO_VAL;
    const int wanted = room;
    *ierror = PMPI_Info_get_string(fortran_to_c(*info), c_key, &room, c_value, flag);
    if (*ierror || !*flag)
        return;
    *buflen = room - 1;
    if (wanted != 0)
        chq_fortran_text_from_c(value, value_length, c_value);
}
FORTRAN_ALIAS(info_get_string);
