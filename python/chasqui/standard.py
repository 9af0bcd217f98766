"""The MPI standard's names: every function by topic and by the version that brought it, and the
other names of its C binding. What of them this version has is another module's business: see
chasqui.coverage. MPI_Sizeof and MPI_F_sync_reg belong to the Fortran modules alone.

Sources: MPI 1.3, 2.0, 2.2, 3.0, 3.1, 4.0, 4.1 and 5.0, Annex A ("Language Bindings Summary") and
the change logs. Names stand here without MPI_.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

# topic -> version -> functions
FUNCTIONS = {
    "Environment": {
        "1.0": "Init Initialized Finalize Abort Get_processor_name Wtime Wtick Pcontrol",
        "1.2": "Get_version",
        "2.0": "Init_thread Query_thread Is_thread_main Finalized Alloc_mem Free_mem",
        "3.0": "Get_library_version",
        "4.0": """
            Session_init Session_finalize Session_get_info Session_get_num_psets
            Session_get_nth_pset Session_get_pset_info Group_from_session_pset
            Comm_create_from_group Intercomm_create_from_groups
        """,
        "4.1": "Get_hw_resource_info",
        "5.0": """
            Abi_get_version Abi_get_info Abi_get_fortran_info Abi_get_fortran_booleans
            Abi_set_fortran_info Abi_set_fortran_booleans
        """,
    },
    "Point-to-point communication": {
        "1.0": """
            Send Bsend Ssend Rsend Recv Isend Ibsend Issend Irsend Irecv Send_init Bsend_init
            Ssend_init Rsend_init Recv_init Start Startall Sendrecv Sendrecv_replace Probe Iprobe
            Cancel Test_cancelled Request_free Wait Waitall Waitany Waitsome Test Testall Testany
            Testsome Buffer_attach Buffer_detach Get_count
        """,
        "2.0": "Request_get_status Status_set_cancelled Grequest_start Grequest_complete",
        "3.0": "Mprobe Improbe Mrecv Imrecv",
        "4.0": "Isendrecv Isendrecv_replace",
        "4.1": """
            Request_get_status_all Request_get_status_any Request_get_status_some Status_get_source
            Status_get_tag Status_get_error Status_set_source Status_set_tag Status_set_error
            Buffer_flush Buffer_iflush Comm_attach_buffer Comm_detach_buffer Comm_flush_buffer
            Comm_iflush_buffer Session_attach_buffer Session_detach_buffer Session_flush_buffer
            Session_iflush_buffer
        """,
    },
    "Partitioned communication": {
        "4.0": "Psend_init Precv_init Pready Pready_range Pready_list Parrived",
    },
    "Datatypes": {
        "1.0": """
            Type_contiguous Type_vector Type_indexed Type_commit Type_free Type_size Get_elements
            Pack Unpack Pack_size
        """,
        "2.0": """
            Type_create_hvector Type_create_hindexed Type_create_indexed_block Type_create_struct
            Type_create_subarray Type_create_darray Type_create_resized Type_dup Type_get_extent
            Type_get_true_extent Type_get_envelope Type_get_contents Type_match_size
            Type_create_f90_integer Type_create_f90_real Type_create_f90_complex Get_address
            Pack_external Unpack_external Pack_external_size Status_set_elements Type_set_name
            Type_get_name Type_create_keyval Type_free_keyval Type_set_attr Type_get_attr
            Type_delete_attr
        """,
        "3.0": """
            Type_create_hindexed_block Type_size_x Type_get_extent_x Type_get_true_extent_x
            Get_elements_x Status_set_elements_x
        """,
        "3.1": "Aint_add Aint_diff",
        "4.1": "Type_get_value_index",
    },
    "Collective communication": {
        "1.0": """
            Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv
            Reduce Allreduce Reduce_scatter Scan Op_create Op_free
        """,
        "2.0": "Alltoallw Exscan",
        "2.2": "Reduce_local Reduce_scatter_block Op_commutative",
    },
    "Nonblocking collectives": {
        "3.0": """
            Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall
            Ialltoallv Ialltoallw Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan
            Iexscan
        """,
    },
    "Persistent collectives": {
        "4.0": """
            Barrier_init Bcast_init Gather_init Gatherv_init Scatter_init Scatterv_init
            Allgather_init Allgatherv_init Alltoall_init Alltoallv_init Alltoallw_init Reduce_init
            Allreduce_init Reduce_scatter_init Reduce_scatter_block_init Scan_init Exscan_init
        """,
    },
    "Groups and communicators": {
        "1.0": """
            Comm_size Comm_rank Comm_compare Comm_dup Comm_create Comm_split Comm_free Comm_group
            Comm_test_inter Comm_remote_size Comm_remote_group Intercomm_create Intercomm_merge
            Group_size Group_rank Group_translate_ranks Group_compare Group_union Group_intersection
            Group_difference Group_incl Group_excl Group_range_incl Group_range_excl Group_free
        """,
        "2.0": """
            Comm_set_name Comm_get_name Comm_create_keyval Comm_free_keyval Comm_set_attr
            Comm_get_attr Comm_delete_attr
        """,
        "3.0": """
            Comm_dup_with_info Comm_idup Comm_create_group Comm_split_type Comm_set_info
            Comm_get_info
        """,
        "4.0": "Comm_idup_with_info",
    },
    "Process topologies": {
        "1.0": """
            Cart_create Cart_get Cart_rank Cart_coords Cart_shift Cart_sub Cart_map Cartdim_get
            Dims_create Topo_test Graph_create Graph_get Graph_map Graphdims_get Graph_neighbors
            Graph_neighbors_count
        """,
        "2.2": """
            Dist_graph_create Dist_graph_create_adjacent Dist_graph_neighbors
            Dist_graph_neighbors_count
        """,
    },
    "Neighbourhood collectives": {
        "3.0": """
            Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv
            Neighbor_alltoallw Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall
            Ineighbor_alltoallv Ineighbor_alltoallw
        """,
        "4.0": """
            Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init
            Neighbor_alltoallv_init Neighbor_alltoallw_init
        """,
    },
    "Errors": {
        "1.0": "Error_string Error_class Errhandler_free",
        "2.0": """
            Comm_create_errhandler Comm_set_errhandler Comm_get_errhandler Comm_call_errhandler
            Add_error_class Add_error_code Add_error_string
        """,
        "4.0": """
            Session_create_errhandler Session_set_errhandler Session_get_errhandler
            Session_call_errhandler
        """,
        "4.1": "Remove_error_class Remove_error_code Remove_error_string",
    },
    "Info objects": {
        "2.0": """
            Info_create Info_dup Info_free Info_set Info_delete Info_get Info_get_valuelen
            Info_get_nkeys Info_get_nthkey
        """,
        "4.0": "Info_get_string Info_create_env",
    },
    "One-sided communication": {
        "2.0": """
            Win_create Win_free Win_fence Win_start Win_complete Win_post Win_wait Win_test Win_lock
            Win_unlock Put Get Accumulate Win_get_group Win_set_name Win_get_name Win_create_keyval
            Win_free_keyval Win_set_attr Win_get_attr Win_delete_attr Win_create_errhandler
            Win_set_errhandler Win_get_errhandler Win_call_errhandler
        """,
        "3.0": """
            Win_allocate Win_allocate_shared Win_shared_query Win_create_dynamic Win_attach
            Win_detach Win_set_info Win_get_info Win_lock_all Win_unlock_all Win_flush Win_flush_all
            Win_flush_local Win_flush_local_all Win_sync Get_accumulate Fetch_and_op
            Compare_and_swap Rput Rget Raccumulate Rget_accumulate
        """,
    },
    "Dynamic processes": {
        "2.0": """
            Comm_spawn Comm_spawn_multiple Comm_get_parent Comm_accept Comm_connect Comm_disconnect
            Comm_join Open_port Close_port Publish_name Unpublish_name Lookup_name
        """,
    },
    "Files": {
        "2.0": """
            File_open File_close File_delete File_set_size File_preallocate File_get_size
            File_get_group File_get_amode File_set_info File_get_info File_set_view File_get_view
            File_read_at File_read_at_all File_write_at File_write_at_all File_iread_at
            File_iwrite_at File_read File_read_all File_write File_write_all File_iread File_iwrite
            File_seek File_get_position File_get_byte_offset File_read_shared File_write_shared
            File_iread_shared File_iwrite_shared File_read_ordered File_write_ordered
            File_seek_shared File_get_position_shared File_read_at_all_begin File_read_at_all_end
            File_write_at_all_begin File_write_at_all_end File_read_all_begin File_read_all_end
            File_write_all_begin File_write_all_end File_read_ordered_begin File_read_ordered_end
            File_write_ordered_begin File_write_ordered_end File_get_type_extent Register_datarep
            File_set_atomicity File_get_atomicity File_sync File_create_errhandler
            File_set_errhandler File_get_errhandler File_call_errhandler
        """,
        "3.1": "File_iread_at_all File_iwrite_at_all File_iread_all File_iwrite_all",
    },
    "Tool information interface": {
        "3.0": """
            T_init_thread T_finalize T_enum_get_info T_enum_get_item T_cvar_get_num T_cvar_get_info
            T_cvar_handle_alloc T_cvar_handle_free T_cvar_read T_cvar_write T_pvar_get_num
            T_pvar_get_info T_pvar_session_create T_pvar_session_free T_pvar_handle_alloc
            T_pvar_handle_free T_pvar_start T_pvar_stop T_pvar_read T_pvar_write T_pvar_reset
            T_pvar_readreset T_category_get_num T_category_get_info T_category_get_cvars
            T_category_get_pvars T_category_get_categories T_category_changed
        """,
        "3.1": "T_cvar_get_index T_pvar_get_index T_category_get_index",
        "4.0": """
            T_category_get_num_events T_category_get_events T_source_get_num T_source_get_info
            T_source_get_timestamp T_event_get_num T_event_get_info T_event_get_index
            T_event_handle_alloc T_event_handle_set_info T_event_handle_get_info T_event_handle_free
            T_event_register_callback T_event_callback_set_info T_event_callback_get_info
            T_event_set_dropped_handler T_event_read T_event_copy T_event_get_timestamp
            T_event_get_source
        """,
    },
    "Conversion of handles": {
        "2.0": """
            Comm_c2f Comm_f2c Errhandler_c2f Errhandler_f2c File_c2f File_f2c Group_c2f Group_f2c
            Info_c2f Info_f2c Op_c2f Op_f2c Request_c2f Request_f2c Type_c2f Type_f2c Win_c2f
            Win_f2c Status_c2f Status_f2c
        """,
        "3.0": "Message_c2f Message_f2c Status_c2f08 Status_f082c Status_f2f08 Status_f082f",
        "4.0": "Session_c2f Session_f2c",
        "5.0": """
            Comm_toint Comm_fromint Errhandler_toint Errhandler_fromint File_toint File_fromint
            Group_toint Group_fromint Info_toint Info_fromint Message_toint Message_fromint Op_toint
            Op_fromint Request_toint Request_fromint Session_toint Session_fromint Type_toint
            Type_fromint Win_toint Win_fromint
        """,
    },
    "Removed or deprecated names": {
        "1.0": """
            Address Type_hvector Type_hindexed Type_struct Type_extent Type_lb Type_ub
            Errhandler_create Errhandler_set Errhandler_get Keyval_create Keyval_free Attr_put
            Attr_get Attr_delete
        """,
    },
}

# Functions that MPI 4.0 gave a twin X_c with counts of type MPI_Count (4.1 those that are newer).
WITH_LARGE_COUNTS = """
    Send Bsend Ssend Rsend Recv Isend Ibsend Issend Irsend Irecv Send_init Bsend_init Ssend_init
    Rsend_init Recv_init Sendrecv Sendrecv_replace Buffer_attach Buffer_detach Get_count Mrecv
    Imrecv Isendrecv Isendrecv_replace Comm_attach_buffer Comm_detach_buffer Session_attach_buffer
    Session_detach_buffer Psend_init Precv_init Type_contiguous Type_vector Type_indexed Type_size
    Get_elements Pack Unpack Pack_size Type_create_hvector Type_create_hindexed
    Type_create_indexed_block Type_create_struct Type_create_subarray Type_create_darray
    Type_create_resized Type_get_extent Type_get_true_extent Type_get_envelope Type_get_contents
    Pack_external Unpack_external Pack_external_size Status_set_elements Type_create_hindexed_block
    Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Reduce Allreduce
    Reduce_scatter Scan Op_create Alltoallw Exscan Reduce_local Reduce_scatter_block Ibcast Igather
    Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw Ireduce
    Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Bcast_init Gather_init
    Gatherv_init Scatter_init Scatterv_init Allgather_init Allgatherv_init Alltoall_init
    Alltoallv_init Alltoallw_init Reduce_init Allreduce_init Reduce_scatter_init
    Reduce_scatter_block_init Scan_init Exscan_init Neighbor_allgather Neighbor_allgatherv
    Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw Ineighbor_allgather Ineighbor_allgatherv
    Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw Neighbor_allgather_init
    Neighbor_allgatherv_init Neighbor_alltoall_init Neighbor_alltoallv_init Neighbor_alltoallw_init
    Win_create Put Get Accumulate Win_allocate Win_allocate_shared Win_shared_query Get_accumulate
    Rput Rget Raccumulate Rget_accumulate File_read_at File_read_at_all File_write_at
    File_write_at_all File_iread_at File_iwrite_at File_read File_read_all File_write File_write_all
    File_iread File_iwrite File_read_shared File_write_shared File_iread_shared File_iwrite_shared
    File_read_ordered File_write_ordered File_read_at_all_begin File_write_at_all_begin
    File_read_all_begin File_write_all_begin File_read_ordered_begin File_write_ordered_begin
    File_get_type_extent Register_datarep File_iread_at_all File_iwrite_at_all File_iread_all
    File_iwrite_all
