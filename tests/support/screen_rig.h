#pragma once
/* The workbench without a terminal: a view of a recording, of a live engine in virtual time, or of nothing (the start
 * screen); keys in, a canvas out.
 *
 * A case is a script with one command per line:
 *     fixture NAME             uses fixtures/NAME.jsonl
 *     transcript FILE          uses a file beside the case; its artifacts folder is there too
 *     start                    shows the start screen
 *     session NAME             puts a fixture among the recent sessions
 *     servers                  shows tool servers that a session waits for
 *     live [idle]              runs an engine with the scripted model of the fixture, and real tools on a copy of its
 *                              files; idle: starts no turn
 *     execute                  the same, compared with the recording
 *     step | break SPEC | budget KEY=VALUE | parallel       settings of a live engine, before it starts
 *     at SEQ|end               moves to a position of a recording
 *     keys KEY…                presses keys; "text:hello" types; "mouse:ROW,COL,BUTTON"
 *     type TEXT                types the rest of the line
 *     blind KEY…               presses keys without painting a frame before each
 *     bind ACTION KEY…         binds an action to other keys
 *     editor TEXT              what $EDITOR returns from now on; \n is a newline
 *     wait SECONDS             waits in virtual time
 *     file PATH TEXT           writes this into the workspace from outside
 *     size COLSxROWS           one or more; each is a separate run
 *     locale C                 draws with ASCII
 *     grace SECONDS            how long a new question ignores answers (default: 0)
 *     due SECONDS              a question shows that it is denied after this time
 *     tell JSON                emits an event of a program in a live engine now
 *     no-undo                  from here on the old bytes of a write cannot be kept
 *     sandbox warm|busy|trouble|cold|unheld   the state of the sandbox that a live engine shows; unheld: no sandbox
 *     hints                    shows the demo's hints
 *
 * The rig keeps the requests to the host as text, one per line. Every failure of the rig aborts the test. */

#include "app/keymap.h"
#include "base/strbuf.h"
#include "screen/canvas.h"

struct screen_rig;

/* Runs the script at one size; `folder` holds its transcripts. The result is the screen with its roles, then the
 * requests to the host. */
void screen_rig_run(struct strbuf *out, const char *folder, const char *script, int cols, int rows);
/* The same, but returns the canvas as last painted; the caller releases it. */
void screen_rig_paint(struct canvas *painted, const char *folder, const char *script, int cols, int rows);
/* Calls `each` for every size that a script names; "80x24" if it names none. */
void screen_rig_sizes(const char *script, void (*each)(int cols, int rows, void *data), void *data);

/* What all runs so far have shown. */
struct screen_seen {
    bool actions[ACTION_COUNT]; /* pressed where they have an effect */
    char **frames;              /* "80x24 pane 1", "80x24 help" */
    size_t frame_count, frame_room;
};
extern struct screen_seen screen_seen;
bool screen_seen_frame(const char *what);
