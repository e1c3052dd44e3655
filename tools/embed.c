/* embed NAME <FILE >NAME.c: turns a file into C source, so that a program can carry it: NAME_text and NAME_size.
 *
 * Part of the build. A string literal compiles many times faster than a list of numbers; every line of the file
 * is one line of the literal. */
#include <stdio.h>

static int put(int c)
{
    if (c == '"' || c == '\\')
        return printf("\\%c", c);
    if (c >= ' ' && c <= '~' && c != '?') /* two question marks would begin a trigraph */
        return putchar(c);
    return printf("\\%03o", (unsigned)c);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: embed NAME <FILE >NAME.c\n");
        return 2;
    }
    printf("/* Made by tools/embed. */\n#include \"charlm/%s.h\"\n\nconst unsigned char %s_text[] =\n    \"", argv[1],
           argv[1]);
    unsigned long size = 0;
    for (int c; (c = getchar()) != EOF; size++) {
        put(c);
        if (c == '\n')
            printf("\"\n    \"");
    }
    printf("\";\n\nconst size_t %s_size = %lu;\n", argv[1], size);
    return ferror(stdin) || fflush(stdout) != 0;
}
