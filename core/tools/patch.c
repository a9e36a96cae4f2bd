#include "patch.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct patching {
    struct strbuf *out;
    const char *at, *end; /* what is left of the old text */
    long line;            /* of it, from 1 */
    struct err *err;
};

static size_t line_length(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? (size_t)(stop - at) : (size_t)(end - at);
}

/* Takes a line of the old text, its end too. */
static void pass(struct patching *patch, bool keep)
{
    size_t len = line_length(patch->at, patch->end);
    len += patch->at + len < patch->end;
    if (keep)
        strbuf_add(patch->out, patch->at, len);
    patch->at += len;
    patch->line++;
}

static int expect(struct patching *patch, const char *line, size_t len, bool keep)
{
    if (patch->at >= patch->end || line_length(patch->at, patch->end) != len || memcmp(patch->at, line, len) != 0)
        return err_set(patch->err, "line %ld of the file is not what the difference says", patch->line);
    pass(patch, keep);
    return 0;
}

/* "\ No newline at end of file" behind a line: what was put out last has none. */
static void take_newline_back(struct patching *patch)
{
    struct strbuf *out = patch->out;
    if (out->len && out->buf[out->len - 1] == '\n')
        strbuf_set_len(out, out->len - 1);
}

struct hunk {
    long old_line, old_left, new_left;
};

static bool read_head(const char *line, size_t len, struct hunk *hunk)
{
    char head[96];
    long old_count = 1, new_line, new_count = 1;
    int used = 0;
    if (len >= sizeof(head) || len < 4 || memcmp(line, "@@ -", 4) != 0)
        return false;
    memcpy(head, line, len);
    head[len] = '\0';
    const char *at = head + 4;
    if (sscanf(at, "%9ld%n", &hunk->old_line, &used) != 1)
        return false;
    at += used;
    if (*at == ',' && sscanf(at, ",%9ld%n", &old_count, &used) == 1)
        at += used;
    if (sscanf(at, " +%9ld%n", &new_line, &used) != 1)
        return false;
    at += used;
    if (*at == ',' && sscanf(at, ",%9ld%n", &new_count, &used) == 1)
        at += used;
    hunk->old_left = old_count;
    hunk->new_left = new_count;
    return strncmp(at, " @@", 3) == 0 && hunk->old_line >= 0 && old_count >= 0 && new_count >= 0;
}

static int begin_hunk(struct patching *patch, const struct hunk *hunk)
{
    /* One that takes nothing away stands behind the line it names. */
    long first = hunk->old_left ? hunk->old_line : hunk->old_line + 1;
    if (first < patch->line)
        return err_set(patch->err, "the difference goes backwards");
    while (patch->line < first && patch->at < patch->end)
        pass(patch, true);
    if (patch->line < first && hunk->old_left)
        return err_set(patch->err, "the file has no line %ld, which the difference names", first);
    return 0;
}

static int take_line(struct patching *patch, struct hunk *hunk, const char *line, size_t len)
{
    char kind = len ? *line : ' ';
    const char *body = len ? line + 1 : line;
    size_t body_len = len ? len - 1 : 0;
    if ((kind == ' ' || kind == '-') && hunk->old_left-- <= 0)
        return err_set(patch->err, "a hunk of the difference is longer than it says");
    if ((kind == ' ' || kind == '+') && hunk->new_left-- <= 0)
        return err_set(patch->err, "a hunk of the difference is longer than it says");
    if (kind == ' ')
        return expect(patch, body, body_len, true);
    if (kind == '-')
        return expect(patch, body, body_len, false);
    if (kind != '+')
        return err_set(patch->err, "a line of the difference begins with %c", kind);
    strbuf_add(patch->out, body, body_len);
    strbuf_addch(patch->out, '\n');
    return 0;
}

int patch_apply(struct strbuf *out, const char *old, size_t old_len, const char *text, struct err *err)
{
    struct patching patch = {.out = out, .at = old, .end = old + old_len, .line = 1, .err = err};
    struct hunk hunk = {0};
    size_t hunks = 0;
    bool added = false; /* the line before was one that is put out */
    const char *end = text + strlen(text);
    for (const char *line = text; line < end;) {
        size_t len = line_length(line, end);
        bool inside = hunk.old_left > 0 || hunk.new_left > 0;
        if (hunks && len && *line == '\\') {
            if (added)
                take_newline_back(&patch);
        } else if (inside) {
            added = len && *line == '+';
            if (take_line(&patch, &hunk, line, len))
                return -1;
        } else if (read_head(line, len, &hunk)) {
            hunks++;
            if (begin_hunk(&patch, &hunk))
                return -1;
        }
        line += len + (line + len < end);
    }
    if (!hunks)
        return err_set(err, "there is no difference in the text");
    if (hunk.old_left > 0 || hunk.new_left > 0)
        return err_set(err, "the difference is cut off");
    strbuf_add(out, patch.at, (size_t)(patch.end - patch.at));
    return 0;
}
