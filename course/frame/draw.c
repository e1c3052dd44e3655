/* See draw.h. */
#include "course/frame/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WIDTH = 64, HEIGHT = 18 }; /* of a drawing of text */

static const char *const colours[] = {"#0b5394", "#b45f06", "#38761d", "#741b47", "#45818e", "#7f6000"};

bool lesson_is_fast(void)
{
    const char *fast = getenv("FAST");
    return fast && *fast && strcmp(fast, "0") != 0;
}

uint32_t lesson_seed(uint32_t usual)
{
    const char *other = getenv("SEED");
    const unsigned long n = other ? strtoul(other, NULL, 10) : 1;
    return usual + (n ? 1000 * (uint32_t)(n - 1) : 0);
}

void section(const char *title) { printf("\n---- %s\n\n", title); }

/* Letters, where a name may hold more than ASCII: bytes that do not continue one */
static int letters(const char *name)
{
    int n = 0;
    for (; name && *name; name++)
        n += ((unsigned char)*name & 0xc0) != 0x80;
    return n;
}

static int longest(const char *const *names, size_t n)
{
    int most = 0;
    for (size_t i = 0; names && i < n; i++)
        most = letters(names[i]) > most ? letters(names[i]) : most;
    return most;
}

/* A name on the right of its column */
static void print_name(const char *name, int width) { printf("%*s%s", width - letters(name), "", name ? name : ""); }

/* ---- gnuplot */

/* A string as gnuplot writes it */
static void quoted(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++)
        fprintf(to, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', to);
}

static void setting(FILE *to, const char *what, const char *text)
{
    fprintf(to, "set %s ", what);
    quoted(to, text);
    fputc('\n', to);
}

/* A pipe to gnuplot that draws build/course/NAME.png; NULL: there is none, and there will be no picture. */
static FILE *picture(const char *name, const char *title, int width, int height)
{
    mkdir("build", 0777), mkdir("build/course", 0777);
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        return NULL;
    FILE *to = popen("LC_ALL= LC_CTYPE=C.UTF-8 gnuplot 2>/dev/null", "w");
    if (to) {
        fprintf(to,
                "set terminal pngcairo size %d,%d font 'sans,11' noenhanced\nset output 'build/course/%s.png'\n"
                "set border 3 lc rgb '#666666'\nset tics nomirror\nset key below spacing 1.2 height 0.8\n",
                width, height, name);
        setting(to, "title", title);
    }
    return to;
}

static void close_picture(FILE *to, const char *name)
{
    if (to && pclose(to) == 0)
        printf("  picture: build/course/%s.png\n", name);
    printf("\n");
}

/* Tics with names in their places */
static void name_tics(FILE *to, char axis, const char *const *names, size_t n)
{
    fprintf(to, "set %ctics %s(", axis, axis == 'x' ? "rotate by 60 right " : "");
    for (size_t i = 0; names && i < n; i++) {
        fputs(i ? ", " : "", to);
        quoted(to, names[i]);
        fprintf(to, " %zu", i);
    }
    fprintf(to, ")\n");
}

/* ---- matrices */

void print_matrix(const char *title, const float *x, size_t rows, size_t columns, const char *const *row_names,
                  const char *const *column_names)
{
    int left = longest(row_names, rows), width = longest(column_names, columns);
    width = width < 6 ? 7 : width + 1;
    printf("  %s\n", title);
    if (column_names) {
        printf("  %*s", left, "");
        for (size_t j = 0; j < columns; j++)
            print_name(column_names[j], width);
        printf("\n");
    }
    for (size_t i = 0; i < rows; i++) {
        printf("  ");
        print_name(row_names ? row_names[i] : "", left);
        for (size_t j = 0; j < columns; j++)
            printf("%*.2f", width, rint(100 * (double)x[i * columns + j]) / 100 + 0.0); /* no -0.00 */
        printf("\n");
    }
    printf("\n");
}

/* 1, 2 or 5 times a power of ten, so that an axis from 0 to `most` has two to seven steps of it */
static double tic_step(double most)
{
    const double tens = pow(10, floor(log10(most > 0 ? most / 2 : 1)));
    return most / tens > 12 ? 5 * tens : most / tens > 6 ? 2 * tens : tens;
}

static float largest(const float *x, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = isfinite(x[i]) && x[i] > most ? x[i] : most;
    return most;
}

