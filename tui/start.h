#pragma once
/* The start screen: what should the agent do here, what was done before, what can be looked at. A dialog that covers
 * everything, over a view of an empty session:
 *
 *     ui_open_dialog(ui, start_new(&info));
 *
 * A prompt goes to the host as INTENT_START; a session or a fixture to host->open as the path of its file ("demo" for
 * the guided turn). The host then closes it, or leaves for another ui. */

#include "dialog.h"

struct start_info {
    const char *folder;   /* where turns run */
    const char *model;    /* its name; NULL: none is configured */
    const char *config;   /* the config file, there or not; NULL: the usual one */
    const char *fixtures; /* their folder; NULL: none was found */
    const char *prompt;   /* that stands there already; NULL: none */
    int64_t now_us;       /* wall time, for "2 min ago"; 0: the clock's */
};
struct dialog *start_new(const struct start_info *info);
