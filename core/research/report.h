/* A comparison as a table: to read, to paste, to compute with, or to draw. */
#ifndef CORE_RESEARCH_REPORT_H
#define CORE_RESEARCH_REPORT_H

#include "core/research/compare.h"

typedef enum ReportFormat { REPORT_TEXT, REPORT_TSV, REPORT_CSV, REPORT_MARKDOWN, REPORT_LATEX } ReportFormat;

/* TSV has all digits, and each seed's value; CSV only these, a line for each run. The others have two digits of the
 * smallest standard deviation. LaTeX needs the package booktabs. */
void report_write(Buffer *b, const Comparison *c, ReportFormat format);

/* The data of plots/compare.gp: each run's value, then each group's mean and interval. */
void report_picture(Buffer *b, const Comparison *c);

/* The data of plots/over.gp, of a comparison whose table names an option: for each row a block of lines, the option's
 * value, the mean and its interval. False: no value is a number. */
bool report_lines(Buffer *b, const Comparison *c);

#endif
