#pragma once
/* The start screen: a prompt, recent sessions, and recordings to open. It is a dialog that covers the whole screen,
 * over a view of an empty session:
 *
 *     ui_open_dialog(ui, start_new(&info));
 *
 * A prompt goes to the host as INTENT_START. A session or a fixture goes to host->open as the path of its file ("demo"
 * for the guided turn). The host then closes the dialog, or leaves for another ui. */

#include "dialogs/dialog.h"

struct start_info {
    const char *folder;   /* folder in which turns run */
    const char *model;    /* name of the model; NULL: none is configured */
    const char *config;   /* path of the config file, which may not exist; NULL: the default one */
    const char *fixtures; /* folder of the fixtures; NULL: not found */
    const char *prompt;   /* initial text of the prompt; NULL: none */
    int64_t now_us;       /* wall time, for "2 min ago"; 0: use the clock */
};
struct dialog *start_new(const struct start_info *info);