static void picture_of_matrix(const char *name, const char *title, const float *x, size_t rows, size_t columns,
                              const char *const *row_names, const char *const *column_names)
{
    FILE *to = picture(name, title, 260 + 26 * (int)(columns < 40 ? columns : 40),
                       180 + 26 * (int)(rows < 40 ? rows : 40));
    if (to) {
        name_tics(to, 'x', column_names, columns);
        name_tics(to, 'y', row_names, rows);
        fprintf(
            to,
            "set palette defined (0 '#ffffff', 1 '#0b5394')\nset yrange [:] reverse\nset cbrange [0:]\nset cbtics %g\n"
            "set autoscale xfix\nset autoscale yfix\nplot '-' matrix with image notitle\n",
            tic_step((double)largest(x, rows * columns)));
        for (size_t i = 0; i < rows * columns; i++)
            fprintf(to, "%g%c", isfinite(x[i]) ? (double)x[i] : 0, (i + 1) % columns ? ' ' : '\n');
        fprintf(to, "e\n");
    }
    close_picture(to, name);
}

void draw_matrix(const char *name, const char *title, const float *x, size_t rows, size_t columns,
                 const char *const *row_names, const char *const *column_names)
{
    static const char shades[] = " .:-=+*#%@";
    float most = largest(x, rows * columns);
    int left = longest(row_names, rows);
    printf("  %s (blank: 0, @: %.2f)\n", title, (double)most);
    for (size_t i = 0; i < rows; i++) {
        printf("  ");
        print_name(row_names ? row_names[i] : "", left);
        printf(" |");
        for (size_t j = 0; j < columns; j++) {
            float share = most > 0 && x[i * columns + j] > 0 ? x[i * columns + j] / most : 0;
            char shade = shades[(int)(share * 9 + 0.5f)];
            printf("%c%c", shade, shade);
        }
        printf("|\n");
    }
    picture_of_matrix(name, title, x, rows, columns, row_names, column_names);
}

/* ---- a plane of text */

typedef struct Plane {
    char text[HEIGHT][WIDTH + 1];
    double left, right, low, high;
    bool log_x, log_y;
} Plane;

static double on_axis(double x, bool log) { return log ? x > 0 ? log10(x) : NAN : x; }

static void reach(Plane *p, double x, double y)
{
    x = on_axis(x, p->log_x), y = on_axis(y, p->log_y);
    if (!isfinite(x) || !isfinite(y))
        return;
    p->left = fmin(p->left, x), p->right = fmax(p->right, x);
    p->low = fmin(p->low, y), p->high = fmax(p->high, y);
}

static Plane plane(const Plot *plot)
{
    Plane p = {.left = INFINITY,
               .right = -INFINITY,
               .low = INFINITY,
               .high = -INFINITY,
               .log_x = plot->log_x,
               .log_y = plot->log_y};
    for (int i = 0; i < HEIGHT; i++)
        memset(p.text[i], ' ', WIDTH);
    return p;
}

/* The column and row of a point; false: it is not in the plane. */
static bool place(const Plane *p, double x, double y, int *column, int *row)
{
    x = on_axis(x, p->log_x), y = on_axis(y, p->log_y);
    if (!isfinite(x) || !isfinite(y))
        return false;
    *column = p->right > p->left ? (int)lround((x - p->left) / (p->right - p->left) * (WIDTH - 1)) : 0;
    *row = p->high > p->low ? HEIGHT - 1 - (int)lround((y - p->low) / (p->high - p->low) * (HEIGHT - 1)) : HEIGHT / 2;
    return true;
}

static double value(double x, bool log) { return log ? pow(10, x) : x; }

static void print_plane(const Plane *p, const Plot *plot)
{
    printf("  %s\n  %s%s\n", plot->title, plot->y, p->log_y ? " (logarithmic)" : "");
    for (int i = 0; i < HEIGHT; i++) {
        int size = WIDTH;
        while (size > 0 && p->text[i][size - 1] == ' ')
            size--;
        if (i == 0 || i == HEIGHT - 1)
            printf("  %8.3g |%.*s\n", value(i ? p->low : p->high, p->log_y), size, p->text[i]);
        else
            printf("  %8s |%.*s\n", "", size, p->text[i]);
    }
    printf("  %8s +", "");
    for (int i = 0; i < WIDTH; i++)
        printf("-");
    printf("\n  %8s  %-*.3g%*.3g\n  %8s  %s%s\n", "", WIDTH / 2, value(p->left, p->log_x), WIDTH - WIDTH / 2,
           value(p->right, p->log_x), "", plot->x, p->log_x ? " (logarithmic)" : "");
}

/* An axis of logarithms. gnuplot writes powers of ten alone, of which a short axis has one or two; so: 1, 2, 5, 10, ... */
static void log_axis(FILE *to, char axis, double low, double high)
{
    fprintf(to, "set logscale %c\nset format %c '%%g'\n", axis, axis);
    if (!(high > low))
        return;
    const double room = (high - low) / 100;
    fprintf(to, "set %crange [%g:%g]\n", axis, pow(10, low - room), pow(10, high + room));
    if (high - low > 4)
        return;
    fprintf(to, "set %ctics (", axis);
    for (int tens = (int)floor(low); tens <= (int)ceil(high); tens++)
        for (int i = 0; i < 3; i++) {
            const double tic = pow(10, tens) * (i == 0 ? 1 : i == 1 ? 2 : 5);
            fprintf(to, "%s'%.6g' %g", tens > (int)floor(low) || i ? ", " : "", tic, tic);
        }
    fprintf(to, ")\n");
}

