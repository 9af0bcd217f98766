! Datatypes with `use mpi`: constructors new and old, addresses, MPI_BOTTOM, contents. One rank or
! more; each sends to itself.
program types
  use mpi
  implicit none
  integer :: error, rank
  integer :: shared(4)
  double precision :: weight
  common /both/ weight, shared

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call vectors
  call structures
  call old_structures
  call arrays
  call memory
  if (rank == 0) print *, 'PASSED'
  call MPI_Finalize(error)

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    print *, 'FAILED: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

  subroutine vectors
    integer :: row, wide, a(3, 4), b(4), i, bytes, old
    integer(MPI_ADDRESS_KIND) :: lb, extent
    a = reshape([(i, i = 1, 12)], [3, 4])
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER, row, error)
    call MPI_Type_commit(row, error)
    call MPI_Sendrecv(a(2, 1), 1, row, rank, 1, b, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, error)
    call check(all(b == [2, 5, 8, 11]), 'a row')
    lb = 0
    extent = 4
    call MPI_Type_create_resized(row, lb, extent, wide, error)
    call MPI_Type_get_extent(wide, lb, extent, error)
    call check(lb == 0 .and. extent == 4, 'resized')
    call MPI_Type_size(wide, bytes, error)
    call check(bytes == 16, 'type_size')
    call MPI_Type_extent(row, bytes, error)
    call check(bytes == 40, 'type_extent')
    old = row
    call MPI_Type_free(row, error)
    call check(row == MPI_DATATYPE_NULL .and. old /= row, 'type_free')
    call MPI_Type_free(wide, error)
  end subroutine

  ! Absolute addresses, so the buffer is MPI_BOTTOM.
  subroutine structures
    integer(MPI_ADDRESS_KIND) :: places(2), gap
    integer :: both, numbers, addresses, kinds, combiner, ints(3), inner(2), n
    integer(MPI_ADDRESS_KIND) :: where_they_are(2)
    integer :: status(MPI_STATUS_SIZE)
    character(len=20) :: packed
    call MPI_Get_address(weight, places(1), error)
    call MPI_Get_address(shared, places(2), error)
    gap = MPI_Aint_diff(places(2), places(1))
    call check(gap == 8 .and. MPI_Aint_add(places(1), gap) == places(2), 'addresses')
    call MPI_Type_create_struct(2, [1, 3], places, [MPI_DOUBLE_PRECISION, MPI_INTEGER], both, error)
    call MPI_Type_commit(both, error)
    weight = 1.5d0
    shared = [1, 2, 3, 4]
    call MPI_Sendrecv(MPI_BOTTOM, 1, both, rank, 1, packed, 20, MPI_BYTE, rank, 1, MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_BYTE, n, error)
    call check(n == 20, 'a structure has no gap')
    weight = 0
    shared = 0
    n = 0
    call MPI_Unpack(packed, 20, n, MPI_BOTTOM, 1, both, MPI_COMM_WORLD, error)
    call check(weight == 1.5d0 .and. all(shared == [1, 2, 3, 0]), 'structure')
    call MPI_Type_get_envelope(both, numbers, addresses, kinds, combiner, error)
    call check(numbers == 3 .and. addresses == 2 .and. kinds == 2, 'envelope')
    call check(combiner == MPI_COMBINER_STRUCT, 'combiner')
    call MPI_Type_get_contents(both, 3, 2, 2, ints, where_they_are, inner, error)
    call check(all(ints == [2, 1, 3]) .and. all(where_they_are == places), 'contents')
    call check(all(inner == [MPI_DOUBLE_PRECISION, MPI_INTEGER]), 'types of contents')
    call MPI_Type_free(both, error)
  end subroutine

  ! MPI-1: addresses and extents are default INTEGERs.
  subroutine old_structures
    integer :: places(2), pair, strided, bytes, i
    integer :: from(6), to(3)
    call MPI_Address(weight, places(1), error)
    call MPI_Address(shared, places(2), error)
    places = places - places(1)
    call check(places(2) == 8, 'address')
    call MPI_Type_struct(2, [1, 1], places, [MPI_DOUBLE_PRECISION, MPI_INTEGER], pair, error)
    call MPI_Type_extent(pair, bytes, error)
    call check(bytes == 16, 'extent of a structure')
    call MPI_Type_ub(pair, bytes, error)
    call check(bytes == 16, 'type_ub')
    call MPI_Type_free(pair, error)
    from = [(i, i = 1, 6)]
    call MPI_Type_hvector(3, 1, 8, MPI_INTEGER, strided, error)
    call MPI_Type_commit(strided, error)
    call MPI_Sendrecv(from, 1, strided, rank, 1, to, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, error)
    call check(all(to == [1, 3, 5]), 'hvector')
    call MPI_Type_free(strided, error)
    call MPI_Type_hindexed(2, [1, 2], [20, 0], MPI_INTEGER, strided, error)
    call MPI_Type_commit(strided, error)
    call MPI_Sendrecv(from, 1, strided, rank, 1, to, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, error)
    call check(all(to == [6, 1, 2]), 'hindexed')
    call MPI_Type_free(strided, error)
  end subroutine

  subroutine arrays
    integer :: block, a(4, 4), b(4), i
    a = reshape([(i, i = 1, 16)], [4, 4])
    call MPI_Type_create_subarray(2, [4, 4], [2, 2], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, block, error)
    call MPI_Type_commit(block, error)
    call MPI_Sendrecv(a, 1, block, rank, 1, b, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, error)
    call check(all(b == [10, 11, 14, 15]), 'subarray')
    call MPI_Type_free(block, error)
  end subroutine

  subroutine memory
    use iso_c_binding
    type(c_ptr) :: place
    integer(MPI_ADDRESS_KIND) :: bytes
    integer, pointer :: numbers(:)
    bytes = 400
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, place, error)
    call c_f_pointer(place, numbers, [100])
    numbers = 7
    call check(sum(numbers) == 700, 'alloc_mem')
    call MPI_Free_mem(numbers, error)
    call check(error == MPI_SUCCESS, 'free_mem')
  end subroutine
end program
