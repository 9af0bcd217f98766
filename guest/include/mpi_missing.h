/* Parts of MPI that this library doesn't have: one-sided communication, files, dynamic processes.
 * mpi.h includes this file; it is of no use alone.
 *
 * Programs often hold more than they use, so types and constants are here, and every function is
 * declared: the compiler warns where one is called, and the linker names it again when the program
 * is linked and can't be. Not even declared: MPI_T, sessions, partitioned communication.
 */
#ifndef CHASQUI_MPI_MISSING_H
#define CHASQUI_MPI_MISSING_H

enum {
    MPI_MODE_APPEND = 1,
    MPI_MODE_CREATE = 2,
    MPI_MODE_DELETE_ON_CLOSE = 4,
    MPI_MODE_EXCL = 8,
    MPI_MODE_RDONLY = 16,
    MPI_MODE_RDWR = 32,
    MPI_MODE_SEQUENTIAL = 64,
    MPI_MODE_UNIQUE_OPEN = 128,
    MPI_MODE_WRONLY = 256,
    MPI_MODE_NOCHECK = 1024,
    MPI_MODE_NOPRECEDE = 2048,
    MPI_MODE_NOPUT = 4096,
    MPI_MODE_NOSTORE = 8192,
    MPI_MODE_NOSUCCEED = 16384
};
enum { MPI_LOCK_EXCLUSIVE = 301, MPI_LOCK_SHARED = 302 };
enum {
    MPI_WIN_FLAVOR_CREATE = 311,
    MPI_WIN_FLAVOR_ALLOCATE = 312,
    MPI_WIN_FLAVOR_DYNAMIC = 313,
    MPI_WIN_FLAVOR_SHARED = 314
};
enum { MPI_WIN_UNIFIED = 321, MPI_WIN_SEPARATE = 322 };
enum { MPI_SEEK_CUR = 401, MPI_SEEK_END = 402, MPI_SEEK_SET = 403 };
enum {
    MPI_WIN_BASE = 601,
    MPI_WIN_DISP_UNIT = 602,
    MPI_WIN_SIZE = 603,
    MPI_WIN_CREATE_FLAVOR = 604,
    MPI_WIN_MODEL = 605
};
#define MPI_DISPLACEMENT_CURRENT ((MPI_Offset) - 1)

typedef int MPI_Win_copy_attr_function(MPI_Win, int keyval, void *extra_state, void *value_in, void *value_out,
                                       int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win, int keyval, void *value, void *extra_state);
typedef void MPI_Win_errhandler_function(MPI_Win *, int *error_code, ...);
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef void MPI_File_errhandler_function(MPI_File *, int *error_code, ...);
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef int MPI_Datarep_extent_function(MPI_Datatype, MPI_Aint *extent, void *extra_state);
typedef int MPI_Datarep_conversion_function(void *userbuf, MPI_Datatype, int count, void *filebuf, MPI_Offset position,
                                            void *extra_state);

#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function *)1)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function *)0)
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)

