/* Every operation of the table in kernels.h: its name, its arguments with their types, and their names again. This is
 * the one list: the table's members, each backend's table, the names and wrappers of kernels/cost and kernels/profile,
 * and the check of docs/operations.md are made from it. Define OPERATION(name, arguments, names) before including it;
 * it is undefined at the end. OPTIONAL_OPERATION is the same unless you define it: a backend may lack these operations.
 *
 * Signatures follow one grammar, after the stream that an operation runs on:
 *
 *     forward:  outputs, what is saved for the backward pass, inputs, sizes
 *     backward: input gradients, parameter gradients, output gradient, saved, inputs, sizes
 *
 * Each input gradient is a pointer (NULL: not wanted) with a flag `add`: the gradient is added to what is there
 * instead of overwriting it. Parameter gradients are always added to. kernels.h says what letters and types mean. */
#ifndef OPTIONAL_OPERATION
#define OPTIONAL_OPERATION OPERATION
#endif

/* clang-format would lay out the arguments as an expression. */
/* clang-format off */

/* Bytes that move on the device, and bytes that become 0. */
OPERATION(copy, (Stream *s, void *to, const void *from, size_t bytes), (s, to, from, bytes))
OPERATION(zero, (Stream *s, void *to, size_t bytes), (s, to, bytes))

/* y [N,D] = dropout(scale * table[ids] + positions[position]). table [V,D] and positions [C,D] are real; positions may
 * be NULL. position [N] is the index within the row; where it is negative y is 0.
 * Backward: slots [N] says which row of dtable a position adds to: its id or, if the gradient holds only the rows
 * that are used, the rank of its row among them. dpositions may be NULL. */
OPERATION(embed_forward,
          (Stream *s, void *y, const int32_t *ids, const int32_t *position, const void *table, const void *positions,
           double scale, Dropout drop, const StepState *state, size_t n, size_t d),
          (s, y, ids, position, table, positions, scale, drop, state, n, d))
OPERATION(embed_backward,
          (Stream *s, void *dtable, void *dpositions, const void *dy, const int32_t *slots, const int32_t *position,
           double scale, Dropout drop, const StepState *state, size_t n, size_t d),
          (s, dtable, dpositions, dy, slots, position, scale, drop, state, n, d))

/* y [N,O] = x [N,I] w [O,I]^T + bias [O] (real; NULL: none), then ReLU if asked. real_output: y is real (logits).
 * Backward: with relu, dy [N,O] is overwritten, and y is read. dw [O,I] and dbias [O] may be NULL. */
OPERATION(linear_forward,
          (Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias, bool relu, size_t n,
           size_t in, size_t out),
          (s, y, real_output, x, w, bias, relu, n, in, out))
OPERATION(linear_backward,
          (Stream *s, void *dx, bool add, void *dw, void *dbias, void *dy, const void *y, const void *x, const void *w,
           bool relu, size_t n, size_t in, size_t out),
          (s, dx, add, dw, dbias, dy, y, x, w, relu, n, in, out))

/* linear_forward in whole numbers of 8 bits, for inference: rows of x and of w are rounded to 127 steps either way. */
OPTIONAL_OPERATION(linear_int8,
                   (Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias, bool relu,
                    size_t n, size_t in, size_t out),
                   (s, y, real_output, x, w, bias, relu, n, in, out))

/* y [N,D] = (x - mean) * rstd * gain + bias for each vector of x [N,D]. Saves mean [N], rstd [N] (real).
 * mean NULL: it counts as 0 (RMSNorm). bias and dbias NULL: there is none. */
OPERATION(norm_forward,
          (Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
           double epsilon, size_t n, size_t d),
          (s, y, mean, rstd, x, gain, bias, epsilon, n, d))
OPERATION(norm_backward,
          (Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean, const void *rstd,
           const void *x, const void *gain, size_t n, size_t d),
          (s, dx, add, dgain, dbias, dy, mean, rstd, x, gain, n, d))

