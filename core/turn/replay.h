#pragma once
/* What a recording gives to a run that repeats it: prompts, decisions, edits, and stand-ins for tools that are not
 * here.
 *
 * A stand-in answers a recorded call with its recorded outcome after its recorded time. It exists for tools that the
 * recording used and this program does not have, so that a transcript of someone else's tools can still be stepped
 * through and checked. */

#include "engine.h"

struct recording;

struct recording *recording_open(const char *path, struct err *err) CHECKED;
void recording_free(struct recording *recording);
const struct journal_reader *recording_reader(const struct recording *recording);
/* Turns in the file, and the prompt of one (0-based). */
size_t recording_turn_count(const struct recording *recording);
const char *recording_prompt(const struct recording *recording, size_t index);
/* How many of them began up to this seq. */
size_t recording_turns_until(const struct recording *recording, int64_t seq);
int64_t recording_turn_number(const struct recording *recording, size_t index);
/* The budget that was recorded, over `limits`; leaves it alone when there is none. */
void recording_limits(const struct recording *recording, struct budget_limits *limits);
/* What the recorded model was told first: the system prompt, and whether a project's instructions stood behind it. NULL
 * when the recording does not tell. The caller's. */
char *recording_told(const struct recording *recording, bool *instructions);
/* Were its messages made smaller? Who repeats it does the same, or does not. */
bool recording_compacted(const struct recording *recording);
/* How hard the recorded model was asked to think: whether it reflects depends on it. */
enum thinking_level recording_thinking(const struct recording *recording);
/* Gives the recorded decisions to the rules. */
int recording_decisions(const struct recording *recording, struct rules *rules, struct err *err) CHECKED;
/* Adds a stand-in for each recorded tool that the registry does not have; `scripts`: also in the place of tools
 * that run programs (`real_time`), for who cannot run any. They live as long as the recording, and tell what scripts
 * told. */
int recording_stand_ins(struct recording *recording, struct registry *registry, bool scripts, struct err *err) CHECKED;
/* Calls that stand-ins have answered so far. */
size_t recording_answered(const struct recording *recording);
/* Why the run could not propose what this call had proposed: the recording does not hold all of it. NULL: it could. */
const char *recording_lost(const struct recording *recording, const char *call);
/* Brings the tools that came and went in the recording, each before the turn that had them first. The recording's;
 * after recording_stand_ins. */
struct tool_source *recording_tools(struct recording *recording);
/* The folder of files that belongs to the recording: FILE without its extension, when there is one; NULL else. */
const char *recording_files(const struct recording *recording);
