#pragma once
/* What the readers of the config file share: one table of keys per object, and one function that checks an object
 * against its table. A key's reader gets a value of the right type, because the walk checks it and knows the line. */

#include "base/json.h"
#include "config.h"

struct config_reader {
    struct config *config;
    const char *counted; /* `line` lines were counted up to here */
    long line;
    struct err *err;
    struct config_model *model; /* the model whose keys are being read */
};

enum config_type { A_TEXT, A_TRUTH, A_NUMBER, AN_OBJECT, A_LIST, A_TRUTH_OR_LIST };

struct config_key {
    const char *name;
    enum config_type wanted;
    int (*take)(struct config_reader *reading, const struct json *value);
};

/* Returns the line of a value. Ask for values in the order of the file, so that the lines are counted once. */
long config_line_of(struct config_reader *reading, const struct json *value);
/* Sets the line of the error in reading->err to that of the value; returns -1. */
int config_at_line(struct config_reader *reading, const struct json *value);
/* Set the error too; return -1. `within` precedes the names in messages: "" or "budget.". */
int config_wrong_type(struct config_reader *reading, const char *within, const char *name, const struct json *value,
                      enum config_type wanted);
int config_walk(struct config_reader *reading, const char *within, const struct json *object,
                const struct config_key *keys, size_t count);
/* Returns a copy that lives as long as the config. */
const char *config_keep(struct config_reader *reading, const struct json *value);

/* ---- config_sections.c ---- */
int config_take_models(struct config_reader *reading, const struct json *value);
int config_take_workspace(struct config_reader *reading, const struct json *value);
int config_take_skills(struct config_reader *reading, const struct json *value);
