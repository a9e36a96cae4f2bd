#pragma once
/* How a model is named in the config file: for the dialog that says so, for the page that `keyturn run` prints where
 * there is none, and for the file that is made. */

#include "base/strbuf.h"

/* The file as it could be, a line each, ending with NULL; none is longer than CONFIG_EXAMPLE_COLUMNS. */
extern const char *const config_model_lines[];
#define CONFIG_EXAMPLE_COLUMNS 72
/* Where their keys come from. */
extern const char config_key_note[];
/* A config file that sets nothing: those lines as comments. */
void config_example_write(struct strbuf *out);
/* All of it as text, for who has no workbench. `path` is the config file, `there` whether it is. */
void config_page_write(struct strbuf *out, const char *path, bool there);
