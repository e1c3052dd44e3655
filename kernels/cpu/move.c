/* Numbers that go to another place. See kernels/plain/move.c. */

enum { SIDE = 16 }; /* of a square that stays in the first cache, whichever way it is read */

static void move(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    (void)s;
    for (size_t i = 0; i < n; i++) {
        Number *to = (Number *)y.data + i * y.stride;
        const Number *from = (const Number *)x.data + i * x.stride;
        if (!add)
            memcpy(to, from, d * sizeof *to);
        for (size_t j = 0; add && j < d; j += WIDTH)
            store_gradient(to + j, true, load(from + j, d - j), d - j);
    }
}

static void transpose(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    Number square[SIDE][SIDE];
    for (size_t i = 0; i < n; i += SIDE)
        for (size_t j = 0; j < d; j += SIDE) {
            size_t rows = n - i < SIDE ? n - i : SIDE, columns = d - j < SIDE ? d - j : SIDE;
            for (size_t r = 0; r < rows; r++)
                for (size_t c = 0; c < columns; c++)
                    square[c][r] = ((const Number *)x.data)[(i + r) * x.stride + j + c];
            Strided to = {(Number *)y.data + j * y.stride + i, y.stride};
            move(s, to, add, (Strided){square, SIDE}, columns, rows);
        }
}
