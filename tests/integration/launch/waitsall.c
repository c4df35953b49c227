/*
 * waitsall plain|ignores|reaper: a program that takes all children for its own: between MPI calls, behind MPI_Finalize, in a
 * function of atexit and in a destructor. Prints "right" for each rank that saw no child of another, no signal without a
 * child, and no child that is left. reaper: orphans come to it, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static int own, strangers;

static void on_child(int number)
{
    (void)number;
    signals++;
}

static void children(void)
{
    pid_t mine = fork(), got;
    if (mine == 0)
        _exit(3);
    while ((got = wait(NULL)) > 0 || errno == EINTR) {
        own += got == mine;
        strangers += got > 0 && got != mine;
    }
}

__attribute__((destructor)) static void last(void)
{
    children();
    usleep(500000); /* mpit-collect may end meanwhile */
    int left = 0;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        left++;
    if (!strangers && !left && signals <= own)
        dprintf(STDOUT_FILENO, "right\n"); /* one write: stdio has no buffer any more */
    else
        dprintf(STDOUT_FILENO, "wrong: %d own, %d strangers, %d left, %d signals\n", own, strangers, left,
                (int)signals);
}

int main(int argc, char **argv)
{
    int x = 1, y;
    if (argc != 2)
        return 2;
    signal(SIGCHLD, strcmp(argv[1], "ignores") == 0 ? SIG_IGN : on_child);
    if (strcmp(argv[1], "reaper") == 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    MPI_Init(&argc, &argv);
    atexit(children);
    children();
    for (int i = 0; i < 2000; i++)
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    children();
    MPI_Finalize();
    children();
    return 0;
}
