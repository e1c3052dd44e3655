/* Seconds, for speed and progress only: nothing that is computed depends on them. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);       /* monotonic */
void clock_sleep(double seconds); /* or until a signal comes */

#endif
