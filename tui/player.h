#pragma once
/* A recording that is stepped through: the fold at any position, forward and back. Going back refolds from the nearest
 * keyframe; keyframes are copies of the session at a few earlier positions, close together near the cursor and sparse
 * far away, so a step back costs the same everywhere and memory does not grow with what was recorded. */

#include "event/journal.h"
#include "event/session.h"

struct player;

struct player *player_open(const char *path, struct err *err) CHECKED;
void player_free(struct player *player);
const struct journal_reader *player_lines(const struct player *player);
const struct session *player_session(const struct player *player);
size_t player_position(const struct player *player); /* events applied */
/* Events that can be shown: up to a line that is broken, once that was found. */
size_t player_count(const struct player *player);
/* Goes to the position, at most `budget` events of folding per call (0: all the way). True when it is there; call again
 * while it is not (progress is position against target). A line that cannot be read is where the recording ends. */
bool player_seek(struct player *player, size_t position, size_t budget);
/* Why it ends before its file does ("line 3 is broken: …"); NULL while no such line was found, by a seek or by the
 * scan. */
const char *player_fault(const struct player *player);
/* Takes in what was appended to the file since; returns the number of new events. */
size_t player_refresh(struct player *player);
/* Positions for the jumps; SIZE_MAX when there is none. */
size_t player_next_step(const struct player *player, bool back);
size_t player_next_write(const struct player *player, bool back);
size_t player_next_error(const struct player *player, bool back);
size_t player_at_time(const struct player *player, int64_t t);

/* Marks for the timeline bar, found once in the background: call player_scan now and then until it is done. */
enum player_mark { PLAYER_STEP = 1, PLAYER_WRITE = 2, PLAYER_ERROR = 4, PLAYER_HELD = 8 };
bool player_scan(struct player *player, size_t budget);
/* The marks of `columns` columns, a byte of enum player_mark each. */
void player_marks(const struct player *player, size_t columns, unsigned char *out);
