#pragma once
/* What an author tells its model, and what it finds in an answer. */

#include "sandbox/orchestrator.h"

struct arena;
struct toolset;

/* What a script is, and the rules of the mode. `secrets` are names of variables, NULL-terminated; NULL: none. */
void author_rules(struct strbuf *out, enum script_mode mode, const struct toolset *tools, const char *const *secrets);
/* What came of an attempt, bounded, and what to write next. */
void author_tell_attempt(struct strbuf *out, enum script_mode mode, const struct script_result *result);
/* What PLAN says to an answer whose blocks are no script. */
extern const char author_words_astray[];
/* The script in an answer, in the arena; NULL: there is none. */
const char *author_find_script(struct arena *arena, enum script_mode mode, const char *answer);