/* y [N,D] = x + dropout(f). x NULL: dropout alone. */
OPERATION(add_forward,
          (Stream *s, void *y, const void *x, const void *f, Dropout drop, const StepState *state, size_t n, size_t d),
          (s, y, x, f, drop, state, n, d))
OPERATION(add_backward,
          (Stream *s, void *dx, bool add_x, void *df, bool add_f, const void *dy, Dropout drop, const StepState *state,
           size_t n, size_t d),
          (s, dx, add_x, df, add_f, dy, drop, state, n, d))

/* The two above in one pass: sum [N,D] = x + dropout(f), y = norm(sum). Saves sum, mean, rstd. */
OPERATION(add_norm_forward,
          (Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f, Dropout drop,
           const StepState *state, const void *gain, const void *bias, double epsilon, size_t n, size_t d),
          (s, y, sum, mean, rstd, x, f, drop, state, gain, bias, epsilon, n, d))
OPERATION(add_norm_backward,
          (Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias, const void *dy,
           const void *sum, const void *mean, const void *rstd, Dropout drop, const StepState *state, const void *gain,
           size_t n, size_t d),
          (s, dx, add_x, df, add_f, dgain, dbias, dy, sum, mean, rstd, drop, state, gain, n, d))

/* y = function(x), element by element. */
OPERATION(activation_forward, (Stream *s, void *y, const void *x, Activation function, size_t n),
          (s, y, x, function, n))
OPERATION(activation_backward,
          (Stream *s, void *dx, bool add, const void *dy, const void *x, Activation function, size_t n),
          (s, dx, add, dy, x, function, n))

/* y [n] = cap tanh(x / cap), all real (Gemma 2, 2024: of logits). y may be x. Backward: dx and dy are numbers; dx may
 * be dy. */
OPERATION(softcap_forward, (Stream *s, void *y, const void *x, double cap, size_t n), (s, y, x, cap, n))
OPERATION(softcap_backward, (Stream *s, void *dx, bool add, const void *dy, const void *y, double cap, size_t n),
          (s, dx, add, dy, y, cap, n))

/* y [N, H*dv] = weights v, weights = dropout(softmax(scores over the keys a query sees)), for each head, and
 *     score = scale ((q + content_bias) . k + (q + position_bias) . relative[e]) + distance_bias[e]
 * with e the table entry for the distance. q [N, H*dk], k [keys, G*dk], v [keys, G*dv]: with G < H heads of keys and
 * values, each is read by H/G heads of queries. A query that sees no key gives 0, and so does a position that belongs
 * to no row. A key whose score is -infinity counts as not seen. Saves lse [N,H] (real), the logarithm of each softmax's
 * denominator.
 * Backward: dk, dv and the gradient of `relative` are written in full; keys that no query sees get 0. */
OPERATION(attention_forward,
          (Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how, const StepState *state),
          (s, y, lse, q, k, v, how, state))
OPERATION(attention_backward,
          (Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse, Strided q, Strided k,
           Strided v, const Attend *how, const StepState *state),
          (s, d, dy, y, lse, q, k, v, how, state))

/* One more score for each head, sink [H] (real), of a key whose value is 0. Its share is taken from the results of
 * attention_forward in y, lse and how->weights. Backward: dsink, from the new y and lse, which attention_backward
 * uses, too. */
OPERATION(sink_forward, (Stream *s, void *y, void *lse, const void *sink, const Attend *how), (s, y, lse, sink, how))
OPERATION(sink_backward,
          (Stream *s, void *dsink, const void *dy, const void *y, const void *lse, const void *sink,
           const Attend *how),
          (s, dsink, dy, y, lse, sink, how))

/* Adaptive span: bias [distances, H] (real) = given (NULL: 0) + log of the part of a key's weight that is left at each distance
 * |e - ahead| from a head's query: 1 up to z reach, for z [H] (real) kept within 0 .. 1, and then falling to 0 over `ramp`
 * distances. Backward: dz is added to, and gets penalty times the sign of z as well, in the first micro-batch of a step. */
