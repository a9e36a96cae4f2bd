#pragma once
/* What a project wants of whoever works in it: AGENTS.md in the root of the workspace. */

#include "base/beneath.h"

struct strbuf;

#define INSTRUCTIONS_FILE      "AGENTS.md"
#define INSTRUCTIONS_BYTES_MAX (32u * 1024)

/* The text of the file, cut at INSTRUCTIONS_BYTES_MAX with a last line that says so; NULL when there is none, or what
 * is there is no text. Never fails: the log says why a file is not used. Any thread. */
char *instructions_load(const struct beneath *root);
/* The message about it: where the text comes from, how far it counts, and the text between marks that it cannot write
 * itself. */
void instructions_prompt(struct strbuf *out, const char *text);
/* Is this such a message? */
bool instructions_marked(const char *message);
