/* Numbers that go to another place: columns of a matrix, and rows that become columns.
 *
 *     move       y[i,j] (+)= x[i,j]
 *     transpose  y[j,i] (+)= x[i,j] */

static void move(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            store_gradient((Number *)y.data + i * y.stride + j, add, real(((const Number *)x.data)[i * x.stride + j]));
}

static void transpose(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            store_gradient((Number *)y.data + j * y.stride + i, add, real(((const Number *)x.data)[i * x.stride + j]));
}