#define CHASQUI_MISSING(result, name, arguments) \
    result MPI_##name arguments                  \
        __attribute__((warning("MPI_" #name " is missing in Chasqui's MPI library: the program will not link")))

/* One-sided communication. */
CHASQUI_MISSING(int, Accumulate,
                (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win));
CHASQUI_MISSING(int, Compare_and_swap,
                (const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Win win));
CHASQUI_MISSING(int, Fetch_and_op,
                (const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                 MPI_Aint target_disp, MPI_Op op, MPI_Win win));
CHASQUI_MISSING(int, Get,
                (void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win));
CHASQUI_MISSING(int, Get_accumulate,
                (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                 int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                 int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win));
CHASQUI_MISSING(int, Put,
                (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win));
CHASQUI_MISSING(int, Raccumulate,
                (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                 MPI_Request *request));
CHASQUI_MISSING(int, Rget,
                (void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                 MPI_Request *request));
CHASQUI_MISSING(int, Rget_accumulate,
                (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                 int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                 int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request));
CHASQUI_MISSING(int, Rput,
                (const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                 MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                 MPI_Request *request));
CHASQUI_MISSING(int, Win_allocate,
                (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win));
CHASQUI_MISSING(int, Win_allocate_shared,
                (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win));
CHASQUI_MISSING(int, Win_attach, (MPI_Win win, void *base, MPI_Aint size));
CHASQUI_MISSING(int, Win_call_errhandler, (MPI_Win win, int errorcode));
CHASQUI_MISSING(int, Win_complete, (MPI_Win win));
CHASQUI_MISSING(int, Win_create,
                (void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win));
CHASQUI_MISSING(int, Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win));
CHASQUI_MISSING(int, Win_create_errhandler,
                (MPI_Win_errhandler_function * win_errhandler_fn, MPI_Errhandler *errhandler));
CHASQUI_MISSING(int, Win_create_keyval,
                (MPI_Win_copy_attr_function * win_copy_attr_fn, MPI_Win_delete_attr_function *win_delete_attr_fn,
                 int *win_keyval, void *extra_state));
CHASQUI_MISSING(int, Win_delete_attr, (MPI_Win win, int win_keyval));
CHASQUI_MISSING(int, Win_detach, (MPI_Win win, const void *base));
CHASQUI_MISSING(int, Win_fence, (int assert, MPI_Win win));
CHASQUI_MISSING(int, Win_flush, (int rank, MPI_Win win));
CHASQUI_MISSING(int, Win_flush_all, (MPI_Win win));
CHASQUI_MISSING(int, Win_flush_local, (int rank, MPI_Win win));
CHASQUI_MISSING(int, Win_flush_local_all, (MPI_Win win));
CHASQUI_MISSING(int, Win_free, (MPI_Win * win));
CHASQUI_MISSING(int, Win_free_keyval, (int *win_keyval));
CHASQUI_MISSING(int, Win_get_attr, (MPI_Win win, int win_keyval, void *attribute_val, int *flag));
CHASQUI_MISSING(int, Win_get_errhandler, (MPI_Win win, MPI_Errhandler *errhandler));
CHASQUI_MISSING(int, Win_get_group, (MPI_Win win, MPI_Group *group));
CHASQUI_MISSING(int, Win_get_info, (MPI_Win win, MPI_Info *info_used));
CHASQUI_MISSING(int, Win_get_name, (MPI_Win win, char *win_name, int *resultlen));
CHASQUI_MISSING(int, Win_lock, (int lock_type, int rank, int assert, MPI_Win win));
CHASQUI_MISSING(int, Win_lock_all, (int assert, MPI_Win win));
CHASQUI_MISSING(int, Win_post, (MPI_Group group, int assert, MPI_Win win));
CHASQUI_MISSING(int, Win_set_attr, (MPI_Win win, int win_keyval, void *attribute_val));
CHASQUI_MISSING(int, Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler));
CHASQUI_MISSING(int, Win_set_info, (MPI_Win win, MPI_Info info));
CHASQUI_MISSING(int, Win_set_name, (MPI_Win win, const char *win_name));
CHASQUI_MISSING(int, Win_shared_query, (MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *baseptr));
CHASQUI_MISSING(int, Win_start, (MPI_Group group, int assert, MPI_Win win));
CHASQUI_MISSING(int, Win_sync, (MPI_Win win));
CHASQUI_MISSING(int, Win_test, (MPI_Win win, int *flag));
CHASQUI_MISSING(int, Win_unlock, (int rank, MPI_Win win));
CHASQUI_MISSING(int, Win_unlock_all, (MPI_Win win));
CHASQUI_MISSING(int, Win_wait, (MPI_Win win));

/* Files. */
CHASQUI_MISSING(int, File_call_errhandler, (MPI_File fh, int errorcode));
CHASQUI_MISSING(int, File_close, (MPI_File * fh));
CHASQUI_MISSING(int, File_create_errhandler,
                (MPI_File_errhandler_function * file_errhandler_fn, MPI_Errhandler *errhandler));
CHASQUI_MISSING(int, File_delete, (const char *filename, MPI_Info info));
CHASQUI_MISSING(int, File_get_amode, (MPI_File fh, int *amode));
CHASQUI_MISSING(int, File_get_atomicity, (MPI_File fh, int *flag));
CHASQUI_MISSING(int, File_get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset *disp));
CHASQUI_MISSING(int, File_get_errhandler, (MPI_File file, MPI_Errhandler *errhandler));
CHASQUI_MISSING(int, File_get_group, (MPI_File fh, MPI_Group *group));
CHASQUI_MISSING(int, File_get_info, (MPI_File fh, MPI_Info *info_used));
CHASQUI_MISSING(int, File_get_position, (MPI_File fh, MPI_Offset *offset));
CHASQUI_MISSING(int, File_get_position_shared, (MPI_File fh, MPI_Offset *offset));
CHASQUI_MISSING(int, File_get_size, (MPI_File fh, MPI_Offset *size));
CHASQUI_MISSING(int, File_get_type_extent, (MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent));
CHASQUI_MISSING(int, File_get_view,
                (MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep));
