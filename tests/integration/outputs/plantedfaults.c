/*
 * plantedfaults --list: the faults, with the rule that is to find each, and the rank.
 * plantedfaults FAULT DIR: writes an archive, of three processes with two threads each, an accelerator and a location
 * of metrics, as other recorders make them (ids that are no ranks, mapping tables, clocks that differ), with that
 * fault. `none` and `none_with_samples` are sound.
 */
#include "plantedfaults.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *rule;
    int rank;
} faults[] = {
#define X(name, rule, rank) {#name, rule, rank},
    FAULTS(X)
#undef X
};

enum fault fault;
uint64_t now = CLOCK_BEGIN, event_counts[LOCATIONS];

OTF2_LocationRef location_id(int location)
{
    return location < ACCELERATOR ? (OTF2_LocationRef)(location % 2) << 32 | (unsigned)(location / 2)
                                  : 1000u + (unsigned)location;
}

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static void must(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "plantedfaults: %s failed\n", what);
    exit(2);
}

static void archive_write(const char *directory)
{
    static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush};
    OTF2_EvtWriter *writers[LOCATIONS];
    OTF2_Archive *archive = OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    must(archive, "OTF2_Archive_Open");
    must(OTF2_Archive_SetFlushCallbacks(archive, &callbacks, NULL) == OTF2_SUCCESS, "SetFlushCallbacks");
    must(OTF2_Archive_SetSerialCollectiveCallbacks(archive) == OTF2_SUCCESS, "SetSerialCollectiveCallbacks");
    must(OTF2_Archive_SetCreator(archive, "another recorder") == OTF2_SUCCESS, "SetCreator");
    must(OTF2_Archive_OpenEvtFiles(archive) == OTF2_SUCCESS, "OpenEvtFiles");
    for (int l = 0; l < LOCATIONS; l++)
        must((writers[l] = OTF2_Archive_GetEvtWriter(archive, location_id(l))) != NULL, "GetEvtWriter");
    if (PLANTED(none_with_samples))
        samples_write(writers);
    else
        events_write(writers);
    for (int l = 0; l < LOCATIONS; l++)
        OTF2_EvtWriter_GetNumberOfEvents(writers[l], &event_counts[l]);
    for (int l = 0; l < LOCATIONS; l++)
        OTF2_Archive_CloseEvtWriter(archive, writers[l]);
    OTF2_Archive_CloseEvtFiles(archive);
    local_definitions_write(archive);
    definitions_write(archive);
    must(OTF2_Archive_Close(archive) == OTF2_SUCCESS, "OTF2_Archive_Close");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int f = 0; f < FAULT_last_fault; f++)
            printf("%s %s %d\n", faults[f].name, faults[f].rule[0] ? faults[f].rule : "-", faults[f].rank);
        return 0;
    }
    for (int f = 0; argc == 3 && f < FAULT_last_fault; f++)
        if (strcmp(argv[1], faults[f].name) == 0) {
            fault = (enum fault)f;
            archive_write(argv[2]);
            return 0;
        }
    fprintf(stderr, "usage: plantedfaults --list | plantedfaults FAULT DIR\n");
    return 2;
}
