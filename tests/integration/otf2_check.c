/*
 * otf2_check DIR [--json]: reads an OTF2 archive back, on top of nothing but the OTF2 library, and holds it against the
 * rules that otf2-print does not check (DESIGN, section 4): nesting, order and range of time, numbers of events,
 * definitions before use, ranks inside of communicators, requests, collectives, and that what was sent was received.
 *
 * Exit status: 0 when all holds, 1 when something does not (a line each on stderr), 2 when it cannot be read. Standard
 * output: one line of totals as key=value words, or with --json the totals of each communicator by its name.
 *
 * What needs both ends (messages, collectives, requests) is only asked of processes that have a ProgramEnd: a process
 * that was killed has lost its last events.
 */
#include "checkeddefinitions.h"
#include "checkedevents.h"
#include "checkedmatches.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

static void totals_print(void)
{
    struct comm all = {0};
    uint64_t comms = 0;
    for (size_t c = 0; c < archive.comm_count; c++) {
        const struct comm *comm = &archive.comms[c];
        comms += comm->defined;
        all.sends += comm->sends;
        all.send_bytes += comm->send_bytes;
        all.recvs += comm->recvs;
        all.recv_bytes += comm->recv_bytes;
        all.collectives += comm->collectives;
    }
    printf("locations=%zu enters=%" PRIu64 " sends=%" PRIu64 " send_bytes=%" PRIu64 " recvs=%" PRIu64
           " recv_bytes=%" PRIu64 " collectives=%" PRIu64 " comms=%" PRIu64 " user_enters=%" PRIu64 " samples=%" PRIu64
           "\n",
           archive.location_count, archive.enters, all.sends, all.send_bytes, all.recvs, all.recv_bytes,
           all.collectives, comms, archive.user_enters, archive.samples);
}

static void json_add(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key,
                        json_integer(json_integer_value(json_object_get(object, key)) + (json_int_t)value));
}

/* Communicators of one name are added up. */
static void json_print(void)
{
    json_t *all = json_object();
    for (size_t c = 0; c < archive.comm_count; c++) {
        const struct comm *comm = &archive.comms[c];
        if (!comm->defined || comm->name >= archive.string_count || !archive.strings[comm->name])
            continue;
        json_t *object = json_object_get(all, archive.strings[comm->name]);
        if (!object)
            json_object_set_new(all, archive.strings[comm->name], object = json_object());
        json_add(object, "comms", 1);
        json_add(object, "sends", comm->sends);
        json_add(object, "send_bytes", comm->send_bytes);
        json_add(object, "recvs", comm->recvs);
        json_add(object, "recv_bytes", comm->recv_bytes);
        json_add(object, "collectives", comm->collectives);
        json_add(object, "collective_bytes_in", comm->bytes_in);
        json_add(object, "collective_bytes_out", comm->bytes_out);
    }
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
    putchar('\n');
    json_decref(all);
}

int main(int argc, char **argv)
{
    const char *directory = NULL;
    bool json = false;
    char path[4096];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (!directory && argv[i][0] != '-')
            directory = argv[i];
        else
            give_up("usage: otf2_check DIR [--json]");
    if (!directory || snprintf(path, sizeof path, "%s/traces.otf2", directory) >= (int)sizeof path)
        give_up("usage: otf2_check DIR [--json]");
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    if (!reader || OTF2_Reader_SetSerialCollectiveCallbacks(reader) != OTF2_SUCCESS)
        give_up("the archive cannot be opened");
    definitions_read(reader);
    events_read(reader);
    if (OTF2_Reader_Close(reader) != OTF2_SUCCESS)
        give_up("the archive cannot be closed");
    matches_check();
    if (json)
        json_print();
    else
        totals_print();
    return archive.violations ? 1 : 0;
}
