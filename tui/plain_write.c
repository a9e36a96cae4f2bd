/* Writes: the proposal with its whole diff, who decided what and why, and what was then written. The diff is shown
 * together with the decision, because only then is it known which hunks were kept. */

#include "base/utf8.h"
#include "plain_inside.h"
#include <string.h>

#define DIFF_LINES_MAX 400 /* of one file; the transcript has all of them */

/* Which hunks of a file the decision kept. */
struct keeping {
    enum { KEEP_ALL, KEEP_NONE, KEEP_SOME } how;
    struct event_ints hunks; /* numbers from 1; of KEEP_SOME */
    bool say;                /* worth a word at every hunk */
};

static bool is_kept(const struct keeping *keeping, int64_t hunk)
{
    if (keeping->how != KEEP_SOME)
        return keeping->how == KEEP_ALL;
    for (size_t i = 0; i < keeping->hunks.count; i++)
        if (keeping->hunks.items[i] == hunk)
            return true;
    return false;
}

/* `decided` NULL: nobody decided. */
static struct keeping keeping_of(const struct event_write_decided *decided, const char *path)
{
    struct keeping keeping = {.how = KEEP_ALL};
    if (!decided)
        return keeping;
    const char *decision = decided->decision ? decided->decision : "?";
    if (strcmp(decision, "partial") != 0) {
        keeping.how = strcmp(decision, "approved") == 0 || strcmp(decision, "edited") == 0 ? KEEP_ALL : KEEP_NONE;
        return keeping;
    }
    keeping.say = true;
    keeping.how = KEEP_NONE; /* a file that is not named is not written */
    for (size_t i = 0; i < decided->hunks.count; i++) {
        const struct event_hunk_choice *choice = &decided->hunks.items[i];
        if (strcmp(choice->path ? choice->path : "", path) == 0) {
            keeping.how = KEEP_SOME;
            keeping.hunks = choice->keep;
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

static bool is_absent(const char *digest)
{
    return digest && strcmp(digest, "absent") == 0;
}

static const char *kind_of(const struct event_proposed_file *file)
{
    return is_absent(file->old_digest) ? ", new file" : is_absent(file->new_digest) ? ", deleted" : "";
}

static void show_line(struct plain *plain, const char *text)
{
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph_inked(plain, INK_WARN, text, plain_call_indent(plain));
}

/* `note` may be NULL: then there is nothing to say. */
static void show_note(struct plain *plain, const char *label, const char *note)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    if (!note)
        return;
    strbuf_addstr(&line, label);
    text_name(&line, note);
    show_line(plain, line.buf);
}

/* Where it goes, why that matters, and what it cannot keep. */
static void show_notes(struct plain *plain, const struct event_proposed_file *file)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    const char *label = is_absent(file->new_digest) ? "undo does not bring back: " : "does not keep: ";
    show_note(plain, "protected: ", file->protected);
    show_note(plain, "dangerous: ", file->dangerous);
    show_note(plain, "asked through a link as ", file->through);
    for (size_t i = 0; i < file->loses.count; i++) {
        strbuf_addstr(&line, i ? ", " : label);
        text_name(&line, file->loses.items[i] ? file->loses.items[i] : "?");
    }
    if (line.len)
        show_line(plain, line.buf);
}

static const char *path_of(const struct event_proposed_file *file)
{
    return file->path ? file->path : "?";
}

static void show_file(struct plain *plain, const struct event_proposed_file *file, const struct keeping *keeping)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name_cut(&line, path_of(file), plain->style.width - plain_call_indent(plain) - 30);
    strbuf_addstr(&line, "  +");
    text_count(&line, file->added);
    strbuf_addstr(&line, " -");
    text_count(&line, file->removed);
    strbuf_addf(&line, "%s%s", kind_of(file), file->binary ? ", binary" : "");
    if (keeping->say && keeping->how == KEEP_NONE)
        strbuf_addstr(&line, ", dropped");
    plain_indent(plain, plain_call_indent(plain));
    plain_inked(plain, INK_BOLD, line.buf);
    plain_newline(plain);
    show_notes(plain, file);
    if (file->diff && !file->binary)
        show_diff(plain, file->diff, keeping);
}

