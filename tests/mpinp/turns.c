/* A long message goes from rank 0 to rank 1 while short ones to the same process want the same credit: with `send` rank 0's, beside
 * the data, with `grant` rank 1's, beside what says that more data may come. They end when the long one has come, or are too many.
 *
 * Usage: turns send|grant BYTES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300, LONG, SHORT, END };

static int wrong;

static int send_short(int to, int number)
{
    MPI_Send(&number, 1, MPI_INT, to, SHORT, MPI_COMM_WORLD);
    return number + 1;
}

/* They come in order; the last is below 0. */
static int receive_short(int from, int number)
{
    int found;
    MPI_Recv(&found, 1, MPI_INT, from, SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (found < 0)
        return -1;
    wrong |= found != number;
    return number + 1;
}

static void end_short(int to)
{
    int last = -1;
    MPI_Send(&last, 1, MPI_INT, to, SHORT, MPI_COMM_WORLD);
}

static void send_beside(char *data, int bytes, int rank)
{
    MPI_Request request;
    int number = 0, has_come = 0, is_told = 0;
    if (rank == 0) {
        MPI_Isend(data, bytes, MPI_BYTE, 1, LONG, MPI_COMM_WORLD, &request);
        while (!has_come && number < MOST) {
            number = send_short(1, number);
            MPI_Iprobe(1, END, MPI_COMM_WORLD, &has_come, MPI_STATUS_IGNORE);
        }
        end_short(1);
        wrong |= !has_come;
        printf("%d short messages until the long one had %scome\n", number, has_come ? "" : "not ");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, END, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(data, bytes, MPI_BYTE, 0, LONG, MPI_COMM_WORLD, &request);
    while (number >= 0) {
        number = receive_short(0, number);
        if (!has_come)
            MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
        if (has_come && !is_told) {
            is_told = 1;
            MPI_Send(NULL, 0, MPI_BYTE, 0, END, MPI_COMM_WORLD);
        }
    }
    if (!has_come)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!is_told)
        MPI_Send(NULL, 0, MPI_BYTE, 0, END, MPI_COMM_WORLD);
}

static void grant_beside(char *data, int bytes, int rank)
{
    MPI_Request request;
    int number = 0, has_come = 0;
    if (rank == 1) {
        MPI_Irecv(data, bytes, MPI_BYTE, 0, LONG, MPI_COMM_WORLD, &request);
        while (!has_come && number < MOST) {
            number = send_short(0, number);
            MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
        }
        end_short(0);
        wrong |= !has_come;
        printf("%d short messages until the long one had %scome\n", number, has_come ? "" : "not ");
        if (!has_come)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Isend(data, bytes, MPI_BYTE, 1, LONG, MPI_COMM_WORLD, &request);
    while (number >= 0)
        number = receive_short(1, number);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3)
        return 2;
    int bytes = atoi(argv[2]);
    char *data = malloc((size_t)bytes);
    memset(data, rank == 0 ? 42 : 0, (size_t)bytes);
    if (rank < 2)
        (argv[1][0] == 's' ? send_beside : grant_beside)(data, bytes, rank);
    for (int i = 0; i < bytes && rank == 1; i++)
        wrong |= data[i] != 42;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("turns: %s\n", all == 0 ? "PASSED" : "FAILED");
    MPI_Finalize();
    return all != 0;
}
