#pragma once
/* Steps through a recording: the fold at any position, forward and back. Going back refolds from the nearest keyframe.
 * Keyframes are copies of the session at a few earlier positions, dense near the cursor and sparse far away. So a step
 * back costs the same everywhere, and memory does not grow with the recording. */

#include "event/journal.h"
#include "event/session.h"

struct player;

struct player *player_open(const char *path, struct err *err) CHECKED;
void player_free(struct player *player);
const struct journal_reader *player_lines(const struct player *player);
const struct session *player_session(const struct player *player);
size_t player_position(const struct player *player); /* events applied */
/* Number of events that can be shown: all, or those before a broken line once it was found. */
size_t player_count(const struct player *player);
/* Seeks to the position, folding at most `budget` events per call (0: no limit). True when it has arrived; call it
 * again until then (progress is position against target). The recording ends at a line that cannot be read. */
bool player_seek(struct player *player, size_t position, size_t budget);
/* Why the recording ends before its file does ("line 3 is broken: …"); NULL while no seek or scan found such a line. */
const char *player_fault(const struct player *player);
/* Reads what was appended to the file. Returns the number of new events. */
size_t player_refresh(struct player *player);
/* Positions for the jumps; SIZE_MAX if there is none. */
size_t player_next_step(const struct player *player, bool back);
size_t player_next_write(const struct player *player, bool back);
size_t player_next_error(const struct player *player, bool back);
size_t player_at_time(const struct player *player, int64_t t);

/* Marks for the timeline bar, found once in the background: call player_scan repeatedly until it is done. */
enum player_mark { PLAYER_STEP = 1, PLAYER_WRITE = 2, PLAYER_ERROR = 4, PLAYER_HELD = 8 };
bool player_scan(struct player *player, size_t budget);
/* Writes the marks for `columns` columns, one byte of enum player_mark each. */
void player_marks(const struct player *player, size_t columns, unsigned char *out);
