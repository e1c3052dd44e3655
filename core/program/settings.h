/* What a run was made with: config.json, and the model's options inside every file of weights. */
#ifndef CORE_PROGRAM_SETTINGS_H
#define CORE_PROGRAM_SETTINGS_H

#include "core/cli/options.h"
#include "core/run/run.h"

/* The data a run learns from, by content. */
typedef struct DataNote {
    const char *path; /* NULL: built-in */
    size_t bytes;
    const char *sha256;
} DataNote;

/* The options of a class as one JSON object. */
bool settings_json(const Options *o, OptionClass class, Buffer *out, Error *e);

/* The level of instructions and the choices within it (kernels/cpu/tuning.h), as two more members of an object. */
void settings_add_choices(Buffer *out);

bool settings_save(const Run *run, const Options *o, const DataNote *data, Error *e);

/* A run continues with the instructions that it was last trained with (kernels/cpu/level.h) and the choices that were
 * measured then (kernels/cpu/tuning.h), because others round otherwise. ATTEND_CPU and ATTEND_TUNING override them.
 * Where others take their place, for these or because this processor lacks them, it prints so. To be called before any
 * device is opened. */
bool settings_keep_level(const Run *run, Error *e);

/* Takes over what the run was made with, where the command line says nothing else. sha256 (of 65 bytes, may be NULL):
 * of its data. */
bool settings_load(const Run *run, Options *o, char *sha256, Error *e);

/* Whether an error blames an option for a value that the run has stored, and no option of the command line. Then it
 * names the configuration. */
bool settings_blamed(const Run *run, const Options *o, Error *e);

/* A new run is to begin with another's weights: takes over the options of its model, where the command line says nothing
 * else, but for those that are named in `but`, which ends with a NULL. *ours: it is a run of this program; of another one
 * nothing is taken. A width that the command line gives must be the run's. */
bool settings_begin_with(const Run *run, Options *o, const char *const *but, bool *ours, Error *e);

/* Options that are open and have no command line become those of a run's model. *ours: as above. */
bool settings_of_run(const char *path, Options *o, bool *ours, Error *e);

/* Weights are read by name and shape, which do not say what a row is of: refuses those of --from. */
bool settings_other_tokens(const char *from, Error *e);

#endif
