/*
 * Calls that move a message before they return: sends, receives, both at once. Also probes and matched messages.
 *
 * A matched message was found by MPI_Mprobe or MPI_Improbe. MPI_Mrecv or MPI_Imrecv receives it. Its handle tells
 * neither communicator nor source. The probe stores both in the request table, under the handle with one more bit. The
 * receive takes them out before it calls MPI, which uses handles again at once.
 */
#ifndef MPIT_PROBES_MESSAGE_H
#define MPIT_PROBES_MESSAGE_H

#include "wrappers/enter.h"

void leave_send(struct probe *probe, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                MPI_Datatype type);
void leave_recv(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int64_t count,
                MPI_Datatype type, const MPI_Status *status);
void leave_sendrecv(struct probe *probe, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                    MPI_Datatype type, int source, int64_t recvcount, MPI_Datatype recvtype, const MPI_Status *status);

void leave_probe(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int tag);

/* Returns the handle of a message in the table of requests. No request's handle has this bit. */
HOT uint64_t message_key(const MPI_Message *message)
{
    return abi_handle_of_message(*message) | UINT64_C(1) << 63;
}

HOT bool message_is_no_process(const MPI_Message *message)
{
    return message && *message == native.message_no_proc;
}

/* `found`: the probe has returned a message. */
void leave_mprobe(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int tag, bool found,
                  const MPI_Message *message, const MPI_Status *status);

/* The message that a call receives. */
struct matched {
    struct request *request; /* NULL: not known */
    uint64_t handle;
    int32_t peer, tag;
    bool no_process; /* MPI_MESSAGE_NO_PROC */
};

/* Call it after probe_open. */
void matched_begin(struct probe *probe, struct matched *matched, enum call kind, const MPI_Message *message);
void leave_mrecv(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                 MPI_Datatype type, const MPI_Message *message, const MPI_Status *status);
void leave_imrecv(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                  MPI_Datatype type, const MPI_Message *message, const MPI_Request *request);

HOT bool enter_matched(struct probe *probe, struct matched *matched, enum call kind, const MPI_Message *message)
{
    if (!probe_open(probe))
        return false;
    matched_begin(probe, matched, kind, message);
    return true;
}

/* Sets the destination of a sendrecv in the live state. A reader of the state counts that message as under way. */
HOT void partner_set(const struct probe *probe, int dest)
{
    if (!probe_is_quiet(probe))
        RELAXED_STORE(&probe->log->state->partner, dest >= 0 ? dest + 1 : 0);
}

/* ---- for message.c and hot.h ------------------------------------------------------------------------------------- */

/* Returns the bytes that a call sent, or would have sent. */
HOT uint64_t sent_bytes(struct log *log, int result, int dest, int64_t count, MPI_Datatype type)
{
    return __builtin_expect(result == MPI_SUCCESS && dest >= 0, 1) ? log_bytes(log, count, type) : 0;
}

/* True if a truncated message has arrived. It counts with the size of the receive buffer, because statuses differ. */
bool receive_arrived_slow(int result);

HOT bool receive_arrived(int result)
{
    return __builtin_expect(result == MPI_SUCCESS, 1) || receive_arrived_slow(result);
}

#endif
