/* The predefined operations of reductions, by mpit's own numbers. Every MPI has the same. */
#ifndef MPIT_EVENTS_REDUCTION_H
#define MPIT_EVENTS_REDUCTION_H

/* X(name, small letters) */
#define REDUCTIONS(X)                                                                                                  \
    X(MAX, max)                                                                                                        \
    X(MIN, min)                                                                                                        \
    X(SUM, sum)                                                                                                        \
    X(PROD, prod)                                                                                                      \
    X(LAND, land)                                                                                                      \
    X(BAND, band)                                                                                                      \
    X(LOR, lor)                                                                                                        \
    X(BOR, bor)                                                                                                        \
    X(LXOR, lxor)                                                                                                      \
    X(BXOR, bxor)                                                                                                      \
    X(MINLOC, minloc)                                                                                                  \
    X(MAXLOC, maxloc)

#define REDUCTION_ENUM(name, small) REDUCTION_##name,
enum reduction { REDUCTION_UNKNOWN, REDUCTIONS(REDUCTION_ENUM) REDUCTION_COUNT }; /* unknown: also the program's own */
#undef REDUCTION_ENUM

static inline const char *reduction_name(unsigned reduction)
{
#define REDUCTION_TEXT(name, small) "MPI_" #name,
    static const char *const names[REDUCTION_COUNT] = {"another operation", REDUCTIONS(REDUCTION_TEXT)};
#undef REDUCTION_TEXT
    return names[reduction < REDUCTION_COUNT ? reduction : REDUCTION_UNKNOWN];
}

#endif
