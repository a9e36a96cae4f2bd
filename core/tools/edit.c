/* The tools that write: write_file, edit_file, delete_file, move_file.
 *
 * None of them touches a file. Each reads the current file, makes the change as a value and proposes it. turn/write.c
 * commits the approved change, which may be a part of the proposal or the user's own version, and answers the call. */

#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tool.h"
#include <stdint.h>
#include <string.h>

#define NEW_FILE_MODE 0644

static const char *argument(const struct tool_run *run, const char *name)
{
    return json_str(json_get(run->arguments, name), "");
}

static void change_set_cleanup(struct change_set **set)
{
    change_set_free(*set);
}

static void unchanged(struct tool_reply *reply, const char *path)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", path);
    json_add_bool(&w, "unchanged", true);
    json_close(&w, '}');
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}

/* Deleting or moving a link and its target are two different things: the call has to say which. */
static bool refuse_link(struct tool_reply *reply, const struct change *change)
{
    if (change->link)
        tool_reply_error(reply, "%s is a symbolic link to %s; name %s itself", change->through, change->path,
                         change->path);
    return change->link;
}

/* Proposes `text` as the new content of the set's one change, or replies that nothing would change. */
static void propose_text(struct tool_reply *reply, struct change_set **set, const char *text, size_t len)
{
    struct change *change = &(*set)->items[0];
    if (len > CHANGE_BYTES_MAX) {
        tool_reply_error(reply, "%s would be larger than %u MB", change->path, CHANGE_BYTES_MAX >> 20);
        return;
    }
    if (change->old.exists && change->old.len == len && memcmp(change->old.bytes, text, len) == 0) {
        unchanged(reply, change->path);
        return;
    }
    change_side_set(&change->new, text, len, change->old.exists ? change->old.mode : NEW_FILE_MODE);
    tool_reply_propose(reply, steal(set));
}

static void write_file(struct tool_run *run, struct tool_reply *reply)
{
    CLEANUP(change_set) struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    if (!change_set_add(set, run->env->root, argument(run, "path"), &err)) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    const struct json *content = json_get(run->arguments, "content");
    propose_text(reply, &set, json_str(content, ""), content ? content->len : 0);
}

/* For every prefix of `needle`: the length of the longest shorter prefix that it ends with. */
static uint32_t *borders_of(const char *needle, size_t len)
{
    uint32_t *borders = xcalloc(len, sizeof(*borders));
    for (size_t i = 1, matched = 0; i < len; i++) {
        while (matched && needle[i] != needle[matched])
            matched = borders[matched - 1];
        matched += needle[i] == needle[matched];
        borders[i] = (uint32_t)matched;
    }
    return borders;
}

/* Counts the occurrences of `needle`, overlapping ones too: "aa" in "aaa" is not unique. Linear, because a model may
 * send a long text that occurs at every line. */
static size_t count_places(const char *text, size_t len, const char *needle, size_t needle_len)
{
    if (needle_len > len)
        return 0;
    CLEANUP(free) uint32_t *borders = borders_of(needle, needle_len);
    size_t count = 0, matched = 0;
    for (size_t i = 0; i < len; i++) {
        while (matched && text[i] != needle[matched])
            matched = borders[matched - 1];
        matched += text[i] == needle[matched];
        if (matched < needle_len)
            continue;
        count++;
        matched = borders[matched - 1];
    }
    return count;
}

static void replace_all(struct strbuf *out, const struct change_side *side, const struct json *old,
                        const struct json *new)
{
    const char *at = side->bytes, *end = at + side->len, *found;
    while ((found = memmem(at, (size_t)(end - at), old->text, old->len))) {
        strbuf_add(out, at, (size_t)(found - at));
        strbuf_add(out, new->text, new->len);
        at = found + old->len;
    }
    strbuf_add(out, at, (size_t)(end - at));
}

/* Whether `old` would be found with the file's line ends: the usual reason for "not found". */
static bool only_line_ends_differ(const struct change_side *side, const struct json *old)
{
    if (!memchr(old->text, '\n', old->len) || memmem(old->text, old->len, "\r\n", 2))
        return false;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < old->len; i++) {
        if (old->text[i] == '\n')
            strbuf_addch(&text, '\r');
        strbuf_addch(&text, old->text[i]);
    }
    return memmem(side->bytes, side->len, text.buf, text.len) != NULL;
}

