#pragma once
/* The recorded model: plays the model.responded (and reflection) lines of a transcript, in order. A line may have
 * "variants": [{"when": {CALL: TEXT, …}, "text": …}, …]; the first of them whose calls all have a result that holds its
 * text is said in the place of the recorded text. */

#include "provider.h"

struct err;
struct event;
struct journal_reader;
struct loop;

/* `speed` 0 answers at once, 1 takes the recorded latency, 2 half of it. The reader must outlive it. A line that cannot
 * be decoded becomes an answer with an error that names it. When the recording has no more answers, the next request
 * fails with "the recording ends here"; in a turn (scripted_turn) that was cancelled or out of budget, it says so. */
struct provider *scripted_new(struct loop *loop, const struct journal_reader *reader, double speed);
/* Reads every line as the model will, so that a file that cannot be played is refused before anything runs. err->line
 * is set. */
int scripted_check(const struct journal_reader *reader, struct err *err) __attribute__((warn_unused_result));
/* The same of one decoded line. */
int scripted_check_event(const struct event *event, struct err *err) __attribute__((warn_unused_result));
/* Only the answers of one turn from here on: called by the program before it starts that turn of the recording. Another
 * provider, that was named in its place, has no turns. */
void scripted_turn(struct provider *provider, int64_t turn);