OPERATION(span_forward,
          (Stream *s, void *bias, const void *given, const void *z, double reach, double ramp, size_t ahead,
           size_t distances, size_t heads),
          (s, bias, given, z, reach, ramp, ahead, distances, heads))
OPERATION(span_backward,
          (Stream *s, void *dz, const void *dbias, const void *z, const StepState *state, double penalty, double reach,
           double ramp, size_t ahead, size_t distances, size_t heads),
          (s, dz, dbias, z, state, penalty, reach, ramp, ahead, distances, heads))

/* Keys and values of earlier positions. cache [rows, capacity, D], length [B] valid so far; row b of x is appended to
 * row b, and must fit.
 * cache_lengths: valid [B] = length + positions of each row. cache_append: writes x's rows after `length`. */
OPERATION(cache_lengths, (Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b),
          (s, valid, length, start, b))
OPERATION(cache_append,
          (Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x, const int32_t *start, size_t b,
           size_t d),
          (s, cache, length, capacity, x, start, b, d))

/* y = a b, element by element. */
OPERATION(mul_forward, (Stream *s, void *y, const void *a, const void *b, size_t n), (s, y, a, b, n))
OPERATION(mul_backward,
          (Stream *s, void *da, bool add_a, void *db, bool add_b, const void *dy, const void *a, const void *b,
           size_t n),
          (s, da, add_a, db, add_b, dy, a, b, n))

/* y [N,D] = x[index[n]], 0 where index is negative. Backward: dx [M,D]; what several n read is summed in their
 * order, and rounded once. */
OPERATION(gather_forward, (Stream *s, void *y, const void *x, const int32_t *index, size_t n, size_t d),
          (s, y, x, index, n, d))
OPERATION(gather_backward,
          (Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m, size_t d),
          (s, dx, add, dy, index, n, m, d))

/* Numbers are copied, or added to what is there: y [N,D] (+)= x [N,D], and y [D,N] (+)= x [N,D]^T.
 * Backward is the same operation in the other direction. */
OPERATION(move, (Stream *s, Strided y, bool add, Strided x, size_t n, size_t d), (s, y, add, x, n, d))
OPERATION(transpose, (Stream *s, Strided y, bool add, Strided x, size_t n, size_t d), (s, y, add, x, n, d))

/* y [B,D] = the first vector of each row of x [N,D], their mean, or the largest number in each column; an empty row
 * gives 0. Largest: of equal numbers the first, NaN above all. It saves which [B,D], the position that each number
 * came from, -1 for none; first and mean do not touch it. Backward: positions that belong to no row get no gradient. */
OPERATION(pool_forward,
          (Stream *s, void *y, int32_t *which, const void *x, Pooling how, const int32_t *start, size_t b, size_t d),
          (s, y, which, x, how, start, b, d))
OPERATION(pool_backward,
          (Stream *s, void *dx, bool add, const void *dy, const int32_t *which, Pooling how, const int32_t *start,
           size_t b, size_t n, size_t d),
          (s, dx, add, dy, which, how, start, b, n, d))

/* The parts of attention, one at a time (--attention composed).
 * pad: y [B,T,D] = row row[b] (NULL: b) of x, zeros past its end. unpad: the inverse; rows that share a row of x
 * are summed. product: c (+)= alpha a b, c [m,n], a [m,k], b [k,n], for each outer and inner.
 * mask: scores [B,H,T,S] become -infinity where a query does not see a key.
 * keep_largest: all but the k largest of each row of x [N,S] become -infinity; equal ones all stay, and so does NaN.
 * softmax: over the last dimension of [N,S]; a row of -infinities gives zeros.
 * dropout_weights: drops weights [B,H,T,S] as attention does; it is its own backward. */
OPERATION(pad, (Stream *s, void *y, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d),
          (s, y, x, start, row, b, t, d))
OPERATION(unpad,
          (Stream *s, Strided y, bool add, const void *x, const int32_t *start, const int32_t *row, size_t b, size_t n,
           size_t t, size_t d),
          (s, y, add, x, start, row, b, n, t, d))
