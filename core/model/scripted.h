#pragma once
/* The recorded model: plays the model.responded (and reflection) lines of a transcript, in order. A line may have
 * "variants": [{"when": {CALL: TEXT, …}, "text": …}, …]. The first variant whose calls all have a result that holds its
 * text replaces the recorded text. */

#include "provider.h"

struct err;
struct event;
struct journal_reader;
struct loop;

/* `speed` 0 answers at once, 1 takes the recorded latency, 2 half of it. The reader must outlive the provider. A line
 * that cannot be decoded becomes an error that names the line. After the last answer, the next request fails with "the
 * recording ends here". In a turn (scripted_turn) that was canceled or out of budget, the error says so. */
struct provider *scripted_new(struct loop *loop, const struct journal_reader *reader, double speed);
/* Reads every line as the model will, so that an unplayable file is refused before anything runs. Sets err->line. */
int scripted_check(const struct journal_reader *reader, struct err *err) __attribute__((warn_unused_result));
/* The same for one decoded line. */
int scripted_check_event(const struct event *event, struct err *err) __attribute__((warn_unused_result));
/* Plays only the answers of one turn from here on. The program calls it before it starts that turn of the recording.
 * Does nothing for other providers, which have no turns. */
void scripted_turn(struct provider *provider, int64_t turn);
