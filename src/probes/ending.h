/*
 * The records of requests that end: how, and what they brought.
 *
 * completion.c says which requests a call has ended; here each becomes a record behind the call.
 */
#ifndef MPIT_PROBES_ENDING_H
#define MPIT_PROBES_ENDING_H

#include "request.h"

/* Did this request fail? A truncated message has arrived, in the size that there was room for. */
bool request_failed(const MPI_Status *status, int result);
bool request_receives(const struct request *request);

/* Its record, and the communicator that it has made. `status` may be NULL: what it brought is not known. */
void request_record(struct log *log, struct request *request, const MPI_Status *status, bool failed);
/* One that lived in front and has ended as nearly all do, so that it need not become a request first. */
bool front_is_simple(const struct log *log, const struct posted *posted, const MPI_Status *status);
void front_record(struct log *log, const struct posted *posted, const MPI_Status *status);
/* The record of one that is active, and whose end will not be seen: its levels go down. */
void gone_record(struct log *log, const struct request *request, uint16_t flags);
/* Takes the communicator in that the request has made, if it makes one; of one that is not recorded nothing else is
 * kept. */
void comm_completed(struct log *log, struct view *parent, const struct request *request);

#endif