OPERATION(product,
          (Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner, size_t m,
           size_t n, size_t k),
          (s, c, add, a, b, alpha, outer, inner, m, n, k))
OPERATION(mask, (Stream *s, void *scores, const Attend *how), (s, scores, how))
OPERATION(keep_largest, (Stream *s, void *x, size_t n, size_t columns, size_t k), (s, x, n, columns, k))
OPERATION(softmax_forward, (Stream *s, void *y, const void *x, size_t n, size_t columns), (s, y, x, n, columns))
OPERATION(softmax_backward, (Stream *s, void *dx, bool add, const void *dy, const void *y, size_t n, size_t columns),
          (s, dx, add, dy, y, n, columns))
OPERATION(dropout_weights, (Stream *s, void *y, bool add, const void *x, const Attend *how, const StepState *state),
          (s, y, add, x, how, state))

/* A mixture of experts: positions and their k experts of E, k <= E. slots [M] are one for each choice, M = N k, sorted by
 * expert and then by position.
 * route: of scores [N,E] (real) the k largest, of equal ones the first: expert [N,k], ascending; slot [N,k] of each; from [M],
 * the position of each slot; start [E+1] of each expert's slots. weights [N,k] = softmax of the chosen scores; where k is 1
 * the chosen one's share of the softmax of all.
 * experts: y [M,O] = x [M,I] w_e^T, w_e [O,I] of each slot's expert; w [E*O,I]. Backward: dy as it is.
 * load_loss: losses [N] (real) = a E / (k T) S / T sum over e of c_e softmax(scores)_e, c_e the choices of e in a row of T
 * positions, S its targets, which scored [B+1] counts like start (NULL: T); 0 for positions of no row.
 * state->loss[which].sum gains their sum. Saves factors [B,E] (real), a E c_e / (k T) S / T. */
OPERATION(route_forward,
          (Stream *s, void *weights, int32_t *expert, int32_t *slot, int32_t *from, int32_t *start, const void *scores,
           size_t n, size_t experts, size_t k),
          (s, weights, expert, slot, from, start, scores, n, experts, k))
OPERATION(route_backward,
          (Stream *s, void *dscores, bool add, const void *dweights, const int32_t *expert, const void *scores, size_t n,
           size_t experts, size_t k),
          (s, dscores, add, dweights, expert, scores, n, experts, k))
OPERATION(experts_forward,
          (Stream *s, void *y, const void *x, const void *w, const int32_t *start, size_t m, size_t in, size_t out,
           size_t experts),
          (s, y, x, w, start, m, in, out, experts))
OPERATION(experts_backward,
          (Stream *s, void *dx, bool add, void *dw, void *dy, const void *x, const void *w, const int32_t *start,
           size_t m, size_t in, size_t out, size_t experts),
          (s, dx, add, dw, dy, x, w, start, m, in, out, experts))
OPERATION(load_loss_forward,
          (Stream *s, void *losses, void *factors, StepState *state, size_t which, const void *scores,
           const int32_t *expert, double a, const int32_t *start, const int32_t *scored, size_t b, size_t n,
           size_t experts, size_t k),
          (s, losses, factors, state, which, scores, expert, a, start, scored, b, n, experts, k))
OPERATION(load_loss_backward,
          (Stream *s, void *dscores, bool add, const StepState *state, size_t which, const void *factors,
           const void *scores, const int32_t *start, size_t b, size_t n, size_t experts),
          (s, dscores, add, state, which, factors, scores, start, b, n, experts))

/* losses [N] (real) = -log softmax(logits [N,V])[target], in nats, 0 where target is negative; with smoothing e the
 * target's share is 1 - e, and e is spread over all V (the target included). To state->loss[which] are added
 * their sum, nll (the same sum without smoothing) and their count. Saves lse [N].
 * Backward starts from state->loss[which].scale; logits are real, dlogits are numbers. */
