#include "tally_types.h"

#include "tally_book.h"

struct type types[TYPE_COUNT];

static void type_make(int which, struct draw *draw)
{
    MPI_Datatype made;
    int a = 1 + draw_below(draw, 6), b = 1 + draw_below(draw, 4);
    if (which == TYPE_CONTIGUOUS)
        MPI_Type_contiguous(a + b, MPI_SHORT, &made);
    else if (which == TYPE_VECTOR)
        MPI_Type_vector(a, b, b + 2, MPI_INT, &made);
    else {
        int lengths[3] = {a, 1, b};
        MPI_Aint displacements[3] = {0, 8, 16};
        MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
        MPI_Type_create_struct(3, lengths, displacements, parts, &made);
    }
    MPI_Type_commit(&made);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(made, &lower, &extent);
    types[which].handle = made;
    types[which].extent = (size_t)extent;
    MPI_Type_size(made, &types[which].size);
}

void types_open(struct draw *draw)
{
    types[TYPE_BYTE] = (struct type){MPI_BYTE, 1, 1};
    types[TYPE_INT] = (struct type){MPI_INT, sizeof(int), sizeof(int)};
    types[TYPE_DOUBLE] = (struct type){MPI_DOUBLE, sizeof(double), sizeof(double)};
    for (int i = TYPE_CONTIGUOUS; i < TYPE_COUNT; i++)
        type_make(i, draw);
}

void types_renew(struct draw *draw)
{
    int which = TYPE_CONTIGUOUS + draw_below(draw, TYPE_COUNT - TYPE_CONTIGUOUS);
    MPI_Type_free(&types[which].handle);
    type_make(which, draw);
}

void types_close(void)
{
    for (int i = TYPE_CONTIGUOUS; i < TYPE_COUNT; i++)
        MPI_Type_free(&types[i].handle);
}

int types_draw_bytes(struct draw *draw, int limit)
{
    int kind = draw_below(draw, 100), bytes;
    if (kind < 12)
        bytes = 0;
    else if (kind < 45)
        bytes = draw_below(draw, 129);
    else if (kind < 65)
        bytes = draw_below(draw, 4097);
    else if (kind < 75)
        bytes = BOOK_LARGE_BYTES - 1 + draw_below(draw, 3);
    else if (kind < 85)
        bytes = 1 << draw_below(draw, 17);
    else if (kind < 96)
        bytes = draw_below(draw, 65537);
    else if (kind < 99)
        bytes = draw_below(draw, (1 << 19) + 1);
    else
        bytes = draw_chance(draw, 50) ? 4 << 20 : draw_below(draw, (4 << 20) + 1);
    return bytes < limit ? bytes : limit;
}
