#pragma once
/* The stream on which keyturn-launch speaks among others (base/launcher.h): before its mark only the engine has said
 * anything, behind that is the program's output, and at the very end, where there is no line to us, what there is to
 * say of that. A program may write the same words, but never after the last ones. */

#include "base/strbuf.h"
#include <stdbool.h>

struct launch_words {
    struct strbuf said; /* before the mark */
    struct strbuf held; /* what may be the last words */
    bool marked;        /* the mark was there, or nobody looks for it any more */
    bool last;          /* there will be last words */
    void (*output)(void *user, const char *bytes, size_t len);
    void *user;
};

void launch_words_init(struct launch_words *words);
void launch_words_feed(struct launch_words *words, const char *bytes, size_t len);
/* There is no mark: all of it was output. */
void launch_words_give_up(struct launch_words *words);
/* The stream has ended: each of the last words, or what looked like them is output. */
void launch_words_end(struct launch_words *words, void (*hear)(void *user, const char *line));
void launch_words_release(struct launch_words *words);
