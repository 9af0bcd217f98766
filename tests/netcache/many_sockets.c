/* A process that opens connections without end: rank 0, to a port of rank 1 at which nothing listens, until its kernel refuses;
 * then it closes them all, and begins again. Meanwhile the other ranks, one of which may be on its node, make connections and
 * exchange messages. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKETS_MAX = 1000, ROUNDS = 3, PORT = 9, BEGIN = 1, END = 2 };

static int open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(0x0a000001 + 1)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* How many there are room for, if the kernel then says so. */
static int open_all(void)
{
    static int all[SOCKETS_MAX];
    int count = 0;
    while (count < SOCKETS_MAX && (all[count] = open_connection()) >= 0)
        count++;
    int refused = count < SOCKETS_MAX && errno == ENOBUFS;
    for (int i = 0; i < count; i++)
        close(all[i]);
    return refused ? count : -1;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int other = 1; other < ranks; other++) {
        if (rank == 0)
            MPI_Send(&one, 1, MPI_INT, other, BEGIN, MPI_COMM_WORLD);
        else if (rank == other)
            MPI_Recv(&one, 1, MPI_INT, 0, BEGIN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int first = rank == 0 ? open_all() : 0;
    wrong += first < 0;
    for (int round = 1; rank == 0 && round < ROUNDS; round++)
        wrong += open_all() != first;
    for (int other = 1; rank > 0 && other < ranks; other++) {
        int got = -1;
        if (other != rank)
            MPI_Sendrecv(&rank, 1, MPI_INT, other, 0, &got, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += other != rank && got != other;
    }
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("many_sockets: %d, %s\n", first, all ? "FAILED" : "PASSED");
    MPI_Finalize();
    return 0;
}
