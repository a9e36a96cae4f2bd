#pragma once
/* Episodic memory: what earlier sessions left in keyturn.db, found again by the words of the prompt. */

#include "event/event.h"
#include "event/store.h"

struct strbuf;

struct memory {
    struct store_memory *items;
    size_t count;
};
/* Never fails: without a store, or when it cannot be read, there is none (and the log says why). Any thread. */
struct memory memory_load(struct store *store, const char *prompt, size_t limit);
void memory_release(struct memory *memory);
struct event_memory_item_list memory_to_event(struct arena *arena, const struct memory *memory);
void memory_prompt(struct strbuf *out, const struct memory *memory); /* the text of the memory message; "" when none */
/* What a finished turn leaves behind: one or two sentences, "" when it is not worth keeping. */
void memory_extract(struct strbuf *out, const char *prompt, const char *final_text, const char *status);
