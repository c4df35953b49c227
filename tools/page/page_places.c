#include "page/page_places.h"

#include "base/array.h"

void page_places_open(struct page_places *places, struct call_places *source, const struct summary *summary)
{
    *places = (struct page_places){.source = source, .sites = &summary->sites, .list = json_array()};
    places->order = sites_by_time(places->sites);
}

/* Returns the number of a place among the sites of the summary, or how many there are. */
static uint64_t summary_number(struct page_places *places, uint32_t place)
{
    struct summary_sites unused;
    uint64_t number = 0, count = places->order ? places->sites->count : 0;
    const struct summary_site *site = call_place_site(places->source, place, &unused);
    while (site && number < count && places->order[number]->hash != site->hash)
        number++;
    return site ? number : count;
}

static int numbers_grow(struct page_places *places, uint32_t place)
{
    size_t capacity = array_room(places->capacity, 64, (size_t)place + 1);
    if (!ARRAY_EXTENDED(places->numbers, places->capacity, capacity))
        return -1;
    places->capacity = capacity;
    return 0;
}

json_t *page_place_number(struct page_places *places, uint32_t place)
{
    if (!place || (place >= places->capacity && numbers_grow(places, place) != 0))
        return json_null();
    if (!places->numbers[place]) {
        uint64_t count = places->order ? places->sites->count : 0, number = summary_number(places, place);
        json_t *json = number == count ? call_place_json(places->source, place) : NULL;
        if (number == count && (!json_is_object(json) || json_array_append_new(places->list, json) != 0))
            return json_null();
        places->numbers[place] = (uint32_t)(number == count ? count + json_array_size(places->list) : number + 1);
    }
    return json_integer((json_int_t)places->numbers[place] - 1);
}

json_t *page_places_take(struct page_places *places)
{
    free(places->numbers);
    free(places->order);
    return places->list;
}