OPERATION(cross_entropy_forward,
          (Stream *s, void *losses, void *lse, StepState *state, size_t which, const void *logits,
           const int32_t *targets, double smoothing, size_t n, size_t v),
          (s, losses, lse, state, which, logits, targets, smoothing, n, v))
OPERATION(cross_entropy_backward,
          (Stream *s, void *dlogits, bool add, const StepState *state, size_t which, const void *lse,
           const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v),
          (s, dlogits, add, state, which, lse, logits, targets, smoothing, n, v))

/* z loss (Chowdhery et al. 2022): adds z lse^2 to losses [N] and to state->loss[which].sum, which keeps lse near 0.
 * lse [N] is that of cross_entropy_forward, so it is 0 where nothing is scored. */
OPERATION(z_loss_forward,
          (Stream *s, void *losses, StepState *state, size_t which, const void *lse, double z, size_t n),
          (s, losses, state, which, lse, z, n))
OPERATION(z_loss_backward,
          (Stream *s, void *dlogits, bool add, const StepState *state, size_t which, const void *lse,
           const void *logits, double z, size_t n, size_t v),
          (s, dlogits, add, state, which, lse, logits, z, n, v))

/* R-Drop (Liang et al. 2021): losses [N] (real) = c/2 (KL(p, q) + KL(q, p)) of the softmaxes of logits x and z [N,V] (real), 0
 * where the target is negative. state->loss[which].sum gains their sum. Saves saved [N,4] (real). */
OPERATION(agreement_forward,
          (Stream *s, void *losses, void *saved, StepState *state, size_t which, const void *x, const void *z,
           const int32_t *targets, double c, size_t n, size_t v),
          (s, losses, saved, state, which, x, z, targets, c, n, v))
OPERATION(agreement_backward,
          (Stream *s, void *dx, bool add_x, void *dz, bool add_z, const StepState *state, size_t which,
           const void *saved, const void *x, const void *z, const int32_t *targets, double c, size_t n, size_t v),
          (s, dx, add_x, dz, add_z, state, which, saved, x, z, targets, c, n, v))

/* y [N] = the class with the largest of logits [N,V], V > 0: of equal ones the first, NaN above all. */
OPERATION(argmax, (Stream *s, int32_t *y, const void *logits, size_t n, size_t v), (s, y, logits, n, v))

/* For each row of logits [N,V], V > 0: the k likeliest classes, which [N,k] (of equal ones the first), and their log
 * softmax, values [N,k] (real, at most 0); one [N] (real) is the log softmax of the class `wanted`. NaN and -infinity
 * cannot be chosen: if no class is left, `which` is -1 and the value -infinity. Infinity counts as the largest
 * finite number. */
OPERATION(choices,
          (Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t wanted, size_t n, size_t v,
           size_t k),
          (s, which, values, one, logits, wanted, n, v, k))

/* The optimizer, over any part of the block of parameters.
 * accumulate: to += from (real). convert: numbers from reals. widen: reals from numbers. clamp: w (real)
 * that is less than `low` or more than `high` becomes that. squares: parts[i] = sum of squares of chunk i.
 * clip: norm, clip and finite in state from all parts; max_norm 0: no limit.
 * adam: w, m, v from g times state->clip, for weights first .. first+n-1 of the block (pointers are to the block's
 * beginning); copy: w as numbers, or NULL. If beta2 is 1, v may be NULL: it is 0 and stays 0. Spans are sorted and do
 * not overlap. */
OPERATION(accumulate, (Stream *s, void *to, const void *from, size_t n), (s, to, from, n))
OPERATION(convert, (Stream *s, void *numbers, const void *reals, size_t n), (s, numbers, reals, n))
OPERATION(widen, (Stream *s, void *reals, const void *numbers, size_t n), (s, reals, numbers, n))
OPERATION(clamp, (Stream *s, void *w, double low, double high, size_t n), (s, w, low, high, n))
OPERATION(squares, (Stream *s, double *parts, const void *g, size_t n), (s, parts, g, n))
OPERATION(clip, (Stream *s, StepState *state, const double *parts, size_t count, double max_norm),
          (s, state, parts, count, max_norm))
