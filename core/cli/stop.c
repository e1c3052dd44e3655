/* The one global of the suite that changes after start-up: a signal handler may touch nothing else. */
#include "stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop_flag;

static void stop_handler(int signal_number)
{
    (void)signal_number;
    stop_flag = 1;
    signal(SIGINT, SIG_DFL); /* the next one, of any kind, kills */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

static void stop_catch_one(int signal_number)
{
    struct sigaction old, action = {.sa_handler = stop_handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal_number, &action, NULL);
}

void stop_catch(void)
{
    stop_catch_one(SIGINT);
    stop_catch_one(SIGTERM);
    stop_catch_one(SIGHUP); /* the terminal was closed, or its line was cut */
}

bool stop_requested(void) { return stop_flag != 0; }
