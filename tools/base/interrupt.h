/*
 * SIGINT, SIGTERM and SIGHUP while something is half made: they are noted, so that whoever makes it can stop and take
 * it away. What is ignored (nohup) stays ignored.
 */
#ifndef MPIT_TOOLS_INTERRUPT_H
#define MPIT_TOOLS_INTERRUPT_H

/* From here to interrupts_release; not nested. */
void interrupts_catch(void);
/* As they were before. What has come in the meantime is not sent again: interrupt_seen still tells it. */
void interrupts_release(void);
/* The signal that came first since interrupts_catch; 0: none. */
int interrupt_seen(void);

/* Ends the process by this signal, as if it had never been caught. */
void interrupt_die(int signal);

#endif
