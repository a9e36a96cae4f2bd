/* Writes: the proposal with its whole diff, who decided what and why, and what was then written. The diff is shown
 * together with the decision, because only then is it known which hunks were kept. */

#include "base/utf8.h"
#include "plain_inside.h"
#include <string.h>

#define DIFF_LINES_MAX 400 /* of one file; the transcript has all of them */

/* Which hunks of a file the decision kept. */
struct keeping {
    enum { KEEP_ALL, KEEP_NONE, KEEP_SOME } how;
    const struct json *hunks; /* numbers from 1; of KEEP_SOME */
    bool say;                 /* worth a word at every hunk */
};

static bool is_kept(const struct keeping *keeping, int64_t hunk)
{
    if (keeping->how != KEEP_SOME)
        return keeping->how == KEEP_ALL;
    json_each (number, keeping->hunks) {
        if (json_int(number, 0) == hunk)
            return true;
    }
    return false;
}

static struct keeping keeping_of(const char *decision, const struct json *hunks, const char *path)
{
    struct keeping keeping = {.how = KEEP_ALL};
    if (!decision)
        return keeping;
    if (strcmp(decision, "partial") != 0) {
        keeping.how = strcmp(decision, "approved") == 0 || strcmp(decision, "edited") == 0 ? KEEP_ALL : KEEP_NONE;
        return keeping;
    }
    keeping.say = true;
    keeping.how = KEEP_NONE; /* a file that is not named is not written */
    json_each (item, hunks) {
        if (strcmp(json_str(json_get(item, "path"), ""), path) == 0) {
            keeping.how = KEEP_SOME;
            keeping.hunks = json_get(item, "keep");
        }
    }
    return keeping;
}

/* Diffs */

static enum ink line_ink(char first, bool kept)
{
    if (!kept)
        return INK_DIM;
    return first == '+' ? INK_GOOD : first == '-' ? INK_BAD : first == '@' ? INK_MARK : INK_NONE;
}

static void diff_line(struct plain *plain, const char *line, size_t len, bool kept, const char *mark)
{
    size_t indent = plain_call_indent(plain);
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    text_show(&shown, line, len, UTF8_KEEP_TAB);
    if (mark) {
        size_t columns = plain->style.width > indent + strlen(mark) ? plain->style.width - indent - strlen(mark) : 0;
        strbuf_addch(&shown, ' ');
        text_pad(&shown, 0, columns);
        strbuf_addstr(&shown, mark);
    }
    plain_indent(plain, indent);
    plain_inked(plain, line_ink(line[0], kept), shown.buf);
    plain_newline(plain);
}

static bool is_header(const char *line, size_t len)
{
    return (len >= 4 && (memcmp(line, "--- ", 4) == 0 || memcmp(line, "+++ ", 4) == 0)) ||
           (len >= 5 && memcmp(line, "diff ", 5) == 0) || (len >= 6 && memcmp(line, "index ", 6) == 0);
}

static void show_diff(struct plain *plain, const char *diff, const struct keeping *keeping)
{
    int64_t hunk = 0;
    size_t lines = 0, left_out = 0;
    bool kept = keeping->how != KEEP_NONE;
    for (const char *at = diff; *at;) {
        size_t len = strcspn(at, "\n");
        bool heading = len >= 2 && memcmp(at, "@@", 2) == 0;
        /* The file has a line of its own already; within a hunk "--- x" is a removed line. */
        bool header = hunk == 0 && !heading && is_header(at, len);
        if (heading)
            kept = is_kept(keeping, ++hunk);
        if (!header && ++lines > DIFF_LINES_MAX)
            left_out++;
        else if (!header)
            diff_line(plain, at, len, kept, heading && keeping->say ? kept ? "kept" : "dropped" : NULL);
        at += len + (at[len] == '\n');
    }
    if (left_out) {
        CLEANUP(strbuf) struct strbuf more = STRBUF_INIT;
        strbuf_addf(&more, "%s ", text_ellipsis());
        text_plural(&more, (int64_t)left_out, "more line", "more lines");
        plain_indent(plain, plain_call_indent(plain));
        plain_inked(plain, INK_DIM, more.buf);
        plain_newline(plain);
    }
}

