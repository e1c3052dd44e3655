/* Ctrl-C, SIGTERM and a terminal that is closed ask a run to stop after its step; a second one ends the process at
 * once. */
#ifndef CORE_CLI_STOP_H
#define CORE_CLI_STOP_H

#include <stdbool.h>

void stop_catch(void); /* from now on; a signal that is ignored stays ignored (nohup) */
bool stop_requested(void);

#endif
