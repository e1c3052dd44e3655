/* embed HEADER NAME <FILE     turns a file into C source, so that a program can carry it: NAME_text and NAME_size
 * embed HEADER NAME FILE...   the same of several: NAME, a table of Embedded {name, text, size} up to one without a
 * name
 *
 * Part of the build; HEADER declares what comes out, on standard output. A string literal compiles many times faster
 * than a list of numbers; every line of the file is one line of the literal. */
#include <stdio.h>
#include <string.h>

static int put(int c)
{
    if (c == '"' || c == '\\')
        return printf("\\%c", c);
    if (c >= ' ' && c <= '~' && c != '?') /* two question marks would begin a trigraph */
        return putchar(c);
    return printf("\\%03o", (unsigned)c);
}

/* The literal, between its quotes; and how many bytes it holds. */
static unsigned long put_all(FILE *f)
{
    unsigned long size = 0;
    printf("\"");
    for (int c; (c = getc(f)) != EOF; size++) {
        put(c);
        if (c == '\n')
            printf("\"\n    \"");
    }
    printf("\"");
    return size;
}

static int put_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "embed: cannot read %s\n", path);
        return 1;
    }
    printf("    {\"%s\",\n    ", slash ? slash + 1 : path);
    unsigned long size = put_all(f);
    printf(", %lu},\n", size);
    int bad = ferror(f);
    fclose(f);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: embed HEADER NAME <FILE, or embed HEADER NAME FILE...\n");
        return 2;
    }
    const char *name = argv[2];
    int bad = 0;
    printf("/* Made by tools/embed. */\n#include \"%s\"\n\n", argv[1]);
    if (argc == 3) {
        printf("const unsigned char %s_text[] =\n    ", name);
        unsigned long size = put_all(stdin);
        printf(";\n\nconst size_t %s_size = %lu;\n", name, size);
        return ferror(stdin) || fflush(stdout) != 0;
    }
    printf("const Embedded %s[] = {\n", name);
    for (int i = 3; i < argc && !bad; i++)
        bad = put_file(argv[i]);
    printf("    {NULL, NULL, 0}};\n");
    return bad || fflush(stdout) != 0;
}
