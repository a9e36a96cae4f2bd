#pragma once
/* How a model is named in the config file, for the dialog that says so and for the file that it makes. */

#include "base/strbuf.h"

/* The lines between the braces, ending with NULL. */
extern const char *const config_model_lines[];
/* A config file that sets nothing: those lines as comments. */
void config_example_write(struct strbuf *out);
