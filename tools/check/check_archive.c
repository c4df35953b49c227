#define _GNU_SOURCE
#include "check/check_archive.h"

#include "check/check_definitions.h"
#include "check/check_stream.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last_error[256];

static OTF2_ErrorCode error_keep(UNUSED void *data, UNUSED const char *file, UNUSED uint64_t line,
                                 UNUSED const char *function, OTF2_ErrorCode code, const char *format, va_list args)
{
    char text[sizeof last_error / 2];
    if (code == OTF2_WARNING || code == OTF2_DEPRECATED)
        return code;
    vsnprintf(text, sizeof text, format, args);
    snprintf(last_error, sizeof last_error, "OTF2: %s (%s)", text, OTF2_Error_GetDescription(code));
    return code;
}

const char *check_otf2_error(void)
{
    return last_error[0] ? last_error : "the OTF2 library gives no reason";
}

static void chunks_judge(OTF2_Reader *reader)
{
    uint64_t sizes[2] = {0};
    static const char *const names[] = {"events", "definitions"};
    if (OTF2_Reader_GetChunkSize(reader, &sizes[0], &sizes[1]) != OTF2_SUCCESS)
        return;
    for (int i = 0; i < 2; i++)
        if (sizes[i] < OTF2_CHUNK_SIZE_MIN || sizes[i] > OTF2_CHUNK_SIZE_MAX)
            check_found(RULE_CHUNK_SIZE, NULL, "chunks of %s have %" PRIu64 " bytes", names[i], sizes[i]);
    for (int i = 0; i < 2; i++) /* the library supports none of these, and would use all memory for them */
        if (sizes[i] > OTF2_CHUNK_SIZE_MAX)
            check_give_up("its anchor asks for chunks of %s of %" PRIu64 " bytes, which is beyond OTF2's limit",
                          names[i], sizes[i]);
}

static void anchor_judge(OTF2_Reader *reader)
{
    uint64_t locations = 0, definitions = 0;
    if (OTF2_Reader_GetNumberOfLocations(reader, &locations) == OTF2_SUCCESS && locations != model.location_count)
        check_found(RULE_ANCHOR_COUNT, NULL, "the anchor has %" PRIu64 " locations, but %zu are defined", locations,
                    model.location_count);
    if (OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &definitions) == OTF2_SUCCESS &&
        definitions != check_figures.definitions)
        check_found(RULE_ANCHOR_COUNT, NULL, "the anchor has %" PRIu64 " definitions, but the archive has %" PRIu64,
                    definitions, check_figures.definitions);
}

/* Returns the directory of the files. Only a substrate with a file for each location can tell which files exist. */
static const char *directory_of(OTF2_Reader *reader, const char *anchor, char path[PATH_MAX])
{
    OTF2_FileSubstrate substrate = OTF2_SUBSTRATE_UNDEFINED;
    size_t length = strlen(anchor), suffix = strlen(".otf2");
    if (OTF2_Reader_GetFileSubstrate(reader, &substrate) != OTF2_SUCCESS || substrate != OTF2_SUBSTRATE_POSIX)
        return NULL;
    if (length <= suffix || length >= PATH_MAX)
        return NULL;
    snprintf(path, PATH_MAX, "%.*s", (int)(length - suffix), anchor);
    return path;
}

static void comms_tell(void)
{
    MAP_EACH(&model.maps[OTF2_MAPPING_COMM], slot)
    {
        struct defined_comm *comm = slot->element;
        snprintf(comm->figures.name, sizeof comm->figures.name, "%s", string_text(comm->name));
        check_listener.comm(&comm->figures);
    }
}

void check_archive(const char *anchor)
{
    char path[PATH_MAX];
    const char *name = strrchr(anchor, '/') ? strrchr(anchor, '/') + 1 : anchor;
    model_start();
    OTF2_Error_RegisterCallback(error_keep, NULL);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    if (!reader || OTF2_Reader_SetSerialCollectiveCallbacks(reader) != OTF2_SUCCESS)
        check_give_up("it is not an OTF2 archive, or its anchor is damaged: %s", check_otf2_error());
    char *creator = NULL;
    model.by_mpit = OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS && creator && strcmp(creator, "mpit") == 0;
    free(creator);
    if (strcmp(name, "traces.otf2") != 0)
        check_found(RULE_ANCHOR_NAME, NULL, "the anchor is named %s", name);
    chunks_judge(reader);
    check_definitions_read(reader);
    anchor_judge(reader);
    check_figures.locations = model.location_count;
    check_figures.processes = model.process_count;
    check_locations_read(reader, directory_of(reader, anchor, path));
    comms_tell();
    OTF2_Reader_Close(reader);
}
