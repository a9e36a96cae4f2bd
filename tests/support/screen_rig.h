#pragma once
/* The workbench without a terminal: a view of a recording, of a live engine in virtual time, or of nothing (the start
 * screen); keys in, a canvas out.
 *
 * A case is a script, a line each:
 *     fixture NAME             fixtures/NAME.jsonl          transcript FILE     beside the case, as is its folder
 * artifacts start                    the start screen             session NAME        a fixture among the recent
 * sessions servers                  tool servers that are waited for before a session live [idle]              an
 * engine with the scripted model of the fixture, real tools on a copy of its files; idle: no turn is started execute
 * the same, compared with the recording step | break SPEC | budget KEY=VALUE | parallel       of a live one, before it
 * starts at SEQ|end               of a recording keys KEY…                key names; "text:hello" types;
 * "mouse:ROW,COL,BUTTON" type TEXT                types the rest of the line blind KEY…               the same keys,
 * without a frame before each editor TEXT              what $EDITOR gives back from now on; \n is a newline wait
 * SECONDS             of virtual time file PATH TEXT           somebody else writes this into the workspace size
 * COLSxROWS           one or more; each is a run of its own locale C                 ASCII signs grace SECONDS a
 * question that has just come takes no answer for so long (else: not at all) due SECONDS              a question says
 * that it is denied after so long tell JSON                an event of a program that happens in a live one now no-undo
 * from here on the old bytes of a write cannot be kept sandbox warm|busy|trouble|cold|unheld   what the sandbox of a
 * live one is said to be; unheld: programs have none hints                    what the demo says to try next is shown
 *
 * What the host was asked to do is kept as text, a line each. Nothing in here fails softly. */

#include "base/strbuf.h"
#include "canvas.h"
#include "keymap.h"

struct screen_rig;

/* Runs the script at one size; `folder` is where its transcripts are. The result is the screen with its roles, then
 * what was asked of the host. */
void screen_rig_run(struct strbuf *out, const char *folder, const char *script, int cols, int rows);
/* The sizes a script names, "80x24" when it names none: calls `each` for every one. */
void screen_rig_sizes(const char *script, void (*each)(int cols, int rows, void *data), void *data);

/* What was seen in all runs so far. */
struct screen_seen {
    bool actions[ACTION_COUNT]; /* pressed where they count */
    char **frames;              /* "80x24 pane 1", "80x24 help" */
    size_t frame_count, frame_room;
};
extern struct screen_seen screen_seen;
bool screen_seen_frame(const char *what);