static void edit_file(struct tool_run *run, struct tool_reply *reply)
{
    const struct json *old = json_get(run->arguments, "old"), *new = json_get(run->arguments, "new");
    CLEANUP(change_set) struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, run->env->root, argument(run, "path"), &err);
    if (!change) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    if (!change->old.exists) {
        tool_reply_error(reply, "%s does not exist; write_file creates new files", change->path);
        return;
    }
    if (!old || !new || old->len == 0) {
        tool_reply_error(reply, "old is empty; set it to the text to replace in %s, or use write_file", change->path);
        return;
    }
    size_t places = count_places(change->old.bytes, change->old.len, old->text, old->len);
    if (places == 0) {
        tool_reply_error(reply, "old text not found in %s%s", change->path,
                         only_line_ends_differ(&change->old, old) ? " (its lines end with \\r\\n)" : "");
        return;
    }
    if (places > 1 && !json_bool(json_get(run->arguments, "all"), false)) {
        tool_reply_error(reply, "old text occurs %zu times in %s; give more context or set all", places, change->path);
        return;
    }
    if (new->len > old->len && (new->len - old->len) > CHANGE_BYTES_MAX / places) {
        tool_reply_error(reply, "%s would be larger than %u MB", change->path, CHANGE_BYTES_MAX >> 20);
        return;
    }
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    replace_all(&text, &change->old, old, new);
    propose_text(reply, &set, text.buf, text.len);
}

static void delete_file(struct tool_run *run, struct tool_reply *reply)
{
    CLEANUP(change_set) struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, run->env->root, argument(run, "path"), &err);
    if (!change) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    if (!change->old.exists) {
        tool_reply_error(reply, "%s does not exist", change->path);
        return;
    }
    if (refuse_link(reply, change))
        return;
    change_side_absent(&change->new);
    tool_reply_propose(reply, steal(&set));
}

/* The new path comes first in the set: if the commit stops in the middle, the bytes still exist. */
static void move_file(struct tool_run *run, struct tool_reply *reply)
{
    CLEANUP(change_set) struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    if (!change_set_add(set, run->env->root, argument(run, "to"), &err) ||
        !change_set_add(set, run->env->root, argument(run, "from"), &err)) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    struct change *to = &set->items[0], *from = &set->items[1];
    if (refuse_link(reply, from) || refuse_link(reply, to))
        return;
    if (!from->old.exists) {
        tool_reply_error(reply, "%s does not exist", from->path);
        return;
    }
    if (to->old.exists) {
        tool_reply_error(reply, "%s already exists; delete it first or choose another name", to->path);
        return;
    }
    change_set_moves(to, from);
    change_side_absent(&from->new);
    set->move = true;
    tool_reply_propose(reply, steal(&set));
}

static const char *const path_key[] = {"file:{path}", NULL};
static const char *const move_keys[] = {"file:{from}", "file:{to}", NULL};

#define SCHEMA(properties, required) \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],\"additionalProperties\":false}"
#define TEXT(name, description) "\"" name "\":{\"type\":\"string\",\"description\":\"" description "\"}"
#define NONEMPTY(name, description) \
    "\"" name "\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" description "\"}"

const struct tool tool_write_file = {
    .spec =
        {
            .name = "write_file",
            .description = "Write a whole file: a new one, or the full new content of an existing one. Creates missing "
                           "folders. The user reviews the diff. To change part of a file, use edit_file.",
            .effect = EFFECT_LOCAL_WRITE,
            .resource_keys = path_key,
            .parameters = SCHEMA(NONEMPTY("path", "file, relative to the project root") "," TEXT(
                                     "content", "the full content, including the newline at the end"),
                                 "\"path\",\"content\""),
        },
    .work = write_file,
};

const struct tool tool_edit_file = {
    .spec =
        {
            .name = "edit_file",
            .description =
                "Replace an exact piece of text in a file. The text must occur exactly once, unless all is set; "
                "white space and line ends count. The user reviews the diff.",
            .effect = EFFECT_LOCAL_WRITE,
            .resource_keys = path_key,
            .parameters = SCHEMA(
                NONEMPTY("path", "file, relative to the project root") "," NONEMPTY(
                    "old",
                    "the text to replace, "
                    "exactly as it is in "
                    "the file") "," TEXT("new", "the replacement; may be empty") ","
                                                                                 "\"all\":{\"type\":\"boolean\","
                                                                                 "\"default\":false,"
                                                                                 "\"description\":\"replace every "
                                                                                 "occurrence\"}",
                "\"path\",\"old\",\"new\""),
        },
    .work = edit_file,
};

const struct tool tool_delete_file = {
    .spec =
        {
            .name = "delete_file",
            .description = "Delete one file. Folders are not deleted. The user approves or denies it, and can undo it.",
            .effect = EFFECT_DESTRUCTIVE,
            .resource_keys = path_key,
            .parameters = SCHEMA(NONEMPTY("path", "file, relative to the project root"), "\"path\""),
        },
    .work = delete_file,
};

const struct tool tool_move_file = {
    .spec =
        {
            .name = "move_file",
            .description = "Move or rename one file. Creates missing folders; never overwrites a file. The user "
                           "approves or denies it.",
            .effect = EFFECT_LOCAL_WRITE,
            .resource_keys = move_keys,
            .parameters = SCHEMA(NONEMPTY("from", "file, relative to the project root") "," NONEMPTY(
                                     "to", "its new path, relative to the project root; must not exist yet"),
                                 "\"from\",\"to\""),
        },
    .work = move_file,
};
