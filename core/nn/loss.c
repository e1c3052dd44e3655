/* See loss.h. */
#include "core/nn/loss.h"

#include "core/tensor/nonfinite.h"

typedef struct LossNode {
    Node node;
    Tensor *logits;
    const int32_t *targets;
    void *lse;
    double smoothing, z;
    size_t which;
} LossNode;

static void loss_back(Tape *t, Node *node)
{
    LossNode *n = (LossNode *)node;
    bool add;
    void *dlogits = tensor_gradient(t, n->logits, &add);
    t->k->cross_entropy_backward(t->stream, dlogits, add, t->state, n->which, n->lse, n->logits->data, n->targets,
                                 n->smoothing, n->logits->rows, n->logits->columns);
    if (n->z > 0)
        t->k->z_loss_backward(t->stream, dlogits, true, t->state, n->which, n->lse, n->logits->data, n->z,
                              n->logits->rows, n->logits->columns);
}

Tensor *cross_entropy(Tape *t, Tensor *logits, const int32_t *targets, double smoothing, size_t which)
{
    return cross_entropy_z(t, logits, targets, smoothing, 0, which);
}

Tensor *cross_entropy_z(Tape *t, Tensor *logits, const int32_t *targets, double smoothing, double z, size_t which)
{
    Tensor *losses = tape_tensor(t, logits->rows, 1, true, false);
    void *lse = tape_reals(t, logits->rows);
    t->k->cross_entropy_forward(t->stream, losses->data, lse, t->state, which, tensor_whole(logits), targets, smoothing,
                                logits->rows, logits->columns);
    if (z > 0)
        t->k->z_loss_forward(t->stream, losses->data, t->state, which, lse, z, logits->rows);
    tape_check(t, losses, "the loss", NULL);
    LossNode *n = tape_node(t, sizeof *n, loss_back, NULL);
    if (n)
        n->logits = logits, n->targets = targets, n->lse = lse, n->smoothing = smoothing, n->z = z, n->which = which;
    return losses;
}

typedef struct AgreementNode {
    Node node;
    Tensor *first, *second;
    const int32_t *targets;
    void *saved;
    double c;
} AgreementNode;

static void agreement_back(Tape *t, Node *node)
{
    AgreementNode *n = (AgreementNode *)node;
    bool add_first, add_second;
    void *first = tensor_gradient(t, n->first, &add_first), *second = tensor_gradient(t, n->second, &add_second);
    t->k->agreement_backward(t->stream, first, add_first, second, add_second, t->state, 0, n->saved, n->first->data,
                             n->second->data, n->targets, n->c, n->first->rows, n->first->columns);
}

void once_more(Tape *t, Tensor *first, Logits network, const void *self, const Rows *rows, const int32_t *targets,
               double smoothing, double z, double c)
{
    t->second_pass = true;
    Tensor *second = network(self, t, rows);
    t->second_pass = false;
    cross_entropy_z(t, second, targets, smoothing, z, 0);
    void *losses = tape_reals(t, first->rows), *saved = tape_reals(t, 4 * first->rows);
    t->k->agreement_forward(t->stream, losses, saved, t->state, 0, tensor_whole(first), tensor_whole(second), targets,
                            c, first->rows, first->columns);
    AgreementNode *n = tape_node(t, sizeof *n, agreement_back, NULL);
    if (n)
        n->first = first, n->second = second, n->targets = targets, n->saved = saved, n->c = c;
}

const int32_t *likeliest(Tape *t, const Tensor *logits)
{
    int32_t *classes = tape_integers(t, logits->rows);
    t->k->argmax(t->stream, classes, tensor_whole(logits), logits->rows, logits->columns);
    return classes;
}

Choices choices(Tape *t, const Tensor *logits, size_t count, int32_t one)
{
    size_t positions = logits->rows;
    int32_t *which = tape_integers(t, positions * count);
    void *values = tape_reals(t, positions * count), *share = tape_reals(t, positions);
    t->k->choices(t->stream, which, values, share, tensor_whole(logits), one, positions, logits->columns, count);
    return (Choices){positions, count, which, values, share};
}