static const char *kind_of(const struct json *file)
{
    if (strcmp(json_str(json_get(file, "old_digest"), ""), "absent") == 0)
        return ", new file";
    if (strcmp(json_str(json_get(file, "new_digest"), ""), "absent") == 0)
        return ", deleted";
    return "";
}

static void show_note(struct plain *plain, const char *text)
{
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph_inked(plain, INK_WARN, text, plain_call_indent(plain));
}

/* Where it goes, why that matters, and what it cannot keep. */
static void show_notes(struct plain *plain, const struct json *file)
{
    static const char *const guards[] = {"protected", "dangerous"};
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        const char *why = json_str(json_get(file, guards[i]), NULL);
        strbuf_reset(&line);
        strbuf_addf(&line, "%s: ", guards[i]);
        if (why) {
            text_name(&line, why);
            show_note(plain, line.buf);
        }
    }
    const char *through = json_str(json_get(file, "through"), NULL);
    strbuf_reset(&line);
    strbuf_addstr(&line, "through the link ");
    if (through) {
        text_name(&line, through);
        show_note(plain, line.buf);
    }
    strbuf_reset(&line);
    bool goes = strcmp(json_str(json_get(file, "new_digest"), ""), "absent") == 0;
    json_each (loss, json_get(file, "loses")) {
        strbuf_addstr(&line, line.len ? ", " : goes ? "undo does not bring back: " : "does not keep: ");
        text_name(&line, json_str(loss, "?"));
    }
    if (line.len)
        show_note(plain, line.buf);
}

static void show_file(struct plain *plain, const struct json *file, const struct keeping *keeping)
{
    const char *path = json_str(json_get(file, "path"), "?");
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    bool binary = json_bool(json_get(file, "binary"), false);
    text_name_cut(&line, path, plain->style.width - plain_call_indent(plain) - 30);
    strbuf_addstr(&line, "  +");
    text_count(&line, json_int(json_get(file, "added"), 0));
    strbuf_addstr(&line, " -");
    text_count(&line, json_int(json_get(file, "removed"), 0));
    strbuf_addf(&line, "%s%s", kind_of(file), binary ? ", binary" : "");
    if (keeping->say && keeping->how == KEEP_NONE)
        strbuf_addstr(&line, ", dropped");
    plain_indent(plain, plain_call_indent(plain));
    plain_inked(plain, INK_BOLD, line.buf);
    plain_newline(plain);
    show_notes(plain, file);
    const char *diff = json_str(json_get(file, "diff"), NULL);
    if (diff && !binary)
        show_diff(plain, diff, keeping);
}

/* Questions */

static void ask_release(struct plain *plain, size_t index)
{
    free(plain->asks[index].id);
    free(plain->asks[index].call);
    free(plain->asks[index].files);
    memmove(&plain->asks[index], &plain->asks[index + 1], (plain->ask_count - index - 1) * sizeof(*plain->asks));
    plain->ask_count--;
}

static void show_ask(struct plain *plain, const struct plain_ask *ask, const char *decision, const struct json *hunks)
{
    plain_call_introduce(plain, plain_call(plain, ask->call, NULL));
    json_each (file, plain_json(plain, ask->files)) {
        struct keeping keeping = keeping_of(decision, hunks, json_str(json_get(file, "path"), "?"));
        show_file(plain, file, &keeping);
    }
}

void plain_write_proposed(struct plain *plain, const struct event_write_proposed *proposed)
{
    GROW(plain->asks, plain->ask_count, plain->ask_room);
    plain->asks[plain->ask_count++] = (struct plain_ask){
        .id = xstrdup(proposed->ask ? proposed->ask : ""),
        .call = xstrdup(proposed->call ? proposed->call : "?"),
        .files = xstrdup(proposed->files ? proposed->files : "[]"),
    };
}

void plain_write_pending(struct plain *plain, const char *call)
{
    for (size_t i = 0; i < plain->ask_count;) {
        if (call && strcmp(plain->asks[i].call, call) != 0) {
            i++;
            continue;
        }
        show_ask(plain, &plain->asks[i], NULL, NULL);
        plain_indent(plain, plain_call_indent(plain));
        plain_inked(plain, INK_WARN, "not decided");
        plain_newline(plain);
        ask_release(plain, i);
    }
}

