/* Messages that come before their receives, and are received in the reverse order: short ones into places that are
 * and that are not multiples of 16, and longer ones. Each place is read, written and read again. Then one that is cut
 * off, and messages whose receives are posted first.
 *
 * usage: late [MESSAGES] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 300, STRIDE = 512, CUT_TAG = 5000, EARLY_TAG = 6000, EARLY = 20 };

static int failures;

static void expect(int condition, const char *what, int message)
{
    if (!condition) {
        printf("message %d: %s\n", message, what);
        failures++;
    }
}

/* Lengths around a line and above; a third of the messages is one word. */
static int length_of(int message)
{
    static const int lengths[] = {8, 16, 1, 8, 15, 12, 8, 17, 100, 8, 16, LONGEST};
    return lengths[message % (int)(sizeof lengths / sizeof lengths[0])];
}

/* Every fifth is one byte off, every third eight. */
static int offset_of(int message) { return message % 5 == 4 ? 1 : message % 3 == 2 ? 8 : 0; }

static void fill(unsigned char *data, int message)
{
    for (int i = 0; i < length_of(message); i++)
        data[i] = (unsigned char)(message * 31 + i * 7 + 1);
}

static void check(unsigned char *data, int message)
{
    unsigned char wanted[LONGEST];
    int length = length_of(message);
    fill(wanted, message);
    expect(memcmp(data, wanted, (size_t)length) == 0, "wrong data", message);
    expect(data[length] == 0xee && data[-1] == 0xee, "bytes beside it changed", message);
    for (int i = 0; i < length; i++)
        data[i] ^= 0x55;
    for (int i = 0; i < length; i++)
        expect(data[i] == (wanted[i] ^ 0x55), "a store was lost", message);
}

static void send_all(int messages)
{
    unsigned char data[LONGEST];
    for (int message = 0; message < messages; message++) {
        fill(data, message);
        MPI_Send(data, length_of(message), MPI_BYTE, 0, message, MPI_COMM_WORLD);
    }
    long cut[2] = {7, 8};
    MPI_Send(cut, 2, MPI_LONG, 0, CUT_TAG, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < EARLY; i++) {
        double value = i * 1.5;
        MPI_Send(&value, 1, MPI_DOUBLE, 0, EARLY_TAG + i, MPI_COMM_WORLD);
    }
}

static void receive_late(int messages)
{
    unsigned char *places = aligned_alloc(64, (size_t)(messages + 1) * STRIDE);
    memset(places, 0xee, (size_t)(messages + 1) * STRIDE);
    for (int message = messages - 1; message >= 0; message--) {
        unsigned char *to = places + 64 + message * STRIDE + offset_of(message);
        MPI_Recv(to, LONGEST, MPI_BYTE, 1, message, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(to, message);
    }
    /* All of them again, when others have been bound since. */
    for (int message = 0; message < messages; message++) {
        unsigned char *at = places + 64 + message * STRIDE + offset_of(message), wanted[LONGEST];
        fill(wanted, message);
        for (int i = 0; i < length_of(message); i++)
            expect(at[i] == (wanted[i] ^ 0x55), "it changed since", message);
    }
    free(places);
}

static void receive_early(void)
{
    static double values[2 * EARLY] __attribute__((aligned(16)));
    MPI_Request requests[EARLY];
    for (int i = 0; i < EARLY; i++)
        MPI_Irecv(&values[2 * i], 1, MPI_DOUBLE, 1, EARLY_TAG + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(EARLY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < EARLY; i++)
        expect(values[2 * i] == i * 1.5 && values[2 * i + 1] == 0, "wrong value", EARLY_TAG + i);
}

int main(int argc, char **argv)
{
    int rank, messages = argc > 1 ? atoi(argv[1]) : 60;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        send_all(messages);
    } else {
        receive_late(messages);
        long cut[2] __attribute__((aligned(16))) = {-1, -1};
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int error = MPI_Recv(cut, 1, MPI_LONG, 1, CUT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(error != MPI_SUCCESS && cut[1] == -1, "cut off", CUT_TAG);
        receive_early();
    }
    MPI_Finalize();
    if (rank == 0)
        printf("late: %s\n", failures ? "FAILED" : "PASSED");
    return failures != 0;
}
