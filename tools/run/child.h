/*
 * Running a command as a shell would: in the foreground with the same terminal, its signals and its exit status passed.
 */
#ifndef MPIT_TOOLS_CHILD_H
#define MPIT_TOOLS_CHILD_H

/*
 * Runs words[] with the present environment and waits for it. Returns its exit status, 128 + signal where one killed
 * it (which is in *signal then, else 0), 127 or 126 where it could not be started (a message has been printed then).
 *
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. Signals from the terminal are not, because they
 * reach the whole process group, and launchers take a second SIGINT for "abort at once". Afterwards the signals have
 * their former handlers again.
 */
int child_run(char *const words[], int *signal);
/* Ends this process by the same signal as the child. It writes no core file. */
__attribute__((noreturn)) void child_follow(int signal);

#endif