OPERATION(adam,
          (Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam adam,
           const Span *spans, size_t span_count, size_t first, size_t n),
          (s, w, copy, m, v, g, state, adam, spans, span_count, first, n))

/* Lion, for rows first .. first+n-1 of a parameter [V,D]: w -= learning_rate (sign(beta1 m + (1 - beta1) g) + decay w),
 * m = beta2 m + (1 - beta2) g, where row r's gradient is row slots[r] of g, and 0 if slots[r] is negative; slots [V]
 * NULL: row r. copy: w as numbers, or NULL. */
OPERATION(lion,
          (Stream *s, void *w, void *copy, void *m, const void *g, const int32_t *slots, const StepState *state,
           Adam adam, double decay, size_t first, size_t n, size_t d),
          (s, w, copy, m, g, slots, state, adam, decay, first, n, d))

/* Muon, for the n weights of one matrix (pointers are to its beginning).
 * momentum: m = momentum m + (1 - momentum) g state->clip, and g becomes (1 - momentum) g state->clip + momentum m
 * (Nesterov). unit: x [n] (numbers) = g / sqrt(sum of parts), or 0 if that sum is 0.
 * descend: w -= learning_rate (scale x + decay w); copy: w as numbers, or NULL. */
OPERATION(momentum, (Stream *s, void *m, void *g, const StepState *state, double momentum, size_t n),
          (s, m, g, state, momentum, n))
OPERATION(unit, (Stream *s, void *x, const void *g, const double *parts, size_t count, size_t n),
          (s, x, g, parts, count, n))
OPERATION(descend,
          (Stream *s, void *w, void *copy, const void *x, const StepState *state, double scale, double decay, size_t n),
          (s, w, copy, x, state, scale, decay, n))

/* Adafactor, for a parameter [V,D] whose gradient is g [V,D] or, with slots [V] as in `lion`, [used,D]; a vector is [V,1].
 * factors: v [V+D], the second moments' means of rows and of columns, gain a share state->correction2 of this step's,
 * with `tiny` added to each square; g becomes u = g / sqrt(row column / mean(columns)).
 * adafactor: w -= learning_rate (max(least, rms(w)) u / max(1, rms(u)) + decay w), where `weights` and `updates` are the
 * parts that `squares` has made of w and of u; copy: w as numbers, or NULL. */
OPERATION(factors,
          (Stream *s, void *v, void *g, const int32_t *slots, const StepState *state, double tiny, size_t rows,
           size_t used, size_t d),
          (s, v, g, slots, state, tiny, rows, used, d))
OPERATION(adafactor,
          (Stream *s, void *w, void *copy, const void *u, const double *weights, const double *updates,
           const int32_t *slots, const StepState *state, double least, double decay, size_t rows, size_t used, size_t d),
          (s, w, copy, u, weights, updates, slots, state, least, decay, rows, used, d))

/* Adam for rows first .. first+n-1 of a table [V,D] of which a step reads few: g [used,D] holds gradients only of the
 * rows that it read. The gradient of row r is row slots[r] of g, and 0 if slots[r] is negative.
 * A device that has adam_flush takes lazy [V], or NULL: it skips a row that was not read if the step would leave every
 * bit of its weights as it is, and counts the steps that the row has skipped. adam_flush lets the moments of these rows
 * fade by the skipped steps. */
OPERATION(adam_rows,
          (Stream *s, void *w, void *m, void *v, LazyRow *lazy, const void *g, const int32_t *slots,
           const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d),
          (s, w, m, v, lazy, g, slots, state, adam, decay, first, n, d))
OPTIONAL_OPERATION(adam_flush,
                   (Stream *s, void *m, void *v, LazyRow *lazy, Adam adam, size_t first, size_t n, size_t d),
                   (s, m, v, lazy, adam, first, n, d))

#undef OPERATION
#undef OPTIONAL_OPERATION
