#pragma once
/* What the readers of the config file share: one table of keys per object, one function that walks an object along its
 * table. A key's reader finds the value of the right type already: the walk checks it and knows the line. */

#include "base/json.h"
#include "config.h"

struct reading {
    struct config *config;
    const char *counted; /* up to here, `line` lines */
    long line;
    struct err *err;
    struct config_model *model; /* whose keys are being read */
};

enum wanted { A_TEXT, A_TRUTH, A_NUMBER, AN_OBJECT, A_LIST, A_TRUTH_OR_LIST };

struct key {
    const char *name;
    enum wanted wanted;
    int (*take)(struct reading *reading, const struct json *value);
};

/* The line of a value. Values are asked about in the order of the file, so the lines are counted once. */
long config_line_of(struct reading *reading, const struct json *value);
/* Gives the error in reading->err the line of the value; -1. */
int config_at_line(struct reading *reading, const struct json *value);
/* Set the error too; -1. `within` is what stands before the names in messages, "" or "budget.". */
int config_wrong_type(struct reading *reading, const char *within, const char *name, const struct json *value,
                      enum wanted wanted);
int config_walk(struct reading *reading, const char *within, const struct json *object, const struct key *keys,
                size_t count);
/* A copy that lives as long as the config. */
const char *config_keep(struct reading *reading, const struct json *value);

/* config_model.c */
int config_take_models(struct reading *reading, const struct json *value);

/* config_workspace.c */
int config_take_workspace(struct reading *reading, const struct json *value);
int config_take_skills(struct reading *reading, const struct json *value);
