#pragma once
/* Secrets, and keeping them out of whatever is recorded, logged or shown.
 *
 * The program has one set of them: keys of models, what was declared, what tool servers are given of our environment
 * and what they get under a name that tells of a secret. Where a text leaves for the record (an event, a line of the
 * log, an error, the screen) each value is replaced by "[secret NAME]". What is done stays as it is: a file, a tool or
 * a model gets the real bytes.
 *
 * Found is a value as it is, as JSON writes it (also within a text within JSON), as Python prints it, with any of its
 * characters escaped by backslashes (\u0073, \x73), as a URL carries it (whichever of its bytes are escaped there), as
 * hex digits and inside base64; of one with several lines also each line, and REDACT_LEAST bytes of one with which a
 * text was cut off. Values shorter than REDACT_LEAST bytes are not looked for: they would be found everywhere, and hide
 * more than they are.
 *
 * Adding and forgetting is for one thread, before or between what others do; looking is for all threads at any time.
 * Without secrets it costs one load. */

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define REDACT_LEAST 8

/* False when the value is too short to be looked for. `name` is what stands in its place. */
bool redact_add(const char *name, const char *value);
/* The same for a variable of our environment that is handed to a program. Every value counts as secret but a path under
 * a name that tells of none: without paths a record could not be read. */
bool redact_add_variable(const char *name, const char *value);
/* Does a variable of this name probably hold a secret: …KEY, …TOKEN, …SECRET, …PASSWORD and the like? */
bool redact_name_tells(const char *name);
/* All of them, and wipes them. Nobody may be looking. */
void redact_forget(void);
/* Is there anything to look for? */
bool redact_any(void);

/* Appends the text with every secret replaced. False when there was none: then nothing is appended, and the text can be
 * used as it is. */
bool redact_text(struct strbuf *out, const char *text, size_t len);
/* The same for JSON text, which stays JSON: it is the strings in it that are looked at, whatever their escapes. A
 * number that holds a secret becomes a string. */
bool redact_json(struct strbuf *out, const char *json, size_t len);
/* The same for a piece of a stream: always appends, stops where a value may have begun that the next piece goes on
 * with, and tells how many bytes it took. */
size_t redact_part(struct strbuf *out, const char *text, size_t len);
/* A copy that is fit to be shown; never NULL unless `text` is. */
char *redact_copy(const char *text);

/* What a person made of a redacted text, with the real values put back for those names whose values stand in `real`,
 * the text before it was redacted: nobody can have a secret that was not there by writing its name. `json`: both are
 * JSON text. */
void redact_restore(struct strbuf *out, const char *text, const char *real, bool json);
/* The name in the first "[secret NAME]" of a text, for those who would need the value; NULL when there is none. The
 * length goes to `len`. */
const char *redact_mark(const char *text, size_t *len);
