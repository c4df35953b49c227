#include "analysis/segments.h"

#include "base/array.h"
#include <stdlib.h>
#include <string.h>

/* Of all segments. 24 bytes each. */
enum { VISITS_MOST = 1 << 23 };

uint32_t segment_find(struct segments *segments, uint32_t from, uint32_t to)
{
    struct segment_pair *pair = keytable_find(&segments->pairs, from, to);
    if (pair || segments->pairs.count + 1 >= SEGMENTS_MOST)
        return pair ? pair->number : 0;
    if (!(pair = keytable_make(&segments->pairs, from, to, sizeof *pair))) {
        segments->no_memory = true;
        return 0;
    }
    pair->number = (uint32_t)segments->pairs.count;
    return pair->number;
}

const struct segment_pair *segment_pair_of(const struct segments *segments, uint32_t number)
{
    for (size_t i = 0; number && i < segments->pairs.capacity; i++)
        for (const struct keyed *keyed = segments->pairs.buckets[i]; keyed; keyed = keyed->next)
            if (((const struct segment_pair *)keyed)->number == number)
                return (const struct segment_pair *)keyed;
    return NULL;
}

struct segment_sum *segment_of_rank(struct segments *segments, uint32_t number, int32_t rank)
{
    struct segment_sum *sum =
        number ? keytable_make(&segments->sums, number, (uint64_t)(uint32_t)rank, sizeof *sum) : NULL;
    segments->no_memory |= number && !sum;
    return sum;
}

static struct segment_course *course_make(struct segments *segments, uint32_t number)
{
    if (number >= segments->course_capacity) {
        size_t capacity = 2 * (size_t)number + 64;
        struct segment_course *courses = realloc(segments->courses, capacity * sizeof *courses);
        if (!courses)
            return NULL;
        memset(courses + segments->course_capacity, 0, (capacity - segments->course_capacity) * sizeof *courses);
        segments->courses = courses;
        segments->course_capacity = capacity;
    }
    return &segments->courses[number];
}

void segment_visit_add(struct segments *segments, uint32_t number, uint64_t visit, double ns)
{
    struct segment_course *course = course_make(segments, number);
    if (!course || (visit >= course->count && segments->visits + (visit - course->count) >= VISITS_MOST))
        return;
    for (; course->count <= visit; segments->visits++) {
        struct segment_visit *visits = array_reserve(course->visits, &course->capacity, course->count, sizeof *visits);
        if (!visits)
            return;
        course->visits = visits;
        course->visits[course->count++] = (struct segment_visit){0, 0, 0};
    }
    struct segment_visit *at = &course->visits[visit];
    at->ns += ns;
    at->most_ns = ns > at->most_ns ? ns : at->most_ns;
    at->ranks++;
}

const struct segment_course *segment_course_of(const struct segments *segments, uint32_t number)
{
    return number < segments->course_capacity && segments->courses[number].count ? &segments->courses[number] : NULL;
}

static void figures_add(struct segment_figures *figures, const struct segment_sum *sum)
{
    if (sum->count && (!figures->ranks || sum->ns < figures->min_ns))
        figures->min_ns = sum->ns;
    if (sum->count && (!figures->ranks || sum->ns > figures->max_ns)) {
        figures->max_ns = sum->ns;
        figures->max_rank = (int32_t)sum->keyed.key[1];
    }
    figures->ranks += sum->count > 0;
    figures->count += sum->count;
    figures->sum_ns += sum->ns;
    figures->critical_ns += sum->critical_ns;
    figures->blamed_ns += sum->blamed_ns;
    figures->off_ns += sum->off_ns;
}

static int cost_order(const void *one, const void *other)
{
    const struct segment_figures *a = one, *b = other;
    return ORDER(b->max_ns, a->max_ns) ?: ORDER(a->number, b->number);
}

struct segment_figures *segments_by_cost(const struct segments *segments, size_t *count)
{
    size_t pairs = segments->pairs.count;
    struct keyed **sums = keytable_sorted(&segments->sums);
    struct segment_figures *list = sums ? calloc(pairs + 1, sizeof *list) : NULL;
    *count = 0;
    for (size_t i = 0; list && i < segments->pairs.capacity; i++)
        for (struct keyed *keyed = segments->pairs.buckets[i]; keyed; keyed = keyed->next) {
            struct segment_figures *figures = &list[((struct segment_pair *)keyed)->number - 1];
            figures->number = ((struct segment_pair *)keyed)->number;
            figures->from = (uint32_t)keyed->key[0];
            figures->to = (uint32_t)keyed->key[1];
        }
    for (size_t i = 0; list && i < segments->sums.count; i++) /* by rank, in order */
        figures_add(&list[sums[i]->key[0] - 1], (const struct segment_sum *)sums[i]);
    for (size_t i = 0; list && i < pairs; i++) /* those of the selected ranks and times */
        if (list[i].ranks)
            list[(*count)++] = list[i];
    free(sums);
    if (list)
        qsort(list, *count, sizeof *list, cost_order);
    return list;
}

void segments_release(struct segments *segments)
{
    for (size_t i = 0; i < segments->course_capacity; i++)
        free(segments->courses[i].visits);
    free(segments->courses);
    keytable_release(&segments->pairs, NULL);
    keytable_release(&segments->sums, NULL);
}
