/* Handles of control variables. */
#ifndef MPIT_MPIT_CVAR_H
#define MPIT_MPIT_CVAR_H

/* Makes every handle stale when the interface is finalized. */
void cvar_handle_free_all(void);

#endif