CHASQUI_MISSING(int, File_iread, (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iread_all, (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iread_at,
                (MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iread_at_all,
                (MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iread_shared,
                (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iwrite,
                (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iwrite_all,
                (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_iwrite_at,
                (MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
                 MPI_Request *request));
CHASQUI_MISSING(int, File_iwrite_at_all,
                (MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
                 MPI_Request *request));
CHASQUI_MISSING(int, File_iwrite_shared,
                (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request));
CHASQUI_MISSING(int, File_open, (MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh));
CHASQUI_MISSING(int, File_preallocate, (MPI_File fh, MPI_Offset size));
CHASQUI_MISSING(int, File_read, (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_read_all, (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_read_all_begin, (MPI_File fh, void *buf, int count, MPI_Datatype datatype));
CHASQUI_MISSING(int, File_read_all_end, (MPI_File fh, void *buf, MPI_Status *status));
CHASQUI_MISSING(int, File_read_at,
                (MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_read_at_all,
                (MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_read_at_all_begin,
                (MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype));
CHASQUI_MISSING(int, File_read_at_all_end, (MPI_File fh, void *buf, MPI_Status *status));
CHASQUI_MISSING(int, File_read_ordered, (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_read_ordered_begin, (MPI_File fh, void *buf, int count, MPI_Datatype datatype));
CHASQUI_MISSING(int, File_read_ordered_end, (MPI_File fh, void *buf, MPI_Status *status));
CHASQUI_MISSING(int, File_read_shared, (MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_seek, (MPI_File fh, MPI_Offset offset, int whence));
CHASQUI_MISSING(int, File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence));
CHASQUI_MISSING(int, File_set_atomicity, (MPI_File fh, int flag));
CHASQUI_MISSING(int, File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler));
CHASQUI_MISSING(int, File_set_info, (MPI_File fh, MPI_Info info));
CHASQUI_MISSING(int, File_set_size, (MPI_File fh, MPI_Offset size));
CHASQUI_MISSING(int, File_set_view,
                (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                 MPI_Info info));
CHASQUI_MISSING(int, File_sync, (MPI_File fh));
CHASQUI_MISSING(int, File_write, (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_write_all,
                (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_write_all_begin, (MPI_File fh, const void *buf, int count, MPI_Datatype datatype));
CHASQUI_MISSING(int, File_write_all_end, (MPI_File fh, const void *buf, MPI_Status *status));
CHASQUI_MISSING(int, File_write_at,
                (MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
                 MPI_Status *status));
CHASQUI_MISSING(int, File_write_at_all,
                (MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
                 MPI_Status *status));
CHASQUI_MISSING(int, File_write_at_all_begin,
                (MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype));
CHASQUI_MISSING(int, File_write_at_all_end, (MPI_File fh, const void *buf, MPI_Status *status));
CHASQUI_MISSING(int, File_write_ordered,
                (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, File_write_ordered_begin, (MPI_File fh, const void *buf, int count, MPI_Datatype datatype));
CHASQUI_MISSING(int, File_write_ordered_end, (MPI_File fh, const void *buf, MPI_Status *status));
CHASQUI_MISSING(int, File_write_shared,
                (MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status));
CHASQUI_MISSING(int, Register_datarep,
                (const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
                 MPI_Datarep_conversion_function *write_conversion_fn,
                 MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state));

/* Dynamic processes. */
CHASQUI_MISSING(int, Close_port, (const char *port_name));
CHASQUI_MISSING(int, Comm_accept, (const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm));
CHASQUI_MISSING(int, Comm_connect, (const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm));
CHASQUI_MISSING(int, Comm_join, (int fd, MPI_Comm *intercomm));
CHASQUI_MISSING(int, Comm_spawn,
                (const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                 MPI_Comm *intercomm, int array_of_errcodes[]));
CHASQUI_MISSING(int, Comm_spawn_multiple,
                (int count, char *array_of_commands[], char **array_of_argv[], const int array_of_maxprocs[],
                 const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm,
                 int array_of_errcodes[]));
CHASQUI_MISSING(int, Lookup_name, (const char *service_name, MPI_Info info, char *port_name));
CHASQUI_MISSING(int, Open_port, (MPI_Info info, char *port_name));
CHASQUI_MISSING(int, Publish_name, (const char *service_name, MPI_Info info, const char *port_name));
CHASQUI_MISSING(int, Unpublish_name, (const char *service_name, MPI_Info info, const char *port_name));

#undef CHASQUI_MISSING

#endif
