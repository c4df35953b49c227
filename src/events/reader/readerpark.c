/* Readers of which only the header is kept, since a tool may read very many files. */
#include "reader/readercomms.h"
#include "reader/runmap.h"

#include <stdio.h>

void run_reader_park(struct run_reader *reader)
{
    struct run_map *map = reader->map;
    reader->map = NULL;
    run_map_park(map);
    run_reader_close(reader);
    *reader = (struct run_reader){.map = map, .header = reader->header};
}

bool run_reader_is_parked(const struct run_reader *reader)
{
    return reader->map && !reader->map->base;
}

int reader_unpark(struct run_reader *reader, char error[128])
{
    struct run_reader now;
    struct run_map *map = reader->map;
    if (run_reader_open_part(&now, map->path, map->extent) != 0) {
        snprintf(error, 128, "%.127s", now.error);
        return -1;
    }
    run_map_close(map);
    *reader = now;
    return 0;
}
