/* How lines of a configuration file are written; those of a sweep, too. */
#ifndef CORE_CLI_CONFIG_H
#define CORE_CLI_CONFIG_H

/* Cuts blanks off both ends, in place. */
char *config_trim(char *text);

/* Cuts off a comment: a # at the beginning of the line or after a blank, and what follows it. */
void config_cut_comment(char *line);

#endif