/* Questions */

static void ask_release(struct plain *plain, size_t index)
{
    arena_release(&plain->asks[index].arena);
    memmove(&plain->asks[index], &plain->asks[index + 1], (plain->ask_count - index - 1) * sizeof(*plain->asks));
    plain->ask_count--;
}

static void show_ask(struct plain *plain, const struct plain_ask *ask, const struct event_write_decided *decided)
{
    const struct event_proposed_file_list *files = &ask->proposed->files;
    plain_call_introduce(plain, plain_call(plain, ask->proposed->call, NULL));
    for (size_t i = 0; i < files->count; i++) {
        struct keeping keeping = keeping_of(decided, path_of(&files->items[i]));
        show_file(plain, &files->items[i], &keeping);
    }
}

void plain_write_proposed(struct plain *plain, const struct event *event)
{
    struct event proposed = *event;
    struct plain_ask ask = {.arena = ARENA_INIT};
    proposed.raw = NULL; /* nobody shows the line */
    ask.proposed = &event_copy(&ask.arena, &proposed)->write_proposed;
    GROW(plain->asks, plain->ask_count, plain->ask_room);
    plain->asks[plain->ask_count++] = ask;
}

void plain_write_pending(struct plain *plain, const char *call)
{
    for (size_t i = 0; i < plain->ask_count;) {
        const char *asking = plain->asks[i].proposed->call;
        if (call && strcmp(asking ? asking : "?", call) != 0) {
            i++;
            continue;
        }
        show_ask(plain, &plain->asks[i], NULL);
        plain_indent(plain, plain_call_indent(plain));
        plain_inked(plain, INK_WARN, "not decided");
        plain_newline(plain);
        ask_release(plain, i);
    }
}

/* "1 of 2 hunks" */
static void add_hunk_counts(struct strbuf *out, const struct event_hunk_choice_list *hunks)
{
    int64_t kept = 0, of = 0;
    for (size_t i = 0; i < hunks->count; i++) {
        kept += (int64_t)hunks->items[i].keep.count;
        of += hunks->items[i].of;
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
    for (size_t i = 0; i < plain->ask_count; i++) {
        const struct event_write_proposed *proposed = plain->asks[i].proposed;
        if (decided->ask && strcmp(proposed->ask ? proposed->ask : "", decided->ask) == 0) {
            show_ask(plain, &plain->asks[i], decided);
            plain_call(plain, proposed->call, NULL)->decided = true;
            ask_release(plain, i);
            break;
        }
    }
    bool partial = strcmp(decision, "partial") == 0;
    bool no = strcmp(decision, "denied") == 0 || strcmp(decision, "expired") == 0;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, partial ? "approved in part" : decision);
    strbuf_addstr(&line, " by ");
    text_name(&line, decided->by ? decided->by : "?");
    if (partial)
        add_hunk_counts(&line, &decided->hunks);
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
    for (size_t i = 0; i < applied->files.count; i++) {
        const struct event_applied_file *file = &applied->files.items[i];
        strbuf_addstr(&line, i ? ", " : "wrote ");
        text_name(&line, file->path ? file->path : "?");
        strbuf_addstr(&line, " +");
        text_count(&line, file->added);
        strbuf_addstr(&line, " -");
        text_count(&line, file->removed);
    }
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph(plain, line.len ? line.buf : "the call was made; what it wrote was not shown before", plain_call_indent(plain));
}

void plain_write_undone(struct plain *plain, const struct event_write_undone *undone)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, undone->checkpoint ? undone->checkpoint : "?");
    for (size_t i = 0; i < undone->paths.count; i++) {
        strbuf_addstr(&line, i ? ", " : ": ");
        text_name(&line, undone->paths.items[i] ? undone->paths.items[i] : "?");
    }
    plain_label(plain, INK_WARN, "undone");
    plain_paragraph(plain, line.buf, GUTTER);
}
