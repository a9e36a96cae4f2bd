/* Turns a server's answer into the reply of a tool, and previews the file that a call changes.
 *
 * The output limit cuts texts at 3,000 characters (output_limit.h) and would lose the rest of a long one. So a long
 * text becomes a list of pieces, broken at line ends if possible. Together they are too long to stay inline, so the
 * whole output is kept as an artifact.
 *
 * The reply only names and measures pictures and sounds, because Keyturn cannot show them. */

#include "content.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "offers.h"
#include "tools/change.h"
#include "tools/tool.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

#define PIECE_CHARS 3000

static bool is(const struct json *item, const char *type)
{
    return strcmp(json_str(json_get(item, "type"), ""), type) == 0;
}

/* Returns the text of an item; NULL if it has none. */
static const char *text_of(const struct json *item)
{
    if (is(item, "text"))
        return json_str(json_get(item, "text"), "");
    return is(item, "resource") ? json_str(json_get(json_get(item, "resource"), "text"), NULL) : NULL;
}

void mcp_content_text(const struct json *result, struct strbuf *out)
{
    json_each (item, json_get(result, "content")) {
        const char *text = text_of(item);
        if (text && out->len && out->buf[out->len - 1] != '\n')
            strbuf_addch(out, '\n');
        if (text)
            strbuf_addstr(out, text);
    }
}

static void add_text(struct json_writer *w, const char *text, size_t len)
{
    if (utf8_count(text, len) <= PIECE_CHARS) {
        json_add_strn(w, "text", text, len);
        return;
    }
    json_open(w, "text", '[');
    while (len) {
        size_t piece = utf8_prefix(text, len, PIECE_CHARS);
        const char *end = piece < len ? memrchr(text, '\n', piece) : NULL;
        if (end)
            piece = (size_t)(end - text) + 1;
        json_add_strn(w, NULL, text, piece);
        text += piece;
        len -= piece;
    }
    json_close(w, ']');
}

static void add_known(struct json_writer *w, const struct json *from, const char *key)
{
    const struct json *value = json_get(from, key);
    if (value && value->type == JSON_STRING)
        json_add_str(w, key, value->text);
}

/* Adds type and size of an item that is not text. */
static void add_other(struct json_writer *w, const struct json *item)
{
    const struct json *from = is(item, "resource") ? json_get(item, "resource") : item;
    const struct json *data = json_get(from, "data");
    if (!data)
        data = json_get(from, "blob");
    json_open(w, NULL, '{');
    add_known(w, item, "type");
    add_known(w, from, "name");
    add_known(w, from, "uri");
    add_known(w, from, "mimeType");
    if (data && data->type == JSON_STRING)
        json_add_int(w, "bytes", (int64_t)(data->len / 4 * 3));
    json_close(w, '}');
}

static void add_others(struct json_writer *w, const struct json *content)
{
    bool open = false;
    json_each (item, content) {
        if (item->type != JSON_OBJECT || text_of(item))
            continue;
        if (!open)
            json_open(w, "attached", '[');
        open = true;
        add_other(w, item);
    }
    if (open)
        json_close(w, ']');
}

static void reply_failed(struct tool_reply *reply, const char *text)
{
    size_t len = utf8_prefix(text, strlen(text), PIECE_CHARS); /* longer text is of no use */
    tool_reply_error(reply, "%.*s", *text ? (int)len : INT_MAX, *text ? text : "the tool failed without a message");
}

void mcp_content_reply(const struct json *result, struct tool_reply *reply)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct strbuf out = STRBUF_INIT;
    if (!result || result->type != JSON_OBJECT) {
        tool_reply_error(reply, "the server's answer has no result");
        return;
    }
    if (strcmp(json_str(json_get(result, "resultType"), "complete"), "complete") != 0) {
        tool_reply_error(reply, "the server's answer is incomplete");
        return;
    }
    mcp_content_text(result, &text);
    if (json_bool(json_get(result, "isError"), false)) {
        reply_failed(reply, text.buf);
        return;
    }
    const struct json *structured = json_get(result, "structuredContent");
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    if (text.len || !structured) /* most servers send the same data as text and structured: use one of them */
        add_text(&w, text.buf, text.len);
    else
        json_add_value(&w, "structured", structured);
    add_others(&w, json_get(result, "content"));
    json_close(&w, '}');
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}

bool mcp_input_wanted(const struct json *result)
{
    return strcmp(json_str(json_get(result, "resultType"), ""), "input_required") == 0;
}

void mcp_input_write(struct strbuf *out, const struct json *result)
{
    const char *before = "";
    json_each (request, json_get(result, "inputRequests")) {
        strbuf_addf(out, "%s%s (%s): ", before, request->key ? request->key : "?",
                    json_str(json_get(request, "method"), "no method"));
        const struct json *params = json_get(request, "params");
        if (params)
            json_write(out, params, JSON_COMPACT);
        before = "\n";
    }
    if (!*before)
        strbuf_addstr(out, "no message");
}

bool mcp_input_decline(struct strbuf *out, const struct json *result)
{
    const struct json *requests = json_get(result, "inputRequests"), *state = json_get(result, "requestState");
    struct strbuf answers = STRBUF_INIT;
    struct json_writer w = json_begin(&answers);
    bool can = state || (requests && requests->count);
    json_open(&w, NULL, '{');
    json_each (request, requests) {
        can &= request->key && strcmp(json_str(json_get(request, "method"), ""), "elicitation/create") == 0;
        json_add_raw(&w, request->key, "{\"action\":\"decline\"}");
    }
    json_close(&w, '}');
    if (can)
        strbuf_addf(out, ",\"inputResponses\":%s", answers.buf);
    if (can && state) { /* the server's own value, returned unchanged */
        strbuf_addstr(out, ",\"requestState\":");
        json_write(out, state, JSON_COMPACT);
    }
    strbuf_release(&answers);
    return can;
}

#define NEW_FILE_MODE 0644
#define NAMED_MAX     4    /* files to mention */
#define NAMED_LEN_MAX 1024 /* length of all their paths */

/* Returns the resolved path from the root; NULL if it is outside the workspace or only the server knows where it is. */
static char *clean_path(struct beneath *root, const char *path, const char *cwd, struct err *err)
{
    if (*path != '~' && (*path == '/' || !cwd))
        return beneath_clean(root, path, err);
    err_set(err, "%.200s is not a path in the project", path);
    return NULL;
}

/* Adds the file to the set in its present state. */
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

/* Converts CR LF to LF: servers compare and write lines that way. */
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
            return err_set(err, after ? "%.200s differs from what was approved" : "%.200s was changed", change->path);
    }
    return 0;
}

/* Returns true if a text may be the path of a file: its argument's name says so (`named`), or it looks like a path. */
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
        bool named = mcp_file_arguments_name_path(argument->key);
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
            strbuf_addf(out, "%s does not exist now\n", path);
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
