/*
 * Run files of older versions, which the reader shows like new ones:
 *
 *   version   new in the next one
 *      5      CHUNK_FREE, so that the kinds after it had one less, header.trace_policy, chunk_header.turned
 *      6      header.clock_syncs, header.first_object, the numbers of windows and files, and `argument` records
 *      7      at first without header.gaps, header.stall_known
 *      8      header.samples_hz and samples_lost
 *      9      header.first_provider and fabric_watched, and their blocks and events
 *      9      header.counters, blocks and records of counters
 *     10      call paths
 *     11      figures of phases in regions (region_cells)
 *
 * Parts that a file lacks are 0 in the reader's results. Events have had the same form since version 5. The table of
 * calls is compared name by name, so no kind is taken for another. Before that, communicators had other records and
 * calls had other numbers. Such a file is refused.
 */
#ifndef MPIT_EVENTS_READERVERSIONS_H
#define MPIT_EVENTS_READERVERSIONS_H

#include "reader/reader.h"

/*
 * Changes the reader's copy of the header to today's form. Returns 0, or -1 with reader->error: the version is too old
 * or too new.
 */
int reader_version_check(struct run_reader *reader);
/* True if the header has the length of its version. */
bool reader_header_is_whole(const struct run_header *header);
/* Returns 0, or -1 with reader->error: an older file has other calls than today's table. */
int reader_calls_check(struct run_reader *reader);
/* The kind for CHUNK_COLUMNS in a compact file whose first chunk, a CHUNK_IMAGE, has this kind. */
uint32_t reader_columns_kind(uint32_t first_kind);
/* True if events have the numbers of call paths. */
bool reader_has_paths(const struct run_reader *reader);
/* True if the file tells when its rings began again. */
bool reader_tells_turns(const struct run_reader *reader);
/* How many records its process may have written before it counted them. */
uint64_t reader_ring_spare(const struct run_reader *reader);

#endif