/* Where a few numbers were tried, these */
static void tics_at(FILE *to, const Curve *c)
{
    fprintf(to, "set xtics (");
    for (size_t i = 0; i < c->n; i++)
        fprintf(to, "%s'%g' %g", i ? ", " : "", (double)c->x[i], (double)c->x[i]);
    fprintf(to, ")\n");
}

static void picture_of_curves(const Plot *plot, const Plane *p, const Curve *curves, size_t count)
{
    FILE *to = picture(plot->name, plot->title, 800, 480);
    if (to) {
        setting(to, "xlabel", plot->x), setting(to, "ylabel", plot->y);
        fprintf(to, "set grid ytics lc rgb '#dddddd'\nset autoscale xfix\n");
        if (plot->log_x)
            log_axis(to, 'x', p->left, p->right);
        if (plot->log_x && count && curves->n <= 12)
            tics_at(to, curves);
        if (plot->log_y)
            log_axis(to, 'y', p->low, p->high);
        for (size_t i = 0; i < count; i++) {
            fprintf(to, "%s '-' with linespoints pt 7 ps 0.5 lw 2 lc rgb '%s' title ", i ? "," : "plot",
                    colours[i % 6]);
            quoted(to, curves[i].label);
        }
        fprintf(to, "\n");
        for (const Curve *c = curves; c < curves + count; c++) {
            for (size_t i = 0; i < c->n; i++)
                if (isfinite(c->x[i]) && isfinite(c->y[i]))
                    fprintf(to, "%g %g\n", (double)c->x[i], (double)c->y[i]);
            fprintf(to, "e\n");
        }
    }
    close_picture(to, plot->name);
}

void draw_curves(const Plot *plot, const Curve *curves, size_t count)
{
    Plane p = plane(plot);
    int column, row;
    for (const Curve *c = curves; c < curves + count; c++)
        for (size_t i = 0; i < c->n; i++)
            reach(&p, (double)c->x[i], (double)c->y[i]);
    for (const Curve *c = curves; c < curves + count; c++)
        for (size_t i = 0; i < c->n; i++)
            if (place(&p, (double)c->x[i], (double)c->y[i], &column, &row))
                p.text[row][column] = c->label[0];
    print_plane(&p, plot);
    for (const Curve *c = curves; c < curves + count; c++)
        printf("  %8s  %c: %s\n", "", c->label[0], c->label);
    picture_of_curves(plot, &p, curves, count);
}

static void picture_of_points(const Plot *plot, const float *points, const char *const *names, size_t n)
{
    FILE *to = picture(plot->name, plot->title, 800, 600);
    if (to) {
        setting(to, "xlabel", plot->x), setting(to, "ylabel", plot->y);
        fprintf(to,
                "set grid lc rgb '#dddddd'\nset offsets graph 0.05, graph 0.2, graph 0.05, graph 0.05\n"
                "plot '-' using 1:2 with points pt 7 lc rgb '%s' notitle, "
                "'-' using 1:2:3 with labels left offset 0.6,0.2 notitle\n",
                colours[0]);
        for (int turn = 0; turn < 2; turn++) {
            for (size_t i = 0; i < n; i++) {
                fprintf(to, "%g %g ", (double)points[2 * i], (double)points[2 * i + 1]);
                quoted(to, names[i]);
                fputc('\n', to);
            }
            fprintf(to, "e\n");
        }
    }
    close_picture(to, plot->name);
}

/* A name begins at its point, or ends there where the line would be too short; what is taken is not written over. */
static void write_name(Plane *p, const char *name, int column, int row)
{
    int size = (int)strlen(name);
    int from = column + size + 2 > WIDTH ? column - size - 1 : column + 2;
    p->text[row][column] = '*';
    for (int i = 0; i < size; i++)
        if (from + i >= 0 && from + i < WIDTH && p->text[row][from + i] == ' ')
            p->text[row][from + i] = name[i];
}

void draw_points(const Plot *plot, const float *points, const char *const *names, size_t n)
{
    Plane p = plane(plot);
    int column, row;
    for (size_t i = 0; i < n; i++)
        reach(&p, (double)points[2 * i], (double)points[2 * i + 1]);
    for (size_t i = 0; i < n; i++)
        if (place(&p, (double)points[2 * i], (double)points[2 * i + 1], &column, &row))
            write_name(&p, names[i], column, row);
    print_plane(&p, plot);
    picture_of_points(plot, points, names, n);
}
