/*
 * For mpit-run while the command runs: when a process of this node dies that did not come to its end, that moment is
 * written into its run file. The others may go on for long, and a rank that is dead waits for nobody.
 *
 *   directory ──inotify──> a new run file ──its header──> process ──pidfd──> dies: struct run_header.end_realtime_ns
 *
 * A thread of its own that sleeps until something happens; it never looks at a process that runs. Of other nodes'
 * processes nothing is known: theirs is the end of the command (postmortem_seen).
 */
#ifndef MPIT_TOOLS_DEATHWATCH_H
#define MPIT_TOOLS_DEATHWATCH_H

struct deathwatch;

/* NULL: the system does not let it; then the ends stay unknown until that of the command. */
struct deathwatch *deathwatch_start(const char *directory);
void deathwatch_stop(struct deathwatch *watch);

#endif
