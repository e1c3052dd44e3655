/* What this program was built from: what a run directory and --version say about it. */
#ifndef CORE_CLI_VERSION_H
#define CORE_CLI_VERSION_H

const char *attend_version(void);   /* "0.1", or what git says: "3f2a91c-dirty" */
const char *attend_compiler(void);  /* "gcc 12.2.0", "Debian Clang 14.0.6" */
const char *attend_libraries(void); /* "oneDNN 2.6.3 libarchive 3.6.2", or "none" */
#endif