"""

# Types, of handles, counts and callback functions.
TYPES = """
    Aint Comm Comm_copy_attr_function Comm_delete_attr_function Comm_errhandler_fn
    Comm_errhandler_function Copy_function Count Datarep_conversion_function
    Datarep_conversion_function_c Datarep_extent_function Datatype Delete_function Errhandler
    F08_status File File_errhandler_fn File_errhandler_function Fint Grequest_cancel_function
    Grequest_free_function Grequest_query_function Group Handler_function Info Message Offset Op
    Request Session Session_errhandler_fn Session_errhandler_function Status T_cb_safety
    T_cvar_handle T_enum T_event_cb_function T_event_dropped_cb_function T_event_free_cb_function
    T_event_instance T_event_registration T_pvar_handle T_pvar_session T_source_order
    Type_copy_attr_function Type_delete_attr_function User_function User_function_c Win
    Win_copy_attr_function Win_delete_attr_function Win_errhandler_fn Win_errhandler_function
"""

# Constants, predefined handles and callbacks, with those of Fortran and removed ones.
CONSTANTS = """
    2DOUBLE_PRECISION 2INT 2INTEGER 2REAL ABI_SUBVERSION ABI_VERSION ADDRESS_KIND AINT ANY_SOURCE
    ANY_TAG APPNUM ARGVS_NULL ARGV_NULL ASYNC_PROTECTS_NONBLOCKING BAND BOR BOTTOM BSEND_OVERHEAD
    BUFFER_AUTOMATIC BXOR BYTE CART CHAR CHARACTER COMBINER_CONTIGUOUS COMBINER_DARRAY COMBINER_DUP
    COMBINER_F90_COMPLEX COMBINER_F90_INTEGER COMBINER_F90_REAL COMBINER_HINDEXED
    COMBINER_HINDEXED_BLOCK COMBINER_HINDEXED_INTEGER COMBINER_HVECTOR COMBINER_HVECTOR_INTEGER
    COMBINER_INDEXED COMBINER_INDEXED_BLOCK COMBINER_NAMED COMBINER_RESIZED COMBINER_STRUCT
    COMBINER_STRUCT_INTEGER COMBINER_SUBARRAY COMBINER_VALUE_INDEX COMBINER_VECTOR COMM_DUP_FN
    COMM_NULL COMM_NULL_COPY_FN COMM_NULL_DELETE_FN COMM_SELF COMM_TYPE_HW_GUIDED
    COMM_TYPE_HW_UNGUIDED COMM_TYPE_RESOURCE_GUIDED COMM_TYPE_SHARED COMM_WORLD COMPLEX COMPLEX16
    COMPLEX32 COMPLEX4 COMPLEX8 CONGRUENT CONVERSION_FN_NULL CONVERSION_FN_NULL_C COUNT COUNT_KIND
    CXX_BOOL CXX_DOUBLE_COMPLEX CXX_FLOAT_COMPLEX CXX_LONG_DOUBLE_COMPLEX C_BOOL C_COMPLEX
    C_DOUBLE_COMPLEX C_FLOAT_COMPLEX C_LONG_DOUBLE_COMPLEX DATATYPE_NULL DISPLACEMENT_CURRENT
    DISTRIBUTE_BLOCK DISTRIBUTE_CYCLIC DISTRIBUTE_DFLT_DARG DISTRIBUTE_NONE DIST_GRAPH DOUBLE
    DOUBLE_COMPLEX DOUBLE_INT DOUBLE_PRECISION DUP_FN ERRCODES_IGNORE ERRHANDLER_NULL ERROR
    ERRORS_ABORT ERRORS_ARE_FATAL ERRORS_RETURN ERR_ABI ERR_ACCESS ERR_AMODE ERR_ARG ERR_ASSERT
    ERR_BAD_FILE ERR_BASE ERR_BUFFER ERR_COMM ERR_CONVERSION ERR_COUNT ERR_DIMS ERR_DISP
    ERR_DUP_DATAREP ERR_ERRHANDLER ERR_FILE ERR_FILE_EXISTS ERR_FILE_IN_USE ERR_GROUP ERR_INFO
    ERR_INFO_KEY ERR_INFO_NOKEY ERR_INFO_VALUE ERR_INTERN ERR_IN_STATUS ERR_IO ERR_KEYVAL
    ERR_LASTCODE ERR_LOCKTYPE ERR_NAME ERR_NOT_SAME ERR_NO_MEM ERR_NO_SPACE ERR_NO_SUCH_FILE ERR_OP
    ERR_OTHER ERR_PENDING ERR_PORT ERR_PROC_ABORTED ERR_QUOTA ERR_RANK ERR_READ_ONLY ERR_REQUEST
    ERR_RMA_ATTACH ERR_RMA_CONFLICT ERR_RMA_FLAVOR ERR_RMA_RANGE ERR_RMA_SHARED ERR_RMA_SYNC
    ERR_ROOT ERR_SERVICE ERR_SESSION ERR_SIZE ERR_SPAWN ERR_TAG ERR_TOPOLOGY ERR_TRUNCATE ERR_TYPE
    ERR_UNKNOWN ERR_UNSUPPORTED_DATAREP ERR_UNSUPPORTED_OPERATION ERR_VALUE_TOO_LARGE ERR_WIN
    F08_STATUSES_IGNORE F08_STATUS_IGNORE FILE_NULL FLOAT FLOAT_INT F_ERROR F_SOURCE
    F_STATUSES_IGNORE F_STATUS_IGNORE F_STATUS_SIZE F_TAG GRAPH GROUP_EMPTY GROUP_NULL HOST IDENT
    INFO_ENV INFO_NULL INT INT16_T INT32_T INT64_T INT8_T INTEGER INTEGER1 INTEGER16 INTEGER2
    INTEGER4 INTEGER8 INTEGER_KIND IN_PLACE IO KEYVAL_INVALID LAND LASTUSEDCODE LB LOCK_EXCLUSIVE
    LOCK_SHARED LOGICAL LOGICAL1 LOGICAL16 LOGICAL2 LOGICAL4 LOGICAL8 LONG LONG_DOUBLE
    LONG_DOUBLE_INT LONG_INT LONG_LONG LONG_LONG_INT LOR LXOR MAX MAXLOC MAX_DATAREP_STRING
    MAX_ERROR_STRING MAX_INFO_KEY MAX_INFO_VAL MAX_LIBRARY_VERSION_STRING MAX_OBJECT_NAME
    MAX_PORT_NAME MAX_PROCESSOR_NAME MAX_PSET_NAME_LEN MAX_STRINGTAG_LEN MESSAGE_NO_PROC
    MESSAGE_NULL MIN MINLOC MODE_APPEND MODE_CREATE MODE_DELETE_ON_CLOSE MODE_EXCL MODE_NOCHECK
    MODE_NOPRECEDE MODE_NOPUT MODE_NOSTORE MODE_NOSUCCEED MODE_RDONLY MODE_RDWR MODE_SEQUENTIAL
    MODE_UNIQUE_OPEN MODE_WRONLY NO_OP NULL_COPY_FN NULL_DELETE_FN OFFSET OFFSET_KIND OP_NULL
    ORDER_C ORDER_FORTRAN PACKED PROC_NULL PROD REAL REAL16 REAL2 REAL4 REAL8 REPLACE REQUEST_NULL
    ROOT SEEK_CUR SEEK_END SEEK_SET SESSION_NULL SHORT SHORT_INT SIGNED_CHAR SIMILAR SOURCE
    STATUSES_IGNORE STATUS_IGNORE STATUS_SIZE SUBARRAYS_SUPPORTED SUBVERSION SUCCESS SUM TAG TAG_UB
    THREAD_FUNNELED THREAD_MULTIPLE THREAD_SERIALIZED THREAD_SINGLE TYPECLASS_COMPLEX
    TYPECLASS_INTEGER TYPECLASS_REAL TYPE_DUP_FN TYPE_NULL_COPY_FN TYPE_NULL_DELETE_FN
    T_BIND_MPI_COMM T_BIND_MPI_DATATYPE T_BIND_MPI_ERRHANDLER T_BIND_MPI_FILE T_BIND_MPI_GROUP
    T_BIND_MPI_INFO T_BIND_MPI_MESSAGE T_BIND_MPI_OP T_BIND_MPI_REQUEST T_BIND_MPI_SESSION
    T_BIND_MPI_WIN T_BIND_NO_OBJECT T_CB_REQUIRE_ASYNC_SIGNAL_SAFE T_CB_REQUIRE_MPI_RESTRICTED
    T_CB_REQUIRE_NONE T_CB_REQUIRE_THREAD_SAFE T_CVAR_HANDLE_NULL T_ENUM_NULL T_ERR_CANNOT_INIT
    T_ERR_CVAR_SET_NEVER T_ERR_CVAR_SET_NOT_NOW T_ERR_INVALID T_ERR_INVALID_HANDLE
    T_ERR_INVALID_INDEX T_ERR_INVALID_ITEM T_ERR_INVALID_NAME T_ERR_INVALID_SESSION T_ERR_MEMORY
    T_ERR_NOT_ACCESSIBLE T_ERR_NOT_INITIALIZED T_ERR_NOT_SUPPORTED T_ERR_OUT_OF_HANDLES
    T_ERR_OUT_OF_SESSIONS T_ERR_PVAR_NO_ATOMIC T_ERR_PVAR_NO_STARTSTOP T_ERR_PVAR_NO_WRITE
    T_PVAR_ALL_HANDLES T_PVAR_CLASS_AGGREGATE T_PVAR_CLASS_COUNTER T_PVAR_CLASS_GENERIC
    T_PVAR_CLASS_HIGHWATERMARK T_PVAR_CLASS_LEVEL T_PVAR_CLASS_LOWWATERMARK T_PVAR_CLASS_PERCENTAGE
    T_PVAR_CLASS_SIZE T_PVAR_CLASS_STATE T_PVAR_CLASS_TIMER T_PVAR_HANDLE_NULL T_PVAR_SESSION_NULL
    T_SCOPE_ALL T_SCOPE_ALL_EQ T_SCOPE_CONSTANT T_SCOPE_GROUP T_SCOPE_GROUP_EQ T_SCOPE_LOCAL
    T_SCOPE_READONLY T_SOURCE_ORDERED T_SOURCE_UNORDERED T_VERBOSITY_MPIDEV_ALL
    T_VERBOSITY_MPIDEV_BASIC T_VERBOSITY_MPIDEV_DETAIL T_VERBOSITY_TUNER_ALL T_VERBOSITY_TUNER_BASIC
    T_VERBOSITY_TUNER_DETAIL T_VERBOSITY_USER_ALL T_VERBOSITY_USER_BASIC T_VERBOSITY_USER_DETAIL UB
    UINT16_T UINT32_T UINT64_T UINT8_T UNDEFINED UNEQUAL UNIVERSE_SIZE UNSIGNED UNSIGNED_CHAR
    UNSIGNED_LONG UNSIGNED_LONG_LONG UNSIGNED_SHORT UNWEIGHTED VERSION WCHAR WEIGHTS_EMPTY WIN_BASE
    WIN_CREATE_FLAVOR WIN_DISP_UNIT WIN_DUP_FN WIN_FLAVOR_ALLOCATE WIN_FLAVOR_CREATE
    WIN_FLAVOR_DYNAMIC WIN_FLAVOR_SHARED WIN_MODEL WIN_NULL WIN_NULL_COPY_FN WIN_NULL_DELETE_FN
    WIN_SEPARATE WIN_SIZE WIN_UNIFIED WTIME_IS_GLOBAL
