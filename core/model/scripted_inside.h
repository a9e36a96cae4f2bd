#pragma once
/* Between scripted.c, which plays a recording, and scripted_lines.c, which knows what its lines say. */

#include "provider.h"

struct arena;
struct journal_reader;

enum kind { ANSWER, REFLECTION, DELTA, TOO_LONG, END };

/* A line that a model is played from. */
struct entry {
    size_t line;
    int64_t turn, step;
    enum kind kind;
    const char *ends; /* of an END: how the turn ended, while or before the model was asked */
};

/* All of them, in order. */
struct scripted_lines {
    const struct journal_reader *reader;
    char *model; /* its name */
    struct entry *entries;
    size_t count, room;
};

/* Reads the recording once. The reader must outlive it. */
void scripted_lines_init(struct scripted_lines *lines, const struct journal_reader *reader);
void scripted_lines_release(struct scripted_lines *lines);
/* The next one of this kind, of a turn or (0) of any; NULL when there is none. */
const struct entry *scripted_lines_next(const struct scripted_lines *lines, int64_t turn, size_t from, enum kind kind);

/* A reply that is nothing but this error, in the place of what is there. */
void scripted_fail(struct model_reply *reply, char *take_error);
/* What an answer says to these messages, or an error that names its line. True: the text is a variant's, of which there
 * are no deltas. */
bool scripted_read_answer(const struct scripted_lines *lines, const struct entry *entry,
                          const struct message_list *messages, struct model_reply *reply, struct arena *arena);
/* False: its line cannot be decoded. */
bool scripted_read_reflection(const struct scripted_lines *lines, const struct entry *entry, struct model_reply *reply,
                              struct arena *arena);
