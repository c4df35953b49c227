#include "definitions/otf2_numbers.h"

#include "archive/otf2_events.h"

#include <stdlib.h>

/*
 * The words of a set:
 *
 *   all words, files, windows, handles, groups     how many of each,
 *   kind | owner, number                           of each file, before the handles, which name files;
 *   communicator | has events, number              of each window and handle,
 *   runs | first, length of each run               of each group: neighbors in the world, as in most groups
 */
enum { WORDS_HEAD = 5, WORD_ALL = 0, WORD_FILES, WORD_WINDOWS, WORD_HANDLES, WORD_GROUPS };

struct words {
    uint64_t *list; /* the first is their number, or NULL: they are only counted */
    size_t count;
};

static uint64_t word_of(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static void number_word_put(struct words *words, uint64_t word)
{
    if (words->list)
        words->list[words->count] = word;
    words->count++;
}

static void group_put(struct words *words, const struct trace_group *group)
{
    size_t runs_at = words->count;
    uint64_t runs = 0;
    number_word_put(words, 0);
    for (uint32_t i = 0, end; i < group->count; i = end) {
        for (end = i + 1; end < group->count && group->members[end] == group->members[end - 1] + 1;)
            end++;
        number_word_put(words, word_of((uint32_t)group->members[i], end - i));
        runs++;
    }
    if (words->list)
        words->list[runs_at] = runs;
}

static void set_put(struct words *words, const struct object_set *set)
{
    words->count = 0;
    number_word_put(words, 0);
    number_word_put(words, set->files.count);
    number_word_put(words, set->window_count);
    number_word_put(words, set->handle_count);
    number_word_put(words, set->group_count);
    for (uint32_t i = 0; i < set->files.count; i++) {
        number_word_put(words, word_of(set->file_keys[i].kind, set->file_keys[i].owner));
        number_word_put(words, set->file_keys[i].number);
    }
    for (int handles = 0; handles < 2; handles++)
        for (uint32_t i = 0; i < (handles ? set->handle_count : set->window_count); i++) {
            const struct trace_object *object = handles ? set->handles[i] : set->windows[i];
            number_word_put(words, word_of(object->comm, object->has_events));
            number_word_put(words, object->number);
        }
    for (uint32_t i = 0; i < set->group_count; i++)
        group_put(words, set->group_list[i]);
    if (words->list)
        words->list[WORD_ALL] = words->count;
}

int trace_numbers_keep(struct trace_objects *objects, int32_t world_rank, const struct object_set *set)
{
    struct words words = {0};
    if (!set->window_count && !set->handle_count && !set->files.count && !set->group_count)
        return 0;
    set_put(&words, set);
    words.list = malloc(words.count * sizeof *words.list);
    if (!words.list)
        return -1;
    set_put(&words, set);
    objects->of_rank[world_rank] = words.list;
    return 0;
}

/* ---- the archive's numbers --------------------------------------------------------------------------------------- */

/* Each of these functions returns the number of the words at *at, new or known, and moves past them. It returns
 * NO_NUMBER without memory. */
#define NO_NUMBER UINT32_MAX

static uint32_t object_number(struct object_set *all, enum object_kind kind, const uint64_t **at)
{
    struct trace_object *object = trace_object_find(all, kind, (uint32_t)((*at)[0] >> 32), (*at)[1]);
    if (object)
        object->has_events = object->has_events || (uint32_t)(*at)[0];
    *at += 2;
    return object ? object->id : NO_NUMBER;
}

static uint32_t window_number(struct object_set *all, const uint64_t **at)
{
    return object_number(all, OBJECT_WINDOW, at);
}

static uint32_t handle_number(struct object_set *all, const uint64_t **at)
{
    return object_number(all, OBJECT_FILE, at);
}

static uint32_t file_number(struct object_set *all, const uint64_t **at)
{
    uint64_t key = (*at)[0], number = (*at)[1];
    *at += 2;
    return trace_file_find(all, (enum object_kind)(key >> 32), (uint32_t)key, number);
}

static uint32_t group_number(struct object_set *all, const uint64_t **at)
{
    uint64_t runs = *(*at)++;
    uint32_t count = 0, next = 0;
    for (uint64_t i = 0; i < runs; i++)
        count += (uint32_t)(*at)[i];
    int32_t *members = malloc(((size_t)count + 1) * sizeof *members);
    for (uint64_t i = 0; members && i < runs; i++)
        for (uint32_t k = 0; k < (uint32_t)(*at)[i]; k++)
            members[next++] = (int32_t)((*at)[i] >> 32) + (int32_t)k;
    *at += runs;
    uint32_t group = members ? trace_group_find(all, members, count) : NO_GROUP;
    free(members);
    return group;
}

/* In the order of the words. */
static const struct number_kind {
    unsigned word; /* of the head: how many */
    OTF2_MappingType table;
    uint32_t first; /* number of the first one in event files and definitions */
    uint32_t (*number)(struct object_set *all, const uint64_t **at);
} number_kinds[] = {
    {WORD_FILES, OTF2_MAPPING_IO_FILE, 0, file_number},
    {WORD_WINDOWS, OTF2_MAPPING_RMA_WIN, 0, window_number},
    {WORD_HANDLES, OTF2_MAPPING_IO_HANDLE, 0, handle_number},
    {WORD_GROUPS, OTF2_MAPPING_GROUP, TRACE_FIRST_GROUP, group_number},
};
enum { NUMBER_KINDS = sizeof number_kinds / sizeof *number_kinds };

static int numbers_set_add(struct object_set *all, const uint64_t *words)
{
    const uint64_t *at = words + WORDS_HEAD;
    for (size_t k = 0; k < NUMBER_KINDS; k++)
        for (uint64_t i = 0; i < words[number_kinds[k].word]; i++)
            if (number_kinds[k].number(all, &at) == NO_NUMBER)
                return -1;
    return 0;
}

/* Takes rank after rank, on all processes of the team. */
static int sets_add(struct trace_objects *objects, uint64_t *buffer, const uint64_t *counts, const struct team *team)
{
    int result = 0;
    for (int32_t r = 0; r < objects->ranks; r++) {
        if (!counts[r])
            continue;
        uint64_t *words = objects->of_rank[r] ? objects->of_rank[r] : buffer;
        team_spread(team, words, counts[r] * sizeof *words, r % team->size);
        if (result == 0)
            result = numbers_set_add(&objects->all, words);
    }
    return result;
}

int trace_numbers_gather(struct trace_objects *objects, const struct team *team, struct otf2_report *report)
{
    uint64_t most = 0;
    char none[1] = "";
    uint64_t *counts = calloc((size_t)objects->ranks, sizeof *counts), *buffer = NULL;
    if (team_failed(team, !counts, none, sizeof none)) {
        free(counts);
        return report_no_memory(report);
    }
    for (int32_t r = 0; r < objects->ranks; r++)
        counts[r] = objects->of_rank[r] ? objects->of_rank[r][WORD_ALL] : 0;
    team_sum(team, counts, (size_t)objects->ranks);
    for (int32_t r = 0; r < objects->ranks; r++)
        most = counts[r] > most ? counts[r] : most;
    if (team->size > 1)
        buffer = malloc((most + 1) * sizeof *buffer);
    int result = -1;
    if (!team_failed(team, team->size > 1 && !buffer, none, sizeof none))
        result = sets_add(objects, buffer, counts, team);
    free(buffer);
    free(counts);
    return result == 0 ? 0 : report_no_memory(report);
}

/* ---- mapping tables ---------------------------------------------------------------------------------------------- */

/* Writes no table that maps each number to itself, because readers then use the numbers directly. */
static OTF2_ErrorCode table_write(OTF2_DefWriter *writer, OTF2_MappingType type, const uint32_t *numbers,
                                  uint32_t count)
{
    bool moves = false;
    for (uint32_t i = 0; i < count; i++)
        moves = moves || numbers[i] != i;
    if (!moves)
        return OTF2_SUCCESS;
    OTF2_IdMap *map = OTF2_IdMap_CreateFromUint32Array(count, numbers, false);
    if (!map)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_ErrorCode error = OTF2_DefWriter_WriteMappingTable(writer, type, map);
    OTF2_IdMap_Free(map);
    return error;
}

uint64_t trace_numbers_most(const struct trace_objects *objects)
{
    uint64_t most = 0;
    for (int32_t r = 0; r < objects->ranks; r++)
        if (objects->of_rank[r] && objects->of_rank[r][WORD_ALL] > most)
            most = objects->of_rank[r][WORD_ALL];
    return most + TRACE_FIRST_GROUP;
}

OTF2_ErrorCode trace_numbers_write(struct trace_objects *objects, int32_t world_rank, OTF2_DefWriter *writer)
{
    const uint64_t *words = objects->of_rank[world_rank];
    if (!words)
        return OTF2_SUCCESS;
    const uint64_t *at = words + WORDS_HEAD;
    uint32_t *numbers = malloc((words[WORD_ALL] + TRACE_FIRST_GROUP) * sizeof *numbers);
    OTF2_ErrorCode error = numbers ? OTF2_SUCCESS : OTF2_ERROR_MEM_ALLOC_FAILED;
    for (size_t k = 0; k < NUMBER_KINDS && error == OTF2_SUCCESS; k++) {
        const struct number_kind *kind = &number_kinds[k];
        uint32_t count = 0;
        while (count < kind->first) {
            numbers[count] = count;
            count++;
        }
        for (uint64_t i = 0; i < words[kind->word]; i++)
            numbers[count++] = kind->first + kind->number(&objects->all, &at);
        error = table_write(writer, kind->table, numbers, count);
    }
    free(numbers);
    return error;
}
