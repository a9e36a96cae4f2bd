#pragma once
/* Keeps secrets out of everything that Keyturn records, logs or shows.
 *
 * The program has one set of secrets: keys of models, declared secrets, variables of our environment that tool
 * servers get, and values that they get under a name that suggests a secret. Each text that leaves for the record
 * (an event, a line of the log, an error, the screen) has every value replaced by "[secret NAME]". Actions use the
 * real bytes: files, tools and models get them unchanged.
 *
 * A value is found in these forms: unchanged; as JSON writes it (also in a text within JSON); as Python prints it;
 * with any of its characters escaped by backslashes (\u0073, \x73); as in a URL (whichever bytes are escaped there);
 * as hex digits; inside base64. Of a value with several lines each line is found too. At the cut end of a text,
 * REDACT_LEAST bytes of a value are enough. Values shorter than REDACT_LEAST bytes are not searched for: they would
 * match everywhere and hide too much.
 *
 * One thread adds and forgets, before or between the work of others. Any thread may search at any time. Without
 * secrets a search costs one load. */

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define REDACT_LEAST 8

/* Returns false if the value is too short to search for. `name` replaces it in texts. */
bool redact_add(const char *name, const char *value);
/* The same for a variable of Keyturn's environment that a program gets. Every value counts as a secret, except a path
 * under a name that does not suggest one: without paths a record would be unreadable. */
bool redact_add_variable(const char *name, const char *value);
/* True if a variable of this name probably holds a secret: …KEY, …TOKEN, …SECRET, …PASSWORD and the like. */
bool redact_name_tells(const char *name);
/* Removes and wipes all secrets, for tests that add their own. No thread may be searching. */
void redact_forget(void);
/* True if any secret is known. */
bool redact_any(void);

/* Appends the text with every secret replaced. Returns false if there was none: then nothing is appended, and the
 * caller can use the text unchanged. */
bool redact_text(struct strbuf *out, const char *text, size_t len);
/* The same for JSON text, which stays valid JSON. Searches the strings in it, with any escapes. A number that
 * contains a secret becomes a string. */
bool redact_json(struct strbuf *out, const char *json, size_t len);
/* The same for a piece of a stream. Always appends, stops where a value may begin that continues in the next piece,
 * and returns how many bytes it took. */
size_t redact_part(struct strbuf *out, const char *text, size_t len);
/* A redacted copy for display; NULL only if `text` is. */
char *redact_copy(const char *text);

/* Puts real values back into a redacted text that a person edited, for those names whose values are in `real`, the
 * text before redaction. So writing a name never reveals a secret that was not there. `json`: both are JSON text. */
void redact_restore(struct strbuf *out, const char *text, const char *real, bool json);
/* The name in the first "[secret NAME]" of a text, for code that needs the real value; NULL: none. `len` gets its
 * length. */
const char *redact_mark(const char *text, size_t *len);
