! Point-to-point in fixed form with mpif.h: requests and their arrays, statuses, special addresses.
! Every rank talks to its neighbours on a ring; any number of ranks. Buffers of calls that return
! before their communication ends are in COMMON, so that the compiler knows that others see them.
      program point
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right
      common /ring/ rank, ranks, left, right

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      left = mod(rank + ranks - 1, ranks)
      right = mod(rank + 1, ranks)
      call blocking
      call requests
      call some_of_them
      call persistent
      call probing
      call modes
      call packing
      if (rank .eq. 0) print *, 'PASSED'
      call MPI_FINALIZE(ierr)
      end

      subroutine check(right, what)
      implicit none
      include 'mpif.h'
      logical right
      character*(*) what
      integer ierr
      if (.not. right) then
         print *, 'FAILED: ', what
         call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
      end

      subroutine blocking
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right, n
      common /ring/ rank, ranks, left, right
      integer status(MPI_STATUS_SIZE)
      double precision x(3), y(5)
      x(1) = rank
      x(2) = 2 * rank
      x(3) = 3 * rank
      call MPI_SENDRECV(x, 3, MPI_DOUBLE_PRECISION, right, 7,
     &     y, 5, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &     MPI_COMM_WORLD, status, ierr)
      call check(ierr .eq. MPI_SUCCESS, 'sendrecv')
      call check(y(3) .eq. 3 * left, 'data of sendrecv')
      call check(status(MPI_SOURCE) .eq. left, 'MPI_SOURCE')
      call check(status(MPI_TAG) .eq. 7, 'MPI_TAG')
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, n, ierr)
      call check(n .eq. 3, 'get_count')
      call MPI_GET_COUNT(status, MPI_2DOUBLE_PRECISION, n, ierr)
      call check(n .eq. MPI_UNDEFINED, 'no whole number')
      call MPI_SENDRECV_REPLACE(x, 3, MPI_DOUBLE_PRECISION, right, 1,
     &     left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call check(x(1) .eq. left, 'sendrecv_replace')
      call MPI_RECV(x, 3, MPI_REAL8, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
     &     status, ierr)
      call check(status(MPI_SOURCE) .eq. MPI_PROC_NULL, 'proc_null')
      end

      subroutine requests
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right, i
      common /ring/ rank, ranks, left, right
      integer request(4), statuses(MPI_STATUS_SIZE,4)
      integer out(2), in(2)
      logical done
      common /buffers/ out, in
      out(1) = 10 * rank
      out(2) = 20 * rank
      do i = 1, 2
         call MPI_IRECV(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD,
     &        request(i), ierr)
         call check(request(i) .ne. MPI_REQUEST_NULL, 'a request')
      end do
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      do i = 1, 2
         call MPI_ISEND(out(i), 1, MPI_INTEGER, right, i,
     &        MPI_COMM_WORLD, request(i + 2), ierr)
      end do
      call MPI_WAITALL(4, request, statuses, ierr)
      call check(in(1) .eq. 10 * left, 'waitall, data')
      call check(statuses(MPI_SOURCE,2) .eq. left, 'waitall, source')
      call check(statuses(MPI_TAG,1) .eq. 1, 'waitall, first tag')
      call check(statuses(MPI_TAG,2) .eq. 2, 'waitall, second tag')
      do i = 1, 4
         call check(request(i) .eq. MPI_REQUEST_NULL, 'request is null')
      end do
      call MPI_WAITALL(4, request, MPI_STATUSES_IGNORE, ierr)
      call MPI_IRECV(in, 2, MPI_INTEGER, left, 3, MPI_COMM_WORLD,
     &     request, ierr)
      call MPI_SEND(out, 2, MPI_INTEGER, right, 3, MPI_COMM_WORLD, ierr)
      done = .false.
      do while (.not. done)
         call MPI_TEST(request, done, MPI_STATUS_IGNORE, ierr)
      end do
      call check(in(2) .eq. 20 * left, 'test')
      call MPI_TESTALL(4, request, done, MPI_STATUSES_IGNORE, ierr)
      call check(done, 'testall of nothing')
      call MPI_IRECV(in, 2, MPI_INTEGER, left, 4, MPI_COMM_WORLD,
     &     request, ierr)
      call MPI_CANCEL(request, ierr)
      call MPI_WAIT(request, statuses, ierr)
      call MPI_TEST_CANCELLED(statuses, done, ierr)
      call check(done, 'cancelled')
      end

! Indices count from 1.
      subroutine some_of_them
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right, n, which
      common /ring/ rank, ranks, left, right
      integer request(3), indices(3), out(1), in(3)
      integer status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE,3)
      logical done
      common /buffers/ out, in
      request(1) = MPI_REQUEST_NULL
      request(3) = MPI_REQUEST_NULL
      call MPI_IRECV(in(2), 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD,
     &     request(2), ierr)
      call MPI_SEND(rank, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD,
     &     ierr)
      call MPI_WAITANY(3, request, which, status, ierr)
      call check(which .eq. 2, 'waitany counts from 1')
      call check(in(2) .eq. left, 'waitany, data')
      call MPI_WAITANY(3, request, which, status, ierr)
      call check(which .eq. MPI_UNDEFINED, 'waitany, none left')
      call MPI_TESTANY(3, request, which, done, MPI_STATUS_IGNORE, ierr)
      call check(done .and. which .eq. MPI_UNDEFINED, 'testany')
      call MPI_IRECV(in(3), 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD,
     &     request(3), ierr)
      call MPI_SEND(rank, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD,
     &     ierr)
      call MPI_WAITSOME(3, request, n, indices, statuses, ierr)
      call check(n .eq. 1 .and. indices(1) .eq. 3, 'waitsome')
      call check(statuses(MPI_TAG,1) .eq. 3, 'status of waitsome')
      call MPI_TESTSOME(3, request, n, indices, MPI_STATUSES_IGNORE,
     &     ierr)
      call check(n .eq. MPI_UNDEFINED, 'testsome')
      end

      subroutine persistent
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right, i, out, in, request(2)
      integer kept
      common /ring/ rank, ranks, left, right
      common /buffers/ out, in
      call MPI_SEND_INIT(out, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD,
     &     request(1), ierr)
      call MPI_RECV_INIT(in, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD,
     &     request(2), ierr)
      kept = request(2)
      do i = 1, 3
         out = rank + 100 * i
         call MPI_STARTALL(2, request, ierr)
         call MPI_WAITALL(2, request, MPI_STATUSES_IGNORE, ierr)
         call check(in .eq. left + 100 * i, 'persistent')
         call check(request(2) .eq. kept, 'its handle stays')
      end do
      call MPI_REQUEST_FREE(request(1), ierr)
      call MPI_REQUEST_FREE(request(2), ierr)
      call check(request(2) .eq. MPI_REQUEST_NULL, 'request_free')
      end

      subroutine probing
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right, in, message, request
      integer status(MPI_STATUS_SIZE)
      logical here
      common /ring/ rank, ranks, left, right
      call MPI_ISEND(rank, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD,
     &     request, ierr)
      call MPI_PROBE(left, 6, MPI_COMM_WORLD, status, ierr)
      call MPI_IPROBE(left, 6, MPI_COMM_WORLD, here, status, ierr)
      call check(here .and. status(MPI_TAG) .eq. 6, 'iprobe')
      call MPI_IPROBE(left, 66, MPI_COMM_WORLD, here, status, ierr)
      call check(.not. here, 'iprobe of nothing')
      call MPI_MPROBE(left, 6, MPI_COMM_WORLD, message, status, ierr)
      call MPI_MRECV(in, 1, MPI_INTEGER, message, status, ierr)
      call check(in .eq. left, 'mrecv')
      call check(message .eq. MPI_MESSAGE_NULL, 'message is null')
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      end

      subroutine modes
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, left, right, in, request, length, other
      common /ring/ rank, ranks, left, right
      character buffer(MPI_BSEND_OVERHEAD + 64)
      call MPI_BUFFER_ATTACH(buffer, MPI_BSEND_OVERHEAD + 64, ierr)
      call MPI_BSEND(rank, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD,
     &     ierr)
      call MPI_RECV(in, 1, MPI_INTEGER, left, 8, MPI_COMM_WORLD,
     &     MPI_STATUS_IGNORE, ierr)
      call check(in .eq. left, 'bsend')
      call MPI_BUFFER_DETACH(other, length, ierr)
      call check(length .eq. MPI_BSEND_OVERHEAD + 64, 'buffer_detach')
      call MPI_ISSEND(rank, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD,
     &     request, ierr)
      call MPI_RECV(in, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD,
     &     MPI_STATUS_IGNORE, ierr)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      call check(in .eq. left, 'issend')
      end

      subroutine packing
      implicit none
      include 'mpif.h'
      integer ierr, position, bytes, n, m
      character*40 buffer
      double precision x, y
      n = 17
      x = 2.5d0
      position = 0
      call MPI_PACK(n, 1, MPI_INTEGER, buffer, 40, position,
     &     MPI_COMM_WORLD, ierr)
      call MPI_PACK(x, 1, MPI_DOUBLE_PRECISION, buffer, 40, position,
     &     MPI_COMM_WORLD, ierr)
      call MPI_PACK_SIZE(1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, bytes,
     &     ierr)
      call check(position .eq. 12 .and. bytes .eq. 8, 'pack')
      position = 0
      call MPI_UNPACK(buffer, 40, position, m, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call MPI_UNPACK(buffer, 40, position, y, 1, MPI_DOUBLE_PRECISION,
     &     MPI_COMM_WORLD, ierr)
      call check(m .eq. n .and. x .eq. y, 'unpack')
      end
