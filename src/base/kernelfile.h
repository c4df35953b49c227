/* Files of /proc and /sys: lines with a key and a number. Safe in signal handlers. */
#ifndef MPIT_BASE_KERNELFILE_H
#define MPIT_BASE_KERNELFILE_H

#include <stdint.h>

enum { KERNEL_TEXT_BYTES = 8192 };

/* Reads the begin of a file. "": there is none. */
const char *kernel_file_read(char text[KERNEL_TEXT_BYTES], const char *directory, const char *name);
/* Returns the number behind the key, which begins a line. `otherwise`: there is none, or it is "max". */
uint64_t kernel_text_number(const char *text, const char *key, uint64_t otherwise);
/* The same of a file. */
uint64_t kernel_file_number(const char *directory, const char *name, const char *key, uint64_t otherwise);

#endif
