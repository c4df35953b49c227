/*
 * For mpit-run while the command runs. If a process of this node dies before its end, the time is written to its run
 * file. The other processes may run on for long, and a dead rank does not wait.
 *
 *   directory ──inotify──> a new run file ──its header──> process ──pidfd──> dies: struct run_header.end_realtime_ns
 *
 * A separate thread sleeps until an event comes, and never touches a running process. For processes of other nodes the
 * end of the command is used (postmortem_seen).
 */
#ifndef MPIT_TOOLS_DEATHWATCH_H
#define MPIT_TOOLS_DEATHWATCH_H

struct deathwatch;

/* Returns NULL if the system does not allow it. Ends then stay unknown until the command ends. */
struct deathwatch *deathwatch_start(const char *directory);
void deathwatch_stop(struct deathwatch *watch);

#endif
