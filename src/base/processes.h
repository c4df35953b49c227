/*
 * Whether a process is running. A process that has ended and was not waited for is a zombie: it has no program.
 */
#ifndef MPIT_BASE_PROCESSES_H
#define MPIT_BASE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

/* True if the process runs a program, in one of its threads. The main thread may have left. Any thread may call it. */
bool process_has_program(uint32_t pid);

/* When it began, in the kernel's ticks since its boot. 0: not known. `pid` 0: this process. */
uint64_t process_start(uint32_t pid);

/* Its parent, and the name of its program (15 bytes at most). 0: it has none, or is gone, and has no name then. */
enum { PROCESS_NAME_BYTES = 64 };
uint32_t process_parent(uint32_t pid, char name[PROCESS_NAME_BYTES]);

/* True if it has a processor, or waits for one. */
bool process_is_running(uint32_t pid);

/* The number of bytes that it has read and written. 0: not known. */
uint64_t process_moved(uint32_t pid);

/* The same as process_has_program, but not for a later process with this number. `start` 0: not known. */
bool process_runs(uint32_t pid, uint64_t start);

#endif
