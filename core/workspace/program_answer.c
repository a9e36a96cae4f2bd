#include "program_answer.h"
#include "base/json.h"
#include "base/mem.h"
#include <string.h>

static void add_left(struct json_writer *w, const struct left_process *left)
{
    CLEANUP(free)
    char *text = xasprintf("%d %s%s", left->pid, left->name, left->survived ? " (it could not be killed)" : "");
    json_add_str(w, NULL, text);
}

void program_answer_end(struct json_writer *w, int signum, const struct left_process *left, size_t left_count)
{
    const char *name = signum ? sigabbrev_np(signum) : NULL;
    CLEANUP(free) char *full = name ? xasprintf("SIG%s", name) : NULL;
    if (signum)
        json_add_int(w, "signal", signum);
    if (full)
        json_add_str(w, "signal_name", full);
    if (!left_count)
        return;
    json_open(w, "left_behind", '[');
    for (size_t i = 0; i < left_count; i++)
        add_left(w, &left[i]);
    json_close(w, ']');
}
