/*
 * Handles of the MPI library's own performance variables, mended from outside.
 *
 * What the libraries get wrong is kept from them: the library's handle only samples, and what a tool's handle does
 * happens here.
 *
 *   sum      COUNTER, AGGREGATE, TIMER       value = held + (started ? sample - base : 0)
 *   mark     HIGH-, LOWWATERMARK             value = extreme of held and, while started, the sample
 *   current  STATE, LEVEL, SIZE, PERCENTAGE  value = started ? sample : held
 *   generic  GENERIC                         the library's own semantics, call for call
 *
 * Sums and current values are started in the library with the first start and never stopped there: Open MPI's
 * monitoring variables share one switch, so that a stop in one session would freeze the handles of all others.
 *
 * All of it happens inside the door (door.h), so from a signal handler that interrupted a call into the library it is
 * refused with DOOR_BUSY; else it is as signal-safe as the library's read.
 */
#ifndef MPIT_MPIT_FOREIGN_H
#define MPIT_MPIT_FOREIGN_H

#include "catalogue/catalogue.h"

struct comm;
struct foreign;

/*
 * A handle of the library's variable `entry` in its session. `comm` is set to the communicator that it is bound to,
 * NULL if none. Returns MPI_SUCCESS, MPI_T_ERR_INVALID_INDEX (the variable has died), MPI_T_ERR_INVALID (no object),
 * MPI_T_ERR_INVALID_HANDLE (not an object that lives, or one that the library would crash on), MPI_T_ERR_MEMORY, or the
 * library's code.
 */
int foreign_alloc(const struct catalogue_entry *entry, MPI_T_pvar_session session, void *object,
                  struct foreign **foreign, int *count);
/* Sets *foreign to NULL. */
void foreign_free(struct foreign **foreign);

/*
 * The calls on values. `where` is the place that holds the handle: it is looked at inside the door, NULL there means
 * that the handle was freed (MPI_T_ERR_INVALID_HANDLE).
 */
int foreign_start(struct foreign *const *where);
int foreign_stop(struct foreign *const *where);
int foreign_read(struct foreign *const *where, void *buf);
int foreign_write(struct foreign *const *where, const void *buf);
int foreign_reset(struct foreign *const *where);
int foreign_readreset(struct foreign *const *where, void *buf);

#endif
