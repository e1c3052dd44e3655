/* What this program was built from. The Makefile says it in macros, to this file alone. */
#include "core/cli/version.h"

const char *attend_version(void) { return ATTEND_VERSION; }

const char *attend_compiler(void)
{
#ifdef __clang__
    return __VERSION__; /* "Debian Clang 14.0.6" */
#else
    return "gcc " __VERSION__;
#endif
}

const char *attend_libraries(void) { return *ATTEND_LIBRARIES ? ATTEND_LIBRARIES : "none"; }
