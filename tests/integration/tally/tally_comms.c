#include "tally_comms.h"

#include "tally_pool.h"
#include "tally_pvars.h"

static bool watching;

void comms_watch(bool watch)
{
    watching = watch;
}

struct book *comm_open(MPI_Comm comm, const char *name, uint64_t key)
{
    struct book *book = book_open(comm, name, key);
    if (watching)
        pvars_bind(book);
    return book;
}

static MPI_Comm create_without(const struct book *parent, int without)
{
    MPI_Comm made;
    MPI_Group all, some;
    MPI_Comm_group(parent->comm, &all);
    if (parent->size > 1)
        MPI_Group_excl(all, 1, &without, &some);
    else
        MPI_Group_incl(all, 1, &(int){0}, &some);
    CALL(MPI_Comm_create, parent->comm, some, &made);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return made;
}

static MPI_Comm cart_of(const struct book *parent)
{
    MPI_Comm made;
    int dims[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Dims_create(parent->size, 2, dims);
    CALL(MPI_Cart_create, parent->comm, 2, dims, periods, 0, &made);
    return made;
}

static MPI_Comm rows_of(const struct book *parent, int *part)
{
    int topology, remain[2] = {0, 1}, place[2];
    MPI_Comm made;
    MPI_Topo_test(parent->comm, &topology);
    if (topology == MPI_CART) {
        MPI_Cart_coords(parent->comm, parent->rank, 2, place);
        *part = place[0];
        CALL(MPI_Cart_sub, parent->comm, remain, &made);
    } else {
        CALL(MPI_Comm_dup, parent->comm, &made);
    }
    return made;
}

/* The request of an MPI_Comm_idup completes among others. */
static MPI_Comm idup_of(struct book *parent, struct draw *own)
{
    MPI_Comm made = MPI_COMM_NULL;
    pool_add_nothing(parent, own);
    MPI_Request *request = pool_add((struct pool_entry){.kind = POOL_COMM, .book = parent, .active = true});
    CALL(MPI_Comm_idup, parent->comm, &made, request);
    pool_add_nothing(parent, own);
    pool_drain(own);
    pool_clear();
    return made;
}

struct book *comm_make(struct book *parent, enum comm_kind kind, const char *name, struct draw *draw, struct draw *own)
{
    MPI_Comm made = MPI_COMM_NULL;
    uint64_t key = draw_next(draw);
    int part = 0, odd = parent->rank % 2, excluded = draw_below(draw, parent->size);
    bool last = parent->size > 1 && parent->rank == parent->size - 1;
    switch (kind) {
    case COMM_DUP_WITH_INFO:
        CALL(MPI_Comm_dup_with_info, parent->comm, MPI_INFO_NULL, &made);
        break;
    case COMM_IDUP:
        made = idup_of(parent, own);
        break;
    case COMM_SPLIT:
        part = odd;
        CALL(MPI_Comm_split, parent->comm, odd, -parent->rank, &made);
        break;
    case COMM_SPLIT_SOME:
        CALL(MPI_Comm_split, parent->comm, last ? MPI_UNDEFINED : 7, parent->rank, &made);
        break;
    case COMM_SPLIT_TYPE:
        CALL(MPI_Comm_split_type, parent->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
        break;
    case COMM_CREATE:
        made = create_without(parent, excluded);
        break;
    case COMM_CART:
        made = cart_of(parent);
        break;
    case COMM_CART_SUB:
        made = rows_of(parent, &part);
        break;
    default:
        CALL(MPI_Comm_dup, parent->comm, &made);
        break;
    }
    parent->parent = true;
    return made == MPI_COMM_NULL ? NULL : comm_open(made, name, draw_mix(key ^ (uint64_t)part));
}

void comm_drop(struct book *book, struct book *parent)
{
    pvars_release(book);
    if (parent) {
        CALL(MPI_Comm_free, &book->comm);
        parent->parent = true;
    }
    book_close(book);
}
