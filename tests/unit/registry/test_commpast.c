/* The past of a run file: the names of freed communicators, whose slots others have. One book serves all. */
#include "unittest.h"

#include "freedcomms.h"
#include "reader/reader.h"
#include "registry/book.h"
#include "runfixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TESTS_ALL(freed_comms_setup, freed_comms_teardown)

TEST(every_event_finds_its_name)
{
    enum { NAMES = 3000 };
    static uint64_t ticks[NAMES];
    static uint32_t slots[NAMES];
    struct run_reader reader;
    for (unsigned i = 0; i < NAMES; i++) {
        struct comm *comm = comm_numbered(1000000 + i);
        book_comm_label(comm, "a label", 7);
        ticks[i] = clock_now();
        slots[i] = comm->slot;
        comm_free(comm);
    }
    if (run_reader_open(&reader, book.run.path) != 0)
        fail_msg("%s", reader.error);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[64];
        snprintf(name, sizeof name, "WORLD/dup#%u", 1000000 + i);
        uint32_t number = run_reader_comm_at(&reader, slots[i], ticks[i]);
        assert_int_not_equal(number, 0);
        assert_string_equal(reader.comms[number]->name, name);
        assert_string_equal(reader.comms[number]->label, "a label");
        assert_int_equal(reader.comms[number]->parent, world->slot);
    }
    assert_int_equal(run_reader_comm_at(&reader, 0, ticks[0]), 0);
    assert_int_equal(run_reader_comm_at(&reader, 65535, ticks[0]), 0);
    run_reader_close(&reader);
}

/* Of a finished run nobody overwrites the ring any more: the oldest in it counts, too. */
TEST(finished_runs_name_all_of_the_ring)
{
    enum { STEPS = 1100 };
    static uint64_t ticks[STEPS];
    static uint32_t slots[STEPS];
    char path[128];
    snprintf(path, sizeof path, "%s/finished", directory);
    unsigned full = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        struct comm *comm = comm_numbered(2000000 + i);
        ticks[i] = clock_now();
        slots[i] = comm->slot;
        comm_free(comm);
        struct run_reader reader;
        assert_int_equal(run_reader_open(&reader, book.run.path), 0);
        const struct comm_past *past = (const void *)(reader.base + reader.header.past);
        if (past->count - past->kept < past->capacity) {
            run_reader_close(&reader);
            continue;
        }
        full++;
        size_t bytes = reader.bytes;
        char *copy = malloc(bytes);
        memcpy(copy, reader.base, bytes);
        run_reader_close(&reader);
        ((struct run_header *)(void *)copy)->phase = RUN_FINALIZED;
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(copy, 1, bytes, file), bytes);
        assert_int_equal(fclose(file), 0);
        free(copy);
        if (run_reader_open(&reader, path) != 0)
            fail_msg("%s", reader.error);
        for (unsigned k = 0; k <= i; k++)
            if (run_reader_comm_at(&reader, slots[k], ticks[k]) == 0)
                fail_msg("communicator %u of %u has no name", k, i);
        run_reader_close(&reader);
    }
    assert_true(full > 0);
    unlink(path);
}

TEST(damaged_past_is_an_error_or_a_reading)
{
    struct run_reader reader;
    char path[128];
    snprintf(path, sizeof path, "%s/damaged", directory);
    assert_int_equal(run_reader_open(&reader, book.run.path), 0);
    size_t bytes = reader.bytes, past = reader.header.past, count = 0;
    char *copy = malloc(bytes);
    memcpy(copy, reader.base, bytes);
    size_t chunks[4096];
    for (size_t i = 0; i < reader.chunk_count && count < 4096; i++)
        if (reader.chunks[i]->kind == CHUNK_COMMS)
            chunks[count++] = (size_t)((const char *)reader.chunks[i] - reader.base);
    run_reader_close(&reader);
    assert_true(count > 10 && past);
    srand(3);
    unsigned errors = 0, readings = 0;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, copy, bytes, 0), (ssize_t)bytes);
    for (unsigned i = 0; i < 300; i++) {
        size_t from = i % 3 ? chunks[(size_t)rand() % count] : past;
        size_t at = from + (size_t)rand() % (i % 5 ? 4096 : 128);
        char changed = (char)(copy[at] ^ (1 + rand() % 255));
        assert_int_equal(pwrite(fd, &changed, 1, (off_t)at), 1);
        if (run_reader_open(&reader, path) == 0) {
            for (uint32_t slot = 0; slot < reader.slot_count; slot += 7)
                assert_true(run_reader_comm_at(&reader, slot, (uint64_t)rand() << 20) < reader.comm_count);
            run_reader_close(&reader);
            readings++;
        } else {
            assert_true(reader.error[0]);
            errors++;
        }
        assert_int_equal(pwrite(fd, &copy[at], 1, (off_t)at), 1);
    }
    assert_true(errors > 20 && readings > 20);
    close(fd);
    unlink(path);
    free(copy);
}