"""


# What a program gets MPI's names from: name -> what it is, and the version that brought it.
INTERFACES = {
    "mpi.h": ("header of C and C++", "1.0"),
    "mpif.h": ("include file of Fortran", "1.0"),
    "mpi": ("module of Fortran, `use mpi`", "2.0"),
    "mpi_f08": ("module of Fortran, `use mpi_f08`", "3.0"),
}


class Function(NamedTuple):
    """A function of the standard."""

    name: str  # with MPI_
    topic: str
    version: str  # that brought it


@functools.cache
def functions() -> dict[str, Function]:
    """Every function by name, in the standard's order."""
    large = set(WITH_LARGE_COUNTS.split())
    found = {}
    for topic, versions in FUNCTIONS.items():
        for version, names in versions.items():
            for name in names.split():
                found[f"MPI_{name}"] = Function(f"MPI_{name}", topic, version)
                if name in large:
                    # The twins came with 4.0; what is younger had them from its beginning.
                    since = max(version, "4.0")
                    found[f"MPI_{name}_c"] = Function(f"MPI_{name}_c", topic, since)
    return found


@functools.cache
def other_names() -> frozenset[str]:
    """Types, constants and predefined handles."""
    return frozenset(f"MPI_{name}" for name in [*TYPES.split(), *CONSTANTS.split()])
