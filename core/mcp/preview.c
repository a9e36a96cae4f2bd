#include "preview.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "form.h"
#include "tools/change.h"
#include "tools/patch.h"
#include <errno.h>
#include <string.h>

#define NEW_FILE_MODE 0644
#define NAMED_MAX     4    /* files that are told of */
#define NAMED_LEN_MAX 1024 /* of their paths */

/* The path that is meant, from the root; NULL: it is not in the workspace, or only the server knows where it is. */
static char *clean_path(struct beneath *root, const char *path, const char *cwd, struct err *err)
{
    if (*path != '~' && (*path == '/' || !cwd))
        return beneath_clean(root, path, err);
    err_set(err, "%.200s is not a path from the workspace", path);
    return NULL;
}

/* Adds the file to the set as it is now. */
static int add_file(struct change_set *set, struct beneath *root, const char *path, const char *cwd, struct err *err)
{
    CLEANUP(free) char *clean = clean_path(root, path, cwd, err);
    return clean && change_set_add(set, root, clean, err) ? 0 : -1;
}

struct change_set *mcp_preview_begin(struct beneath *root, const char *path, const char *cwd, struct err *err)
{
    struct change_set *set = change_set_new();
    if (add_file(set, root, path, cwd, err) == 0)
        return set;
    change_set_free(set);
    return NULL;
}

struct change_set *mcp_preview_move(struct beneath *root, const char *from, const char *to, const char *cwd,
                                    struct err *err)
{
    struct change_set *set = change_set_new();
    if (add_file(set, root, from, cwd, err) == 0 && add_file(set, root, to, cwd, err) == 0) {
        struct change *source = &set->items[0], *target = &set->items[1];
        if (source->old.exists && !target->old.exists && !source->link && !target->link) {
            change_set_moves(target, source);
            change_side_absent(&source->new);
            source->counts.known = target->counts.known = false;
            return set;
        }
        err_set(err, "%.200s cannot be moved to %.200s", from, to);
    }
    change_set_free(set);
    return NULL;
}

void mcp_preview_content(struct change_set *set, const char *content, size_t len)
{
    struct change *change = &set->items[0];
    change_side_set(&change->new, content, len, change->old.exists ? change->old.mode : NEW_FILE_MODE);
    change->counts.known = false;
}

void mcp_preview_append(struct change_set *set, const char *content, size_t len)
{
    const struct change_side *old = &set->items[0].old;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    if (old->exists)
        strbuf_add(&whole, old->bytes, old->len);
    strbuf_add(&whole, content, len);
    mcp_preview_content(set, whole.buf, whole.len);
}

void mcp_preview_delete(struct change_set *set)
{
    change_side_absent(&set->items[0].new);
    set->items[0].counts.known = false;
}

/* Lines that end with CR LF as lines that end with LF: that is how servers compare, and what they then write. */
static void plain_line_ends(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != '\r' || i + 1 == len || text[i + 1] != '\n')
            strbuf_addch(out, text[i]);
}

int mcp_preview_patch(struct change_set *set, const char *text, struct err *err)
{
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf plain = STRBUF_INIT;
    struct change *change = &set->items[0];
    const char *old = change->old.exists ? change->old.bytes : "";
    size_t len = change->old.exists ? change->old.len : 0;
    if (patch_apply(&after, old, len, text, err)) {
        plain_line_ends(&plain, old, len);
        strbuf_reset(&after);
        if (plain.len == len || patch_apply(&after, plain.buf, plain.len, text, err))
            return -1;
    }
    mcp_preview_content(set, after.buf, after.len);
    return 0;
}

int mcp_preview_changes(const struct change_set *set)
{
    return strcmp(set->items[0].old.digest, set->items[0].new.digest) != 0;
}

int mcp_preview_check(const struct change_set *set, struct beneath *root, int after, struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        const char *expected = after ? change->new.digest : change->old.digest;
        struct change_set *now = change_set_new();
        struct change *found = change_set_add(now, root, change->path, err);
        bool same = found && !found->through && strcmp(found->old.digest, expected) == 0;
        change_set_free(now);
        if (!found)
            return -1;
        if (!same)
            return err_set(err, after ? "%.200s is not what was approved" : "%.200s was changed", change->path);
    }
    return 0;
}

/* A text that may be the path of a file: `named` so by its argument, or looking like one. */
static bool may_be_path(const struct json *text, bool named)
{
    if (text->type != JSON_STRING || !text->len || text->len > NAMED_LEN_MAX)
        return false;
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)text->text[i] < ' ' || text->text[i] == 0x7f)
            return false;
    return named || strpbrk(text->text, "/.");
}

void mcp_preview_name(struct strbuf *out, struct beneath *root, const struct json *arguments, const char *cwd)
{
    size_t count = 0;
    json_each (argument, arguments) {
        struct err err = ERR_INIT;
        struct stat st;
        bool named = mcp_form_names_path(argument->key);
        if (count == NAMED_MAX || !may_be_path(argument, named))
            continue;
        CLEANUP(free) char *path = clean_path(root, argument->text, cwd, &err);
        if (!path)
            continue;
        bool there = beneath_lstat(root, path, &st, &err) == 0;
        if (there && S_ISREG(st.st_mode))
            strbuf_addf(out, "%s has %lld bytes now\n", path, (long long)st.st_size);
        else if (there && strcmp(path, ".") != 0)
            strbuf_addf(out, "%s is %s now\n", path, beneath_kind(st.st_mode));
        else if (!there && named && err.code == ENOENT)
            strbuf_addf(out, "%s is not there now\n", path);
        else
            continue;
        count++;
    }
}

void mcp_arguments_with(struct strbuf *out, const struct json *arguments, const char *name, const char *value)
{
    const char *before = "";
    bool done = false;
    strbuf_addch(out, '{');
    json_each (member, arguments) {
        bool replaced = strcmp(member->key, name) == 0;
        if (replaced && done)
            continue;
        strbuf_addstr(out, before);
        json_write_str(out, member->key, strlen(member->key), JSON_COMPACT);
        strbuf_addch(out, ':');
        if (replaced)
            strbuf_addstr(out, value);
        else
            json_write(out, member, JSON_COMPACT);
        done |= replaced;
        before = ",";
    }
    if (!done)
        strbuf_addf(out, "%s\"%s\":%s", before, name, value);
    strbuf_addch(out, '}');
}