/* "1 of 2 hunks" */
static void add_hunk_counts(struct strbuf *out, const struct json *hunks)
{
    int64_t kept = 0, of = 0;
    json_each (item, hunks) {
        const struct json *keep = json_get(item, "keep");
        kept += keep ? keep->count : 0;
        of += json_int(json_get(item, "of"), 0);
    }
    strbuf_addf(out, ", %lld of ", (long long)kept);
    text_plural(out, of, "hunk", "hunks");
}

/* Comes before the decision it belongs to. */
void plain_write_edited(struct plain *plain, const struct event_edited *edited)
{
    free(plain->edit);
    plain->edit = edited->after ? xstrdup(edited->after) : NULL;
}

static void show_edit(struct plain *plain)
{
    json_each (file, plain_json(plain, plain->edit)) {
        const char *path = json_str(json_get(file, "path"), "?");
        const char *text = json_str(json_get(file, "text"), NULL);
        size_t lines = 0;
        plain_indent(plain, plain_call_indent(plain));
        text_name_cut(plain->out, path, plain->style.width / 2);
        strbuf_addstr(plain->out, text ? " as edited:" : " is not to be there");
        plain_newline(plain);
        for (const char *at = text ? text : ""; *at && lines < DIFF_LINES_MAX; lines++) {
            size_t len = strcspn(at, "\n");
            CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
            strbuf_addch(&line, '|');
            strbuf_add(&line, at, len);
            diff_line(plain, line.buf, line.len, true, NULL);
            at += len + (at[len] == '\n');
        }
    }
    free(plain->edit);
    plain->edit = NULL;
}

void plain_write_decided(struct plain *plain, const struct event_write_decided *decided)
{
    const char *decision = decided->decision ? decided->decision : "?";
    const struct json *hunks = plain_json(plain, decided->hunks);
    for (size_t i = 0; i < plain->ask_count; i++)
        if (decided->ask && strcmp(plain->asks[i].id, decided->ask) == 0) {
            show_ask(plain, &plain->asks[i], decision, hunks);
            plain_call(plain, plain->asks[i].call, NULL)->decided = true;
            ask_release(plain, i);
            break;
        }
    bool partial = strcmp(decision, "partial") == 0;
    bool no = strcmp(decision, "denied") == 0 || strcmp(decision, "expired") == 0;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, partial ? "approved in part" : decision);
    strbuf_addstr(&line, " by ");
    text_name(&line, decided->by ? decided->by : "?");
    if (partial)
        add_hunk_counts(&line, hunks);
    if (decided->waited_ms > 0) {
        strbuf_addstr(&line, " after ");
        text_ms(&line, decided->waited_ms);
    }
    if (decided->reason && *decided->reason)
        strbuf_addf(&line, ": %s", decided->reason);
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph_inked(plain, no ? INK_WARN : INK_GOOD, line.buf, plain_call_indent(plain));
    if (plain->edit)
        show_edit(plain);
}

void plain_write_applied(struct plain *plain, const struct event_write_applied *applied)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    plain_call_introduce(plain, plain_call(plain, applied->call, NULL));
    json_each (file, plain_json(plain, applied->files)) {
        strbuf_addstr(&line, line.len ? ", " : "wrote ");
        text_name(&line, json_str(json_get(file, "path"), "?"));
        strbuf_addstr(&line, " +");
        text_count(&line, json_int(json_get(file, "added"), 0));
        strbuf_addstr(&line, " -");
        text_count(&line, json_int(json_get(file, "removed"), 0));
    }
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph(plain, line.len ? line.buf : "the call was made; what it wrote was not shown before", plain_call_indent(plain));
}

void plain_write_undone(struct plain *plain, const struct event_write_undone *undone)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, undone->checkpoint ? undone->checkpoint : "?");
    const char *before = ": ";
    json_each (path, plain_json(plain, undone->paths)) {
        strbuf_addstr(&line, before);
        text_name(&line, json_str(path, "?"));
        before = ", ";
    }
    plain_label(plain, INK_WARN, "undone");
    plain_paragraph(plain, line.buf, GUTTER);
}
