/* Numbers of the MPI calls that the CALL and RETURN marks carry (7 bits: 1 to 127). Calls that
 * can't send, receive or wait have no number: they are ordinary computation. Rare calls that
 * communicate share one. The simulator's reports read the names from here. */
#ifndef CHASQUI_CALLS_H
#define CHASQUI_CALLS_H

#define CHQ_CALLS(CALL)                                                    \
    CALL(1, INIT, "MPI_Init")                                              \
    CALL(2, FINALIZE, "MPI_Finalize")                                      \
    CALL(3, ABORT, "MPI_Abort")                                            \
    CALL(4, SEND, "MPI_Send")                                              \
    CALL(5, BSEND, "MPI_Bsend")                                            \
    CALL(6, SSEND, "MPI_Ssend")                                            \
    CALL(7, RSEND, "MPI_Rsend")                                            \
    CALL(8, RECV, "MPI_Recv")                                              \
    CALL(9, ISEND, "MPI_Isend")                                            \
    CALL(10, IBSEND, "MPI_Ibsend")                                         \
    CALL(11, ISSEND, "MPI_Issend")                                         \
    CALL(12, IRSEND, "MPI_Irsend")                                         \
    CALL(13, IRECV, "MPI_Irecv")                                           \
    CALL(14, START, "MPI_Start")                                           \
    CALL(15, STARTALL, "MPI_Startall")                                     \
    CALL(16, SENDRECV, "MPI_Sendrecv")                                     \
    CALL(17, SENDRECV_REPLACE, "MPI_Sendrecv_replace")                     \
    CALL(18, PROBE, "MPI_Probe")                                           \
    CALL(19, IPROBE, "MPI_Iprobe")                                         \
    CALL(20, MPROBE, "MPI_Mprobe")                                         \
    CALL(21, IMPROBE, "MPI_Improbe")                                       \
    CALL(22, MRECV, "MPI_Mrecv")                                           \
    CALL(23, IMRECV, "MPI_Imrecv")                                         \
    CALL(24, CANCEL, "MPI_Cancel")                                         \
    CALL(25, WAIT, "MPI_Wait")                                             \
    CALL(26, WAITALL, "MPI_Waitall")                                       \
    CALL(27, WAITANY, "MPI_Waitany")                                       \
    CALL(28, WAITSOME, "MPI_Waitsome")                                     \
    CALL(29, TEST, "MPI_Test")                                             \
    CALL(30, TESTALL, "MPI_Testall")                                       \
    CALL(31, TESTANY, "MPI_Testany")                                       \
    CALL(32, TESTSOME, "MPI_Testsome")                                     \
    CALL(33, REQUEST_GET_STATUS, "MPI_Request_get_status")                 \
    CALL(34, BUFFER_DETACH, "MPI_Buffer_detach")                           \
    CALL(40, BARRIER, "MPI_Barrier")                                       \
    CALL(41, BCAST, "MPI_Bcast")                                           \
    CALL(42, GATHER, "MPI_Gather")                                         \
    CALL(43, GATHERV, "MPI_Gatherv")                                       \
    CALL(44, SCATTER, "MPI_Scatter")                                       \
    CALL(45, SCATTERV, "MPI_Scatterv")                                     \
    CALL(46, ALLGATHER, "MPI_Allgather")                                   \
    CALL(47, ALLGATHERV, "MPI_Allgatherv")                                 \
    CALL(48, ALLTOALL, "MPI_Alltoall")                                     \
    CALL(49, ALLTOALLV, "MPI_Alltoallv")                                   \
    CALL(50, ALLTOALLW, "MPI_Alltoallw")                                   \
    CALL(51, REDUCE, "MPI_Reduce")                                         \
    CALL(52, ALLREDUCE, "MPI_Allreduce")                                   \
    CALL(53, REDUCE_SCATTER, "MPI_Reduce_scatter")                         \
    CALL(54, REDUCE_SCATTER_BLOCK, "MPI_Reduce_scatter_block")             \
    CALL(55, SCAN, "MPI_Scan")                                             \
    CALL(56, EXSCAN, "MPI_Exscan")                                         \
    CALL(57, IBARRIER, "MPI_Ibarrier")                                     \
    CALL(58, IBCAST, "MPI_Ibcast")                                         \
    CALL(59, IGATHER, "MPI_Igather")                                       \
    CALL(60, ISCATTER, "MPI_Iscatter")                                     \
    CALL(61, IALLGATHER, "MPI_Iallgather")                                 \
    CALL(62, IALLTOALL, "MPI_Ialltoall")                                   \
    CALL(63, IREDUCE, "MPI_Ireduce")                                       \
    CALL(64, IALLREDUCE, "MPI_Iallreduce")                                 \
    CALL(65, IREDUCE_SCATTER, "MPI_Ireduce_scatter")                       \
    CALL(66, ISCAN, "MPI_Iscan")                                           \
    CALL(67, COMM_IDUP, "MPI_Comm_idup")                                   \
    CALL(68, IGATHERV, "MPI_Igatherv")                                     \
    CALL(69, ISCATTERV, "MPI_Iscatterv")                                   \
    CALL(70, ISENDRECV, "MPI_Isendrecv")                                   \
    CALL(71, ISENDRECV_REPLACE, "MPI_Isendrecv_replace")                   \
    CALL(72, IALLGATHERV, "MPI_Iallgatherv")                               \
    CALL(73, IALLTOALLV, "MPI_Ialltoallv")                                 \
    CALL(74, IALLTOALLW, "MPI_Ialltoallw")                                 \
    CALL(75, IEXSCAN, "MPI_Iexscan")                                       \
    CALL(76, IREDUCE_SCATTER_BLOCK, "MPI_Ireduce_scatter_block")           \
    CALL(80, COMM_DUP, "MPI_Comm_dup")                                     \
    CALL(81, COMM_CREATE, "MPI_Comm_create")                               \
    CALL(82, COMM_SPLIT, "MPI_Comm_split")                                 \
    CALL(83, COMM_FREE, "MPI_Comm_free")                                   \
    CALL(84, CART_CREATE, "MPI_Cart_create")                               \
    CALL(85, CART_SUB, "MPI_Cart_sub")                                     \
    CALL(86, COMM_CREATE_GROUP, "MPI_Comm_create_group")                   \
    CALL(87, INTERCOMM_CREATE, "MPI_Intercomm_create")                     \
    CALL(88, INTERCOMM_MERGE, "MPI_Intercomm_merge")                       \
    CALL(89, GRAPH_CREATE, "MPI_Graph_create")                             \
    CALL(90, DIST_GRAPH_CREATE, "MPI_Dist_graph_create")                   \
    CALL(91, DIST_GRAPH_CREATE_ADJACENT, "MPI_Dist_graph_create_adjacent") \
    CALL(92, NEIGHBOR_ALLGATHER, "MPI_Neighbor_allgather")                 \
    CALL(93, NEIGHBOR_ALLGATHERV, "MPI_Neighbor_allgatherv")               \
    CALL(94, NEIGHBOR_ALLTOALL, "MPI_Neighbor_alltoall")                   \
    CALL(95, NEIGHBOR_ALLTOALLV, "MPI_Neighbor_alltoallv")                 \
    CALL(96, NEIGHBOR_ALLTOALLW, "MPI_Neighbor_alltoallw")                 \
    CALL(97, INEIGHBOR_ALLGATHER, "MPI_Ineighbor_allgather")               \
    CALL(98, LOCAL, "local MPI calls of several threads")                  \
    CALL(99, INEIGHBOR_ALLGATHERV, "MPI_Ineighbor_allgatherv")             \
    CALL(100, INEIGHBOR_ALLTOALL, "MPI_Ineighbor_alltoall")                \
    CALL(101, INEIGHBOR_ALLTOALLV, "MPI_Ineighbor_alltoallv")              \
    CALL(102, INEIGHBOR_ALLTOALLW, "MPI_Ineighbor_alltoallw")

enum {
#define CHQ_CALL_NUMBER(number, name, text) CALL_##name = number,
    CHQ_CALLS(CHQ_CALL_NUMBER)
#undef CHQ_CALL_NUMBER
};

#endif
