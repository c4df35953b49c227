/* Blocks of events, packed (pack.h) and by column (columns.h), of any bytes; and any events there and back. */
#include "format/columns.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct unpacked unpacked;

static void packed_read(const uint8_t *data, size_t size)
{
    const unsigned char *at = data, *end = data + size;
    unpacked_begin(&unpacked);
    while (event_unpack(&unpacked, &at, end))
        continue;
    if (at > end)
        abort();
}

/* The bytes in six parts, whose lengths come first. */
static void columns_read(const uint8_t *data, size_t size)
{
    struct columns_cursor cursor = {0};
    if (size < COLUMN_COUNT)
        return;
    const uint8_t *at = data + COLUMN_COUNT, *end = data + size;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        size_t bytes = (size_t)data[i] * 8 < (size_t)(end - at) ? (size_t)data[i] * 8 : (size_t)(end - at);
        cursor.at[i] = at;
        cursor.end[i] = at += bytes;
    }
    unpacked_begin(&unpacked);
    while (columns_next(&cursor, &unpacked))
        continue;
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (cursor.at[i] > cursor.end[i])
            abort();
}

static struct columns_cursor columns_begin(const struct columns *columns)
{
    struct columns_cursor cursor = {0};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        cursor.at[i] = column_bytes(columns, i);
        cursor.end[i] = cursor.at[i] + columns->bytes[i];
    }
    return cursor;
}

static void there_and_back(const uint8_t *data, size_t size)
{
    static struct event events[COLUMNS_EVENTS];
    static struct columns columns;
    static struct packer table;
    static unsigned char packed[COLUMNS_EVENTS * PACK_MOST];
    size_t some;
    uint32_t count = (uint32_t)(size / sizeof *events < COLUMNS_EVENTS ? size / sizeof *events : COLUMNS_EVENTS);
    memcpy(events, data, count * sizeof *events);
    columns_write(&columns, events, count);
    struct columns_cursor cursor = columns_begin(&columns);
    unpacked_begin(&unpacked);
    for (uint32_t i = 0; i < count; i++) {
        const struct event *event = columns_next(&cursor, &unpacked);
        if (!event || memcmp(event, &events[i], sizeof *event) != 0)
            abort();
    }
    cursor = columns_begin(&columns);
    unpacked_begin(&unpacked);
    for (uint32_t done = 0; done < count; done += some) { /* several at a time */
        size_t place = unpacked.count & PACK_BACK_MOST;
        some = place % 128 ? 128 - place % 128 : 128;
        some = some < count - done ? some : count - done;
        if (columns_take(&cursor, &unpacked, some) != some ||
            memcmp(&unpacked.last[place], &events[done], some * sizeof *events) != 0)
            abort();
    }
    packer_begin(&table, events, packed);
    const unsigned char *at = packed, *end = packed + packer_go_on(&table, events + count);
    unpacked_begin(&unpacked);
    for (uint32_t i = 0; i < count; i++) {
        const struct event *event = event_unpack(&unpacked, &at, end);
        if (!event || memcmp(event, &events[i], sizeof *event) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        packed_read(data + 1, size - 1);
        break;
    case 1:
        columns_read(data + 1, size - 1);
        break;
    default:
        there_and_back(data + 1, size - 1);
    }
    return 0;
}
