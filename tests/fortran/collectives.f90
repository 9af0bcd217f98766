! Collectives in free form with `use mpi`: every Fortran type with the operators it has, operators
! of the program, MPI_IN_PLACE. Any number of ranks.
module verdicts
  use mpi
  implicit none
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    integer :: error
    if (right) return
    print *, 'FAILED: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine
end module

program collectives
  use mpi
  use verdicts
  implicit none
  integer :: error, rank, ranks, total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  total = ranks * (ranks + 1) / 2 ! The sum of rank + 1.
  call sums
  call complex_numbers
  call logicals
  call locations
  call own_operator
  call moving
  call at_the_same_time
  call with_neighbours
  call wanted_types
  if (rank == 0) print *, 'PASSED'
  call MPI_Finalize(error)

contains

  subroutine sums
    integer(1) :: i1
    integer(2) :: i2
    integer(4) :: i4
    integer(8) :: i8
    integer(16) :: i16
    real(4) :: r4
    real(8) :: r8, low
    real(16) :: r16
    character :: text
    i1 = int(rank + 1, 1); i2 = int(rank + 1, 2); i4 = rank + 1; i8 = rank + 1; i16 = rank + 1
    r4 = rank + 1; r8 = rank + 1; r16 = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, i1, 1, MPI_INTEGER1, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, i2, 1, MPI_INTEGER2, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, i4, 1, MPI_INTEGER4, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, i8, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, i16, 1, MPI_INTEGER16, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, r4, 1, MPI_REAL4, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, r8, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, r16, 1, MPI_REAL16, MPI_SUM, MPI_COMM_WORLD, error)
    call check(i1 == total .and. i2 == total .and. i4 == total .and. i8 == total, 'sums of integers')
    call check(i16 == total, 'sum of INTEGER*16')
    call check(r4 == total .and. r8 == total .and. r16 == total, 'sums of reals')
    r8 = rank
    call MPI_Allreduce(r8, low, 1, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, error)
    call check(low == 0, 'minimum')
    i4 = ibset(0, mod(rank, 30))
    call MPI_Allreduce(MPI_IN_PLACE, i4, 1, MPI_INTEGER, MPI_BOR, MPI_COMM_WORLD, error)
    call check(popcnt(i4) == min(ranks, 30), 'bits')
    i4 = rank + 1
    call MPI_Scan(MPI_IN_PLACE, i4, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(i4 == (rank + 1) * (rank + 2) / 2, 'scan')
    text = 'x'
    if (rank == 0) text = 'y'
    call MPI_Bcast(text, 1, MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
    call check(text == 'y', 'characters')
  end subroutine

  subroutine complex_numbers
    complex :: c(2), d(2), expected
    complex(8) :: e
    complex(16) :: f
    integer :: i
    c(1) = cmplx(1, 1); c(2) = cmplx(rank, -rank)
    call MPI_Reduce(c, d, 2, MPI_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) call check(d(2) == cmplx(total - ranks, ranks - total), 'sum of complex')
    call MPI_Allreduce(c, d, 2, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, error)
    expected = 1
    do i = 1, ranks
      expected = expected * cmplx(1, 1)
    end do
    call check(d(1) == expected, 'product of complex')
    e = cmplx(rank, 1, 8)
    call MPI_Allreduce(MPI_IN_PLACE, e, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
    call check(e == cmplx(total - ranks, ranks, 8), 'sum of double complex')
    f = cmplx(rank, 1, 16)
    call MPI_Allreduce(MPI_IN_PLACE, f, 1, MPI_COMPLEX32, MPI_SUM, MPI_COMM_WORLD, error)
    call check(f == cmplx(total - ranks, ranks, 16), 'sum of complex*32')
  end subroutine

  subroutine logicals
    logical :: mine, all_of, any_of, odd
    logical(1) :: small
    logical(8) :: large
    mine = rank == 0
    call MPI_Allreduce(mine, all_of, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call MPI_Allreduce(mine, any_of, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call MPI_Allreduce(mine, odd, 1, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, error)
    call check(all_of .eqv. ranks == 1, 'and')
    call check(any_of .eqv. .true., 'or')
    call check(transfer(any_of, 0) == 1, '.true. is 1')
    call check(odd, 'exclusive or')
    small = rank /= 0; large = rank /= 0
    call MPI_Allreduce(MPI_IN_PLACE, small, 1, MPI_LOGICAL1, MPI_LOR, MPI_COMM_WORLD, error)
    call MPI_Allreduce(MPI_IN_PLACE, large, 1, MPI_LOGICAL8, MPI_LAND, MPI_COMM_WORLD, error)
    call check(logical((small .eqv. ranks > 1) .and. .not. large), 'logicals of other lengths')
  end subroutine

  subroutine locations
    integer :: i(2), j(2)
    real :: r(2), s(2)
    double precision :: d(2), e(2)
    i = [-rank, rank]; r = [real(rank), real(rank)]; d = [1d0, dble(rank)]
    call MPI_Allreduce(i, j, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, error)
    call MPI_Allreduce(r, s, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call MPI_Allreduce(d, e, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call check(all(j == [1 - ranks, ranks - 1]), 'minloc of integers')
    call check(all(s == real(ranks - 1)), 'maxloc of reals')
    call check(all(e == [1d0, 0d0]), 'of equals the first')
  end subroutine

  ! Products of 2 by 2 matrices do not commute: the order of ranks counts.
  subroutine own_operator
    integer :: op, matrix_type, m(4), p(4), i
    logical :: commutes
    call MPI_Type_contiguous(4, MPI_INTEGER, matrix_type, error)
    call MPI_Type_commit(matrix_type, error)
    call MPI_Op_create(multiply, .false., op, error)
    call MPI_Op_commutative(op, commutes, error)
    call check(.not. commutes, 'op_commutative')
    m = [1, 0, rank + 1, 1]
    if (rank == 0) m = [0, 1, 1, 0]
    call MPI_Allreduce(m, p, 1, matrix_type, op, MPI_COMM_WORLD, error)
    i = total - 1
    call check(all(p == [0, 1, 1, i]), 'operator of the program')
    call MPI_Op_free(op, error)
    call check(op == MPI_OP_NULL, 'op_free')
    call MPI_Op_create(add, .true., op, error)
    i = 1
    call MPI_Allreduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, op, MPI_COMM_WORLD, error)
    call check(i == ranks, 'operator on a predefined type')
    call MPI_Type_free(matrix_type, error)
  end subroutine

  subroutine multiply(in, inout, length, datatype)
    integer :: length, datatype, in(4, length), inout(4, length), i, bytes
    do i = 1, length
      inout(:, i) = reshape(matmul(reshape(in(:, i), [2, 2]), reshape(inout(:, i), [2, 2])), [4])
    end do
    call MPI_Type_size(datatype, bytes, error)
    call check(bytes == 16, 'datatype of an operator')
  end subroutine

  subroutine add(in, inout, length, datatype)
    integer :: length, datatype, in(length), inout(length)
    call check(datatype == MPI_INTEGER, 'predefined datatype of an operator')
    inout = inout + in
  end subroutine

  subroutine moving
    integer :: i, all_of(ranks), out(ranks), counts(ranks), places(ranks), types(ranks), last
    counts = 1
    places = [(i - 1, i = 1, ranks)]
    call MPI_Allgather(rank, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(all(all_of == places), 'allgather')
    all_of = -1
    all_of(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(all(all_of == places), 'allgather in place')
    call MPI_Allgatherv(rank, 1, MPI_INTEGER, all_of, counts, places(ranks:1:-1), MPI_INTEGER, &
      MPI_COMM_WORLD, error)
    call check(all(all_of == places(ranks:1:-1)), 'allgatherv')
    out = [(100 * rank + i - 1, i = 1, ranks)]
    call MPI_Alltoall(out, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(all(all_of == 100 * places + rank), 'alltoall')
    types = MPI_INTEGER
    call MPI_Alltoallw(out, counts, 4 * places, types, all_of, counts, 4 * places, types, MPI_COMM_WORLD, error)
    call check(all(all_of == 100 * places + rank), 'alltoallw')
    call MPI_Scatter(places, 1, MPI_INTEGER, last, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check(last == rank, 'scatter')
    call MPI_Gather(last, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
    if (rank == ranks - 1) call check(all(all_of == places), 'gather')
    call MPI_Reduce_scatter_block(places, last, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(last == ranks * rank, 'reduce_scatter_block')
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  ! What ends after its call has returned; the program's lists of types may be gone by then.
  subroutine at_the_same_time
    integer, asynchronous :: out(ranks), in(ranks), counts(ranks), places(ranks)
    integer :: requests(2), comm, answer, i
    counts = 1
    places = [(4 * (i - 1), i = 1, ranks)]
    out = [(100 * rank + i - 1, i = 1, ranks)]
    call MPI_Ialltoallw(out, counts, places, spread(MPI_INTEGER, 1, ranks), &
      in, counts, places, spread(MPI_INTEGER, 1, ranks), MPI_COMM_WORLD, requests(1), error)
    call MPI_Comm_idup(MPI_COMM_WORLD, comm, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call check(all(in == 25 * places + rank), 'ialltoallw')
    call MPI_Comm_compare(MPI_COMM_WORLD, comm, answer, error)
    call check(answer == MPI_CONGRUENT, 'comm_idup')
    call MPI_Comm_free(comm, error)
  end subroutine

  ! A ring as a distributed graph: one neighbour to send to, one to receive from.
  subroutine with_neighbours
    integer :: ring, in, source(1), target(1), weight(1), sends, receives
    integer(MPI_ADDRESS_KIND) :: nowhere(1)
    logical :: weighted
    source = mod(rank + ranks - 1, ranks)
    target = mod(rank + 1, ranks)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, MPI_UNWEIGHTED, 1, target, &
      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, error)
    call MPI_Dist_graph_neighbors_count(ring, receives, sends, weighted, error)
    call check(receives == 1 .and. sends == 1 .and. .not. weighted, 'neighbours')
    nowhere = 0
    call MPI_Neighbor_alltoallw(rank, [1], nowhere, [MPI_INTEGER], in, [1], nowhere, [MPI_INTEGER], ring, error)
    call check(in == source(1), 'neighbor_alltoallw')
    call MPI_Comm_free(ring, error)
    weight = 7
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, weight, 1, target, weight, &
      MPI_INFO_NULL, .true., ring, error)
    weight = 0
    call MPI_Dist_graph_neighbors(ring, 1, source, weight, 1, target, MPI_UNWEIGHTED, error)
    call check(weight(1) == 7, 'weights')
    call MPI_Comm_free(ring, error)
  end subroutine

  ! An array section that is not contiguous is copied for the call.
  subroutine wanted_types
    integer :: table(3, 4), bytes
    real(8) :: x(2, 2)
    character(len=5) :: text
    table = 0
    if (rank == 0) table(2, :) = 7
    call MPI_Bcast(table(2, :), 4, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check(all(table(2, :) == 7) .and. sum(table) == 28, 'section of an array')
    call MPI_Sizeof(x, bytes, error)
    call check(bytes == 8, 'sizeof an array')
    call MPI_Sizeof(1_2, bytes, error)
    call check(bytes == 2, 'sizeof a scalar')
    call MPI_Sizeof((1.0, 2.0), bytes, error)
    call check(bytes == 8, 'sizeof complex')
    call MPI_Sizeof(text, bytes, error)
    call check(bytes == 5, 'sizeof a text')
    call check(MPI_Wtick() > 0 .and. PMPI_Wtime() >= 0, 'clock')
  end subroutine
end program
