#pragma once
/* The content of a turn's first request: memory, project instructions, selected tools, and the messages.
 *
 * The messages have a fixed order: system prompt, runtime metadata, memory (if any), project instructions (if any),
 * history, context pack (always present, labeled untrusted), skill context (if any), user message. The preparation
 * never changes; the loop appends to a copy. */

#include "base/beneath.h"
#include "base/hash.h"
#include "event/event.h"
#include "event/store.h"
#include "model/message.h"
#include "tools/registry.h"

/* Episodic memory: notes of earlier sessions in keyturn.db, found by the words of the prompt. */

struct strbuf;

/* Whose notes a turn gets. With MEMORY_OFF it gets none and leaves none. */
enum memory_scope { MEMORY_PROJECT, MEMORY_GLOBAL, MEMORY_OFF };
int memory_scope_from_name(const char *name); /* "project", "global", "off"; -1 */

struct memory {
    struct store_memory *items;
    size_t count;
};
/* Never fails: without a readable store the memory is empty, and the log has the reason. Any thread. */
struct memory memory_load(struct store *store, enum memory_scope scope, const char *project, const char *prompt,
                          size_t limit);
void memory_release(struct memory *memory);
struct event_memory_item_list memory_to_event(struct arena *arena, const struct memory *memory);
void memory_prompt(struct strbuf *out, const struct memory *memory); /* the text of the memory message; "" if empty */
/* The note of a finished turn: one or two sentences, "" if it is not worth keeping. */
void memory_extract(struct strbuf *out, const char *prompt, const char *final_text, const char *status);

/* Project instructions: AGENTS.md in the root of the workspace. */

struct strbuf;

#define INSTRUCTIONS_FILE      "AGENTS.md"
#define INSTRUCTIONS_BYTES_MAX (32u * 1024)

/* The text of the file, cut at INSTRUCTIONS_BYTES_MAX with a last line that says so; NULL if there is no text file.
 * Never fails: the log has the reason if a file is not used. Any thread. */
char *instructions_load(const struct beneath *root);
/* Whether a message is such a message. */
bool instructions_marked(const char *message);

/* The semantic tool selector: picks the tools whose name and description fit the prompt best (BM25). If it is off,
 * which is the default, or there are few tools, it returns all of them in order. */

#define SELECT_MAX 25

/* Tools for this prompt, at most `max`, in the registry's order; the caller frees the array. */
const struct tool **select_tools(const struct registry *registry, const char *prompt, bool enabled, size_t max,
                                 size_t *count);

struct prepare_input {
    const char *system_prompt; /* of this call; the render hash covers it and the model */
    const char *session, *provider, *model;
    int64_t wall_us;          /* for the dates of today and tomorrow */
    const char *memory;       /* text, "" or NULL: none */
    const char *instructions; /* text of the project's file; NULL: none */
    const struct message_list *history;
    const char *context_pack; /* JSON text; NULL: an empty pack */
    const char *skill;        /* NULL: none */
    const char *prompt;
};

struct preparation {
    struct message_list messages;
    char render_hash[HASH_SHA256_HEX];
};

void prepare_turn(struct preparation *out, const struct prepare_input *input);
void preparation_release(struct preparation *preparation);
extern const char prepare_default_prompt[];
