/* expect hint: a long hypothesis must come nearer to 0 */
#define hypothesis_score right_hypothesis_score
#include "course/solutions/14-translating.c"
#undef hypothesis_score

/* Times the penalty: log p is below 0, so this makes long ones worse still. */
double hypothesis_score(double log_p, size_t n, double alpha) { return log_p * pow((5 + (double)n) / 6, alpha); }
