#pragma once
/* What answers of tools say of an end, besides its code. */

#include "program.h"

struct json_writer;

/* "signal" and "signal_name" of one that was killed, and "left_behind": what it left running, and that was killed. */
void program_answer_end(struct json_writer *w, int signum, const struct left_process *left, size_t left_count);
