/* launch N SECONDS PROGRAM [ARGUMENT...]: runs N processes of an MPI program on the host's test
 * device. Ends with the first failing process's status (it ends the others), or 124 when the time
 * is over. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

static pid_t processes[256];
static int count;

static void end_all(void)
{
    for (int i = 0; i < count; i++)
        if (processes[i] > 0)
            kill(processes[i], SIGKILL);
}

static void out_of_time(int signal_number)
{
    (void)signal_number;
    end_all();
    _exit(124);
}

static void start(int rank, int fd, char **command)
{
    char text[32];
    processes[rank] = fork();
    if (processes[rank] != 0)
        return;
    snprintf(text, sizeof text, "%d", rank);
    setenv("CHQ_NATIVE_RANK", text, 1);
    snprintf(text, sizeof text, "%d", count);
    setenv("CHQ_NATIVE_RANKS", text, 1);
    snprintf(text, sizeof text, "%d", fd);
    setenv("CHQ_NATIVE_FD", text, 1);
    execv(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    if (argc < 4 || (count = atoi(argv[1])) < 1 || count > 256) {
        fprintf(stderr, "usage: %s N SECONDS PROGRAM [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    int fd = memfd_create("chasqui", 0);
    if (fd < 0 || ftruncate(fd, (off_t)native_local_at((size_t)count, (size_t)count)) != 0) {
        perror("shared memory");
        return 2;
    }
    int result = 0;
    signal(SIGALRM, out_of_time);
    alarm((unsigned)atoi(argv[2]));
    for (int rank = 0; rank < count; rank++)
        start(rank, fd, argv + 3);
    for (int left = count; left > 0; left--) {
        int status;
        pid_t pid = wait(&status);
        for (int i = 0; i < count; i++)
            if (processes[i] == pid)
                processes[i] = 0;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (code != 0 && result == 0) {
            result = code;
            end_all();
        }
    }
    return result;
}
