/*
 * Input of a fuzzer as changes of a sound file. Run files are large and mostly zeros, and all of their offsets must
 * hold together: random bytes get no further than the first check. So an input is a list of patches:
 *
 *   1 byte     bits 0..2: bytes of the value - 1 | bit 3: anywhere (else: in one of the words that are not 0)
 *              | bit 4: add the value to what is there | bits 5..7: byte of that word
 *   2 bytes    which word
 *   1..8 bytes the value, low byte first
 *
 * and a last incomplete one, if any, cuts the file.
 */
#ifndef MPIT_FUZZ_PATCHED_H
#define MPIT_FUZZ_PATCHED_H

#include <stddef.h>
#include <stdint.h>

enum { PATCHES_MOST = 64 };

struct patched {
    unsigned char *sound, *bytes; /* the file, and the file with the patches of now */
    size_t count;
    size_t *words; /* offsets of 8 bytes that are not all 0 */
    size_t word_count;
    struct {
        size_t at, count;
    } dirty[PATCHES_MOST]; /* what differs now */
    size_t dirty_count, cut;
    int fd;        /* memory with the file in it */
    char path[64]; /* to open it by */
};

/* Of the file at `path`; ends the process with a message when it cannot. */
void patched_open(struct patched *file, const char *path);
/* Brings the patches of an input into the file, in the place of those of the last one. */
void patched_apply(struct patched *file, const uint8_t *data, size_t size);

#endif
