/*
 * Whether a process is running. A process that has ended and was not waited for is a zombie: it has no program.
 */
#ifndef MPIT_EVENTS_PROCESSES_H
#define MPIT_EVENTS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

/* True if the process runs a program, in one of its threads. The main thread may have left. Any thread may call it. */
bool process_has_program(uint32_t pid);

#endif
