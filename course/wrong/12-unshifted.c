/* expect hint: a decoder that reads what it is to say has nothing to learn */
#define teacher_forcing right_teacher_forcing
#include "course/solutions/12-translator.c"
#undef teacher_forcing

/* The decoder reads the token that it is to say. */
void teacher_forcing(int32_t *read, int32_t *position, const int32_t *say, const int32_t *start, size_t rows,
                     int32_t begin)
{
    right_teacher_forcing(read, position, say, start, rows, begin);
    for (int32_t i = 0; i < start[rows]; i++)
        read[i] = say[i];
}
