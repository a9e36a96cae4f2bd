#pragma once
/* Going through a tree that nobody vouches for: folder by folder, by descriptor, never through a link and never deeper
 * than WALK_DEPTH_MAX, so nothing in it can lead out, go on for ever or use up descriptors. The kind of an entry comes
 * with its name (getdents); nothing is looked at twice. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WALK_DEPTH_MAX 200

struct walk_entry {
    const char *path; /* relative to where the walk began, NUL-terminated; gone after the call */
    size_t path_len;
    const char *name;   /* the last part of it */
    int folder;         /* the descriptor of the folder that holds it */
    unsigned char type; /* DT_REG, DT_DIR, DT_LNK…; never DT_UNKNOWN */
    int depth;          /* 0: in the folder where the walk began */
};

enum walk_next {
    WALK_ON,   /* into it, if it is a folder */
    WALK_PAST, /* not into it */
    WALK_END,  /* nothing more */
};

struct walk {
    enum walk_next (*see)(void *user, const struct walk_entry *entry);
    /* A folder that cannot be read (`code`: errno) or is too deep (ELOOP). Gives WALK_END to make the walk fail with
     * it, WALK_ON to go on without it. NULL: fail. */
    enum walk_next (*shut)(void *user, const char *path, int code);
    /* Gets a folder that is too deep instead, and goes on from there by itself; false: it does not. NULL: nobody does.
     */
    bool (*deep)(void *user, int folder);
    bool ours;      /* the tree is ours whatever a program did to it: folders that are shut to us are opened … */
    bool puts_back; /* … as long as we are in them */
    void *user;
};

/* Entries come in no particular order. `folder` stays the caller's. `prefix` (may be "") stands before every path. */
int walk_tree(int folder, const char *prefix, const struct walk *walk, struct err *err) CHECKED;
/* The entries of a folder, from where its descriptor stands. */
#define WALK_BUFFER_BYTES 32768
struct walk_names {
    char *bytes; /* WALK_BUFFER_BYTES of them */
    size_t room; /* so many are asked for, and ever more: for who comes back for the next one only; 0: all */
    long got, at;
    int64_t next; /* where the descriptor stands for who goes on behind the last entry */
};
/* 1 and an entry, 0 at the end, -1 and errno. `type` may be DT_UNKNOWN when the entry is gone meanwhile. */
int walk_next_name(struct walk_names *names, int folder, const char **name, unsigned char *type) CHECKED;
#define WALK_AS_IT_IS ((mode_t)-1) /* for a mode that was not changed, or is not to be put back */
/* A folder below another, opened if it is shut; -1 and errno. walk_shut_again closes it and puts back the mode that it
 * had, unless somebody has changed that since. */
int walk_open_ours(int folder, const char *name, mode_t *was) CHECKED;
void walk_shut_again(int folder, mode_t was);
/* Gives the owner of a folder these bits of its mode back. The descriptor may be one of O_PATH; false: that cannot be
 * done. */
bool walk_unlock(int folder, mode_t bits);
