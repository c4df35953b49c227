#include "page/page_places.h"

#include <stdlib.h>
#include <string.h>

void page_places_open(struct page_places *places, struct call_places *source)
{
    *places = (struct page_places){.source = source, .list = json_array()};
}

static int numbers_grow(struct page_places *places, uint32_t place)
{
    size_t capacity = places->capacity ? places->capacity : 64;
    while (capacity <= place)
        capacity *= 2;
    uint32_t *numbers = realloc(places->numbers, capacity * sizeof *numbers);
    if (!numbers)
        return -1;
    memset(numbers + places->capacity, 0, (capacity - places->capacity) * sizeof *numbers);
    places->numbers = numbers;
    places->capacity = capacity;
    return 0;
}

json_t *page_place_number(struct page_places *places, uint32_t place)
{
    if (!place || (place >= places->capacity && numbers_grow(places, place) != 0))
        return json_null();
    if (!places->numbers[place]) {
        json_t *json = call_place_json(places->source, place);
        if (!json_is_object(json) || json_array_append_new(places->list, json) != 0)
            return json_null();
        places->numbers[place] = (uint32_t)json_array_size(places->list);
    }
    return json_integer((json_int_t)places->numbers[place] - 1);
}

json_t *page_places_take(struct page_places *places)
{
    free(places->numbers);
    return places->list;
}
