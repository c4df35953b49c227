/*
 * An MPI library's MPI_T that a test makes up: variables and categories come, die and change as the test says. Behind
 * the door in the place of a real one.
 */
#ifndef MPIT_TESTS_FAKELIBRARY_H
#define MPIT_TESTS_FAKELIBRARY_H

#include "door.h"

enum { FAKE_MOST = 64, FAKE_VALUES = 4 };

struct fake_pvar {
    const char *name;
    int class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    bool dead;
    int count;
    union {
        unsigned long long whole[FAKE_VALUES];
        double real[FAKE_VALUES];
        unsigned half[FAKE_VALUES];
    } now;
};

struct fake_cvar {
    const char *name;
    MPI_T_enum enumtype;
    bool dead;
};

struct fake_category {
    const char *name;
    bool dead;
    int cvars[8], pvars[8], categories[8];
    int cvar_count, pvar_count, category_count;
};

struct fake_library {
    struct fake_pvar pvars[FAKE_MOST];
    struct fake_cvar cvars[FAKE_MOST];
    struct fake_category categories[FAKE_MOST];
    int pvar_count, cvar_count, category_count;
    bool frozen; /* the one switch for all of its variables that can be stopped */
    int stops, writes, handles;
    int stamp;         /* of categories; grows with them, and not with their members */
    int category_asks; /* how often one's members were asked for */
};

extern struct fake_library fake;

/* Opens the door to an empty library; MPI is initialized. */
void fake_open(void);
/* Adds one that is alive. */
struct fake_pvar *fake_pvar_add(const char *name, int class, MPI_Datatype type);
struct fake_cvar *fake_cvar_add(const char *name);
struct fake_category *fake_category_add(const char *name);
/* MPI_Finalized says this from now on. */
void fake_finalized(bool finalized);

#endif
