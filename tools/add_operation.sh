#!/bin/sh
# tools/add_operation.sh: does CONTRIBUTING's recipe for a new operation hold? It follows the recipe in a scratch copy of
# this tree, with y = x^3 as the operation, and builds and tests it there.
set -eu
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$copy"
cd "$copy"

insert() { # insert FILE PATTERN TEXT: lines before the first that matches
    awk -v pattern="$2" -v text="$3" '!done && $0 ~ pattern { print text; done = 1 } { print }' "$1" >"$1.new"
    cmp -s "$1" "$1.new" && { echo "add_operation: $1 has no line like $2"; exit 1; }
    mv "$1.new" "$1"
}

# 1. the list
insert kernels/operations.h '^#undef OPERATION' '/* y = x^3, element by element. */
OPERATION(cube_forward, (Stream *s, void *y, const void *x, size_t n), (s, y, x, n))
OPERATION(cube_backward, (Stream *s, void *dx, bool add, const void *dy, const void *x, size_t n), (s, dx, add, dy, x, n))
'

# 2. plain, and what says that the others have none yet
cat >kernels/plain/cube.c <<'END'
/* y = x^3, element by element; dx = 3 x^2 dy. */

static void cube_forward(Stream *s, void *y_, const void *x_, size_t n)
{
    const Number *x = x_;
    Number *y = y_;
    (void)s;
    for (size_t i = 0; i < n; i++)
        y[i] = number(real(x[i]) * real(x[i]) * real(x[i]));
}

static void cube_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *x_, size_t n)
{
    const Number *dy = dy_, *x = x_;
    Number *dx = dx_;
    (void)s;
    for (size_t i = 0; i < n; i++)
        STORE(&dx[i], add, 3 * real(x[i]) * real(x[i]) * real(dy[i]));
}
END
sed -i "s/STORE/$(sed -n 's/^static void \([a-z_]*\)(Number \*gradient, bool add, Real value).*/\1/p' kernels/plain/plain.c)/" kernels/plain/cube.c
insert kernels/plain/plain.c 'include "argmax.c"' '#include "cube.c"'
for table in kernels/cpu/cpu.c kernels/cuda/cuda.cu; do
    insert $table 'include "kernels/operations.h"' '#define MISSING_cube_forward  0, NULL,
#define MISSING_cube_backward 0, NULL,'
done

# 3. its cost
insert kernels/cost/cost.c '^static const Kernels entries' 'static void cube_forward(Stream *s, void *y, const void *x, size_t n)
{
    (void)y, (void)x;
    count(s, AT_cube_forward, 0, 2 * n, 0);
}

static void cube_backward(Stream *s, void *dx, bool add, const void *dy, const void *x, size_t n)
{
    (void)dy, (void)x;
    count(s, AT_cube_backward, 0, n * (2 + written(dx, add)), 0);
}
'

# 4. a test: its values, its gradient by central differences, and plain's on a backend that has none
cat >tests/kernels/test_cube.c <<'END'
/* y = x^3. */
#include "kernels/kernels.h"
#include "tests/suite.h"

#include <math.h>

START_TEST(cubes_have_their_values_and_gradient)
{
    Error e;
    const Kernels *k = kernels_find("plain", NUMBER_F64, &e), *fast = kernels_find("cpu", NUMBER_F32, &e);
    Stream *s;
    double x[] = {-2, 0, 0.5, 3}, dy[] = {1, 1, -2, 1}, y[4], dx[4] = {1, 1, 1, 1}, above[4], below[4], h = 1e-5;
    ck_assert(k->open(&s, 1, &e));
    k->cube_forward(s, y, x, 4);
    k->cube_backward(s, dx, true, dy, x, 4);
    for (int i = 0; i < 4; i++) {
        double up = x[i] + h, down = x[i] - h;
        k->cube_forward(s, &above[i], &up, 1);
        k->cube_forward(s, &below[i], &down, 1);
        ck_assert_double_eq_tol(y[i], pow(x[i], 3), 1e-12);
        ck_assert_double_eq_tol(dx[i], 1 + dy[i] * (above[i] - below[i]) / (2 * h), 1e-6);
    }
    k->close(s);
    float one = 3, cube;
    ck_assert(fast->open(&s, 1, &e));
    fast->cube_forward(s, &cube, &one, 1);
    ck_assert(cube == 27);
    fast->close(s);
}

static const Test tests[] = {TEST(cubes_have_their_values_and_gradient)};

int main(int argc, char **argv) { return suite_run("kernels/cube", tests, sizeof tests / sizeof *tests, argc, argv); }
END

# 5. its row, without which the check must complain, by name
tools/operations.sh >said && { echo "add_operation: nobody missed the row in docs/operations.md"; exit 1; }
grep -q 'no row for the operation "cube_forward"' said
insert docs/operations.md '^[|] `mul_forward`' '| `cube_forward`, `cube_backward` | y = x³, element by element | n numbers | [cube](../kernels/plain/cube.c) | plain'"'"'s | |'
tools/operations.sh | grep -v 'nobody in column "used by"' && exit 1

make -s -j"$(getconf _NPROCESSORS_ONLN)" ARCH=native CFLAGS=-O1 ONEDNN=no LIBARCHIVE=no CUDA=no CXX17=no GNUPLOT=no test only=kernels/cube
