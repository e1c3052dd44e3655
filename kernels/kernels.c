/* Which twins this build has. */
#include "kernels/kernels.h"

#include "kernels/cpu/cpu.h"
#include "kernels/plain/plain.h"

#include <string.h>

static const Kernels *const tables[] = {&plain_f32, &plain_bf16, &plain_f64, &cpu_f32, &cpu_bf16};

const char *number_type_name(NumberType type)
{
    static const char *const names[] = {"f32", "bf16", "f64"};
    return type < NUMBER_TYPES ? names[type] : "?";
}

const Kernels *kernels_find(const char *device, NumberType type, Error *e)
{
    bool known = false;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i]->twin, device) != 0)
            continue;
        if (tables[i]->type == type)
            return tables[i];
        known = true;
    }
    if (known)
        fail(e, "device %s does not compute in %s", device, number_type_name(type));
    else
        fail(e, "there is no device '%s' in this build; it has plain and cpu", device);
    return NULL;
}
