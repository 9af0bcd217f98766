! Groups, communicators, attributes, topologies, error handlers, info objects and texts in free form
! with mpif.h. Any number of ranks.
module results
  implicit none
  integer :: copies = 0, deletions = 0, handled = 0, handled_comm = 0, freed = 0
end module

program objects
  use results
  implicit none
  include 'mpif.h'
  integer :: error, rank, ranks

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call groups
  call names
  call attributes
  call type_attributes
  call old_attributes
  call predefined_attributes
  call grids
  call errors
  call infos
  call generalized
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

  subroutine generalized
    integer(MPI_ADDRESS_KIND), save :: state
    integer :: request, status(MPI_STATUS_SIZE), n
    external :: query, release, cancel
    state = 77
    call MPI_Grequest_start(query, release, cancel, state, request, error)
    call MPI_Grequest_complete(request, error)
    call MPI_Wait(request, status, error)
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    call check(n == 77 .and. freed == 77 .and. request == MPI_REQUEST_NULL, 'generalized request')
    ! The procedures get this variable, no copy: what the program stores in it, and the other way round.
    call MPI_Grequest_start(query, release, cancel, state, request, error)
    state = 78
    call MPI_Cancel(request, error)
    call check(state == 79, 'what a procedure stores')
    call MPI_Grequest_complete(request, error)
    call MPI_Wait(request, status, error)
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    call check(n == 79 .and. freed == 79, 'what the program stores')
  end subroutine

  subroutine groups
    integer :: world, reversed, others, comm, half, ranges(3, 1), list(1), answer, n
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    ranges(:, 1) = [ranks - 1, 0, -1]
    call MPI_Group_range_incl(world, 1, ranges, reversed, error)
    call MPI_Group_translate_ranks(world, 1, [0], reversed, list, error)
    call check(list(1) == ranks - 1, 'translate_ranks')
    call MPI_Group_compare(world, reversed, answer, error)
    call check(answer == merge(MPI_IDENT, MPI_SIMILAR, ranks == 1), 'group_compare')
    call MPI_Group_difference(world, reversed, others, error)
    call check(others == MPI_GROUP_EMPTY, 'the empty group')
    call MPI_Comm_create(MPI_COMM_WORLD, reversed, comm, error)
    call MPI_Comm_rank(comm, n, error)
    call check(n == ranks - 1 - rank, 'comm_create')
    call MPI_Group_free(reversed, error)
    call check(reversed == MPI_GROUP_NULL, 'group_free')
    call MPI_Comm_split(comm, mod(rank, 2), 0, half, error)
    call MPI_Comm_size(half, n, error)
    call check(n == (ranks + 1 - mod(rank, 2)) / 2, 'comm_split')
    call MPI_Comm_compare(MPI_COMM_WORLD, comm, answer, error)
    call check(answer == merge(MPI_CONGRUENT, MPI_SIMILAR, ranks == 1), 'comm_compare')
    call MPI_Comm_free(half, error)
    call MPI_Comm_free(comm, error)
    call check(comm == MPI_COMM_NULL, 'comm_free')
    call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, comm, error)
    call check(comm == MPI_COMM_NULL, 'no communicator')
    call MPI_Group_free(world, error)
  end subroutine

  ! Blanks at the end mean nothing; results are filled with them.
  subroutine names
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=4) :: short
    character(len=MPI_MAX_PROCESSOR_NAME) :: node
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length, code, class
    call MPI_Comm_set_name(MPI_COMM_WORLD, ' all of us   ', error)
    name = repeat('x', len(name))
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, error)
    call check(length == 10 .and. name == ' all of us', 'name of a communicator')
    call MPI_Comm_get_name(MPI_COMM_WORLD, short, length, error)
    call check(short == ' all', 'cut to the room')
    call MPI_Type_get_name(MPI_DOUBLE_COMPLEX, name, length, error)
    call check(name == 'MPI_DOUBLE_COMPLEX', 'name of a type')
    call MPI_Get_processor_name(node, length, error)
    call check(length == len_trim(node) .and. length > 0, 'processor name')
    call MPI_Get_library_version(version, length, error)
    call check(index(version, 'Chasqui') > 0, 'library version')
    call MPI_Error_string(MPI_ERR_TRUNCATE, text, length, error)
    call check(length == len_trim(text) .and. length > 0, 'error string')
    call MPI_Add_error_class(class, error)
    call MPI_Add_error_code(class, code, error)
    call MPI_Add_error_string(code, 'the llama is tired  ', error)
    call MPI_Error_string(code, text, length, error)
    call check(text == 'the llama is tired' .and. length == 18, 'error string of the program')
  end subroutine

  subroutine attributes
    integer :: counted, copied, dropped, comm, other
    integer(MPI_ADDRESS_KIND) :: extra, value
    logical :: found
    extra = 1000
    call MPI_Comm_create_keyval(copy_fn, delete_fn, counted, extra, error)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, copied, extra, error)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, dropped, extra, error)
    extra = -1 ! The key has the value that it was created with.
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    value = 2_MPI_ADDRESS_KIND**40
    call MPI_Comm_set_attr(comm, counted, value, error)
    call MPI_Comm_set_attr(comm, copied, value + 1, error)
    call MPI_Comm_set_attr(comm, dropped, value + 2, error)
    call MPI_Comm_dup(comm, other, error)
    call check(copies == 1, 'copy function')
    call MPI_Comm_get_attr(other, counted, value, found, error)
    call check(found .and. value == 2_MPI_ADDRESS_KIND**40 + 1000, 'value of the copy function')
    call MPI_Comm_get_attr(other, copied, value, found, error)
    call check(found .and. value == 2_MPI_ADDRESS_KIND**40 + 1, 'comm_dup_fn')
    call MPI_Comm_get_attr(other, dropped, value, found, error)
    call check(.not. found, 'comm_null_copy_fn')
    call MPI_Comm_delete_attr(comm, counted, error)
    call check(deletions == 1, 'delete function')
    call MPI_Comm_free(other, error)
    call check(deletions == 2, 'delete function when the communicator is freed')
    call MPI_Comm_free(comm, error)
    call MPI_Comm_free_keyval(counted, error)
    call check(counted == MPI_KEYVAL_INVALID, 'free_keyval')
  end subroutine

  subroutine copy_fn(comm, keyval, extra, in, out, flag, ierror)
    integer :: comm, keyval, ierror, n
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    call MPI_Comm_size(comm, n, ierror)
    call check(n == ranks .and. keyval > 0, 'arguments of the copy function')
    copies = copies + 1
    out = in + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_fn(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    call check(comm /= MPI_COMM_NULL .and. keyval > 0, 'arguments of the delete function')
    call check(extra == 1000 .and. value >= 2_MPI_ADDRESS_KIND**40, 'and their values')
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine type_attributes
    integer :: keyval, row, copy
    integer(MPI_ADDRESS_KIND) :: extra, value
    logical :: found
    extra = 0
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, extra, error)
    call MPI_Type_contiguous(3, MPI_INTEGER, row, error)
    value = -2_MPI_ADDRESS_KIND**40
    call MPI_Type_set_attr(row, keyval, value, error)
    call MPI_Type_dup(row, copy, error)
    call MPI_Type_get_attr(copy, keyval, value, found, error)
    call check(found .and. value == -2_MPI_ADDRESS_KIND**40, 'attribute of a type')
    call MPI_Type_delete_attr(copy, keyval, error)
    call MPI_Type_get_attr(copy, keyval, value, found, error)
    call check(.not. found, 'deleted attribute of a type')
    call MPI_Type_free(copy, error)
    call MPI_Type_free(row, error)
    call MPI_Type_free_keyval(keyval, error)
  end subroutine

  ! MPI-1: default INTEGERs.
  subroutine old_attributes
    integer :: counted, copied, dropped, comm, other, value
    logical :: found
    call MPI_Keyval_create(old_copy_fn, MPI_NULL_DELETE_FN, counted, 5, error)
    call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, copied, 0, error)
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, dropped, 0, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Attr_put(comm, counted, -17, error)
    call MPI_Attr_put(comm, copied, -1, error)
    call MPI_Attr_put(comm, dropped, 3, error)
    call MPI_Comm_dup(comm, other, error)
    call MPI_Attr_get(other, counted, value, found, error)
    call check(found .and. value == -12, 'old copy function')
    call MPI_Attr_get(other, copied, value, found, error)
    call check(found .and. value == -1, 'dup_fn')
    call MPI_Attr_get(other, dropped, value, found, error)
    call check(.not. found, 'null_copy_fn')
    call MPI_Attr_delete(comm, copied, error)
    call MPI_Comm_free(other, error)
    call MPI_Comm_free(comm, error)
    call MPI_Keyval_free(copied, error)
  end subroutine

  subroutine old_copy_fn(comm, keyval, extra, in, out, flag, ierror)
    integer :: comm, keyval, extra, in, out, ierror
    logical :: flag
    call check(comm /= MPI_COMM_NULL .and. keyval > 0, 'arguments of the old copy function')
    out = in + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine predefined_attributes
    integer(MPI_ADDRESS_KIND) :: value
    integer :: short
    logical :: found
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, found, error)
    call check(found .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, short, found, error)
    call check(found .and. short == 1, 'MPI_WTIME_IS_GLOBAL')
  end subroutine

  subroutine grids
    integer :: dims(2), coords(2), comm, row, n, back, forth, kind
    logical :: periods(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, error)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm, error)
    call MPI_Topo_test(comm, kind, error)
    call check(kind == MPI_CART, 'topo_test')
    dims = 0
    periods = .false.
    call MPI_Cart_get(comm, 2, dims, periods, coords, error)
    call check(product(dims) == ranks, 'cart_get')
    call check(periods(1) .and. .not. periods(2), 'periods')
    call MPI_Cart_rank(comm, coords, n, error)
    call check(n == rank, 'cart_rank')
    call MPI_Cart_shift(comm, 1, 1, back, forth, error)
    call check((forth == MPI_PROC_NULL) .eqv. (coords(2) == dims(2) - 1), 'cart_shift')
    call MPI_Cart_sub(comm, [.false., .true.], row, error)
    call MPI_Comm_size(row, n, error)
    call check(n == dims(2), 'cart_sub')
    call MPI_Comm_free(row, error)
    call MPI_Comm_free(comm, error)
  end subroutine

  subroutine errors
    integer :: handler, old, class, comm, n
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
    call MPI_Comm_get_errhandler(comm, old, error)
    call check(old == MPI_ERRORS_RETURN, 'get_errhandler')
    call MPI_Send(n, 1, MPI_INTEGER, ranks, 0, comm, error)
    call MPI_Error_class(error, class, n)
    call check(class == MPI_ERR_RANK, 'errors return')
    call MPI_Send(n, 1, 12345, 0, 0, comm, error)
    call MPI_Error_class(error, class, n)
    call check(class == MPI_ERR_TYPE, 'a number that is no datatype')
    call MPI_Comm_create_errhandler(on_error, handler, error)
    call MPI_Comm_set_errhandler(comm, handler, error)
    handled_comm = comm
    call MPI_Send(n, 1, MPI_INTEGER, ranks, 0, comm, error)
    call check(handled == MPI_ERR_RANK, 'error handler of the program')
    call MPI_Errhandler_free(handler, error)
    call check(handler == MPI_ERRHANDLER_NULL, 'errhandler_free')
    call MPI_Comm_free(comm, error)
  end subroutine

  subroutine on_error(comm, code)
    integer :: comm, code
    call check(comm == handled_comm, 'communicator of an error handler')
    handled = code
  end subroutine

  ! Blanks around keys and values mean nothing.
  subroutine infos
    integer :: info, n, length
    character(len=20) :: value
    logical :: found
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, '  speed ', ' very high  ', error)
    call MPI_Info_get(info, 'speed', 20, value, found, error)
    call check(found .and. value == 'very high', 'info_get')
    value = 'untouched'
    call MPI_Info_get(info, 'colour', 20, value, found, error)
    call check(.not. found .and. value == 'untouched', 'no such key')
    length = 0
    call MPI_Info_get_string(info, 'speed', length, value, found, error)
    call check(length == 9 .and. value == 'untouched', 'length of a value')
    call MPI_Info_get_string(info, 'speed', length, value, found, error)
    call check(value == 'very high', 'info_get_string')
    call MPI_Info_get_valuelen(info, 'speed', length, found, error)
    call check(found .and. length == 9, 'info_get_valuelen')
    call MPI_Info_get_nthkey(info, 0, value, error)
    call check(value == 'speed', 'info_get_nthkey')
    call MPI_Info_delete(info, 'speed', error)
    call MPI_Info_get_nkeys(info, n, error)
    call check(n == 0, 'info_delete')
    call MPI_Info_free(info, error)
    call check(info == MPI_INFO_NULL, 'info_free')
  end subroutine
end program

! A generalized request's procedures.
subroutine query(state, status, error)
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: state
  integer :: status(MPI_STATUS_SIZE), error
  call MPI_Status_set_elements(status, MPI_INTEGER, int(state), error)
  call MPI_Status_set_cancelled(status, .false., error)
  status(MPI_SOURCE) = MPI_UNDEFINED
  status(MPI_TAG) = MPI_UNDEFINED
end subroutine

subroutine release(state, error)
  use results
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: state
  integer :: error
  freed = int(state)
  error = MPI_SUCCESS
end subroutine

subroutine cancel(state, complete, error)
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: state
  logical :: complete
  integer :: error
  if (.not. complete) state = state + 1
  error = MPI_SUCCESS
end subroutine
