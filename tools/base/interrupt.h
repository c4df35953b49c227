/*
 * SIGINT, SIGTERM and SIGHUP while a result is incomplete. They are noted, so that the writer can stop and remove the
 * result. An ignored signal (nohup) stays ignored.
 */
#ifndef MPIT_TOOLS_INTERRUPT_H
#define MPIT_TOOLS_INTERRUPT_H

/* Notes signals from here to interrupts_release. Calls must not nest. */
void interrupts_catch(void);
/* Restores the signal handlers. A signal that has come in the meantime is not sent again. interrupt_seen still returns
 * it. */
void interrupts_release(void);
/* Returns the first signal since interrupts_catch, or 0 for none. */
int interrupt_seen(void);

/* Ends the process by this signal, as if the signal had never been caught. */
void interrupt_die(int signal);

#endif
