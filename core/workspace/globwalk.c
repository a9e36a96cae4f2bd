/* The walk goes through real folders by descriptor (walk.h); where a link leads to a folder inside, a walk within the
 * walk goes on from there under the link's name. Folders that are being gone through this way are remembered, so a link
 * to one of them ends the matter, and what is seen behind links is counted: a handful of links can stand for more paths
 * than any machine can list. */

#include "globwalk.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/walk.h"
#include "glob.h"
#include "globs.h"
#include "inside.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHAIN_MAX 40 /* links within links */

struct search {
    const struct beneath *root;
    const struct glob *glob;
    struct glob_hits *hits;
    bool linked; /* where the walk is now */
    struct place {
        dev_t dev;
        ino_t ino;
    } chain[CHAIN_MAX];
    size_t chain_len, links, behind;
};

static void add_hit(struct search *s, const char *path, size_t len, bool linked)
{
    struct glob_hits *hits = s->hits;
    if (hits->count == GLOBWALK_HITS_MAX) {
        hits->cut = true;
        return;
    }
    GROW(hits->items, hits->count, hits->room);
    hits->items[hits->count++] = (struct glob_hit){.path = xmemdup0(path, len), .linked = linked};
}

static enum walk_next see(void *user, const struct walk_entry *entry);

static void add_left(struct search *s, const char *path, char *take_why)
{
    struct glob_hits *hits = s->hits;
    if (hits->left_count == GLOBWALK_LEFT_MAX) {
        free(take_why);
        return;
    }
    GROW(hits->left, hits->left_count, hits->left_room);
    hits->left[hits->left_count++] = (struct glob_left){.path = xstrdup(path), .why = take_why};
}

static void add_shut(struct search *s, const char *path, int code)
{
    s->hits->cut = true;
    add_left(s, path,
             code == ELOOP ? xasprintf("it is more than %d folders deep", WALK_DEPTH_MAX)
                           : xasprintf("the folder cannot be read: %s", strerrordesc_np(code)));
}

static void add_other(struct search *s, const char *path, mode_t mode)
{
    add_left(s, path, xasprintf("it is %s, not a file", beneath_kind(mode)));
}

static enum walk_next on_shut(void *user, const char *path, int code)
{
    add_shut(user, path, code);
    return WALK_CONTINUE;
}

static int walk_from(struct search *s, int folder, const char *prefix, struct err *err)
{
    static const struct walk_visitor visitor = {.entry = see, .denied = on_shut};
    struct walk_options options = {.order = WALK_ANY};
    return walk_tree(folder, prefix, &options, &visitor, s, err);
}

static bool in_chain(const struct search *s, const struct stat *st)
{
    for (size_t i = 0; i < s->chain_len; i++)
        if (s->chain[i].dev == st->st_dev && s->chain[i].ino == st->st_ino)
            return true;
    return false;
}

static void follow(struct search *s, const char *path)
{
    struct stat st;
    CLEANUP(fd) int fd = inside_open(s->root, path, O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (fd < 0 || fstat(fd, &st) < 0 || in_chain(s, &st))
        return;
    if (s->chain_len == CHAIN_MAX || s->links == GLOBWALK_LINKS_MAX) {
        s->hits->cut = true;
        return;
    }
    CLEANUP(free) char *prefix = xstrdup(path);
    bool linked = s->linked;
    s->links++;
    s->chain[s->chain_len++] = (struct place){st.st_dev, st.st_ino};
    s->linked = true;
    if (walk_from(s, fd, prefix, NULL) < 0)
        s->hits->cut = true;
    s->linked = linked;
    s->chain_len--;
}

static enum walk_next see(void *user, const struct walk_entry *entry)
{
    struct search *s = user;
    if (s->linked && ++s->behind > GLOBWALK_LINKED_MAX) {
        s->hits->cut = true;
        return WALK_STOP;
    }
    if (s->hits->cut && s->hits->count == GLOBWALK_HITS_MAX)
        return WALK_STOP;
    switch (entry->type) {
    case DT_DIR:
        return glob_may_lead(s->glob, entry->path) ? WALK_CONTINUE : WALK_SKIP;
    case DT_REG:
        if (glob_match(s->glob, entry->path))
            add_hit(s, entry->path, entry->path_len, s->linked);
        return WALK_SKIP;
    case DT_LNK:
        if (glob_match(s->glob, entry->path))
            add_hit(s, entry->path, entry->path_len, true);
        if (glob_may_lead(s->glob, entry->path))
            follow(s, entry->path);
        return WALK_SKIP;
    default:
        if (glob_match(s->glob, entry->path))
            add_other(s, entry->path, (mode_t)DTTOIF(entry->type));
        return WALK_SKIP;
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct glob_hit *)a)->path, ((const struct glob_hit *)b)->path);
}

/* Without any wildcard there is one path to look at. */
static void look_at(struct search *s, const char *path)
{
    struct stat st;
    struct err err = ERR_INIT;
    if (beneath_lstat(s->root, path, &st, &err) == 0 && S_ISREG(st.st_mode)) {
        CLEANUP(free) char *real = NULL;
        CLEANUP(fd) int fd = inside_open(s->root, path, O_PATH, &real, NULL);
        add_hit(s, path, strlen(path), fd < 0 || strcmp(real, path) != 0);
    } else if (err.code == EXDEV || (err.code == 0 && S_ISLNK(st.st_mode))) {
        add_hit(s, path, strlen(path), true);
    } else if (err.code == EACCES) {
        add_left(s, path, xstrdup(strerrordesc_np(err.code)));
    } else if (err.code == 0 && !S_ISDIR(st.st_mode)) {
        add_other(s, path, st.st_mode);
    }
}

static int search_below(struct search *s, const char *base, struct err *err)
{
    CLEANUP(free) char *real = NULL;
    struct err own = ERR_INIT;
    struct stat st;
    CLEANUP(fd) int fd = inside_open(s->root, *base ? base : ".", O_RDONLY | O_DIRECTORY, &real, &own);
    if (fd < 0) {
        if (own.code == EACCES)
            add_shut(s, base, own.code);
        return 0; /* nothing there, no folder, or outside: no hits */
    }
    s->linked = *base && strcmp(real, base) != 0;
    if (s->linked && fstat(fd, &st) == 0)
        s->chain[s->chain_len++] = (struct place){st.st_dev, st.st_ino};
    return walk_from(s, fd, base, err);
}

int globwalk(const struct beneath *root, const char *pattern, struct glob_hits *hits, struct err *err)
{
    *hits = (struct glob_hits){0};
    CLEANUP(free) char *clean = globs_clean(pattern);
    struct glob *glob = glob_new(clean ? clean : pattern, err);
    if (!glob)
        return -1;
    int status = 0;
    if (clean) {
        struct search s = {.root = root, .glob = glob, .hits = hits};
        bool whole;
        CLEANUP(free) char *base = glob_base(glob, &whole);
        if (whole)
            look_at(&s, base);
        else
            status = search_below(&s, base, err);
    }
    glob_free(glob);
    if (hits->count)
        qsort(hits->items, hits->count, sizeof(*hits->items), by_path);
    return status;
}

void glob_hits_release(struct glob_hits *hits)
{
    for (size_t i = 0; i < hits->count; i++)
        free(hits->items[i].path);
    for (size_t i = 0; i < hits->left_count; i++) {
        free(hits->left[i].path);
        free(hits->left[i].why);
    }
    free(hits->left);
    free(hits->items);
    *hits = (struct glob_hits){0};
}
