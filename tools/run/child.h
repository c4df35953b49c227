/*
 * Runs a command like a shell: in the foreground with the same terminal, and with its signals and its exit status
 * passed on.
 */
#ifndef MPIT_TOOLS_CHILD_H
#define MPIT_TOOLS_CHILD_H

/*
 * Runs words[] with the present environment and waits for it. Returns its exit status. If a signal killed it, returns
 * 128 + signal, and *signal has the signal (else 0). If it could not be started, prints a message and returns 127 or
 * 126.
 *
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. Signals from the terminal are not, because they
 * reach the whole process group, and launchers take a second SIGINT for "abort at once". Afterwards the signals have
 * their former handlers again.
 */
int child_run(char *const words[], int *signal);
/* Ends this process by the same signal as the child. It writes no core file. */
__attribute__((noreturn)) void child_follow(int signal);

#endif
