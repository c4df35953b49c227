/*
 * Handles of native performance variables, with their errors corrected.
 *
 * The corrections hide errors of the libraries. The native handle only samples, and mpit does the rest of a tool's
 * handle here.
 *
 *   sum      COUNTER, AGGREGATE, TIMER       value = held + (started ? sample - base : 0)
 *   mark     HIGH-, LOWWATERMARK             value = extreme of held and, while started, the sample
 *   current  STATE, LEVEL, SIZE, PERCENTAGE  value = started ? sample : held
 *   generic  GENERIC                         the library's own semantics, call for call
 *
 * Sums and current values are started in the library with the first start and never stopped there. Open MPI's
 * monitoring variables share one switch, so a stop in one session would freeze the handles of all others.
 *
 * All of it happens under the lock of native MPI_T (door.h). A signal handler that interrupted a call into the library
 * gets DOOR_BUSY. Else it is as signal-safe as the library's read.
 */
#ifndef MPIT_MPIT_FOREIGN_H
#define MPIT_MPIT_FOREIGN_H

#include "catalogue/catalogue.h"

struct comm;
struct foreign;

/*
 * A handle of the library's variable `entry` in its session. `comm` is set to the communicator that it is bound to,
 * NULL if none. Returns MPI_SUCCESS, MPI_T_ERR_INVALID_INDEX (the variable has died), MPI_T_ERR_INVALID (no object),
 * MPI_T_ERR_INVALID_HANDLE (the object is gone, or the library would crash on it), MPI_T_ERR_MEMORY, or the library's
 * code.
 */
int foreign_alloc(const struct catalogue_entry *entry, MPI_T_pvar_session session, void *object,
                  struct foreign **foreign, int *count);
/* Sets *foreign to NULL. */
void foreign_free(struct foreign **foreign);

/*
 * The calls on values. `where` is the place of the handle, which is read under the lock. If it is NULL, the handle was
 * freed (MPI_T_ERR_INVALID_HANDLE).
 */
/* What MPI_T_pvar_start and its like do with a handle. */
enum handle_call { HANDLE_START, HANDLE_STOP, HANDLE_READ, HANDLE_WRITE, HANDLE_RESET, HANDLE_READRESET };
/* `buf` is for reads and writes. A write does not change it. */
int foreign_call(struct foreign *const *where, enum handle_call call, void *buf);

#endif
