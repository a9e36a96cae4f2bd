#pragma once
/* Whether a program that runs seems to wait for somebody, from what it printed last. A guess for people and models,
 * never a reason to do anything. */

struct strbuf;

enum prompt_kind { PROMPT_NONE, PROMPT_TEXT, PROMPT_SELECTION };

/* `hint` gets the last line that is not blank, when there is a prompt. */
enum prompt_kind prompt_find(const char *output, struct strbuf *hint);
const char *prompt_kind_name(enum prompt_kind kind); /* "prompt", "selection"; NULL for none */
