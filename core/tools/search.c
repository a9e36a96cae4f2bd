/* search_files: a text or a regular expression in the files below a folder, in the order of their paths.
 *
 * Binary files are left out, and `.git`. The order is the same every time, so `offset` says where the next page
 * begins. */

#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/walk.h"
#include "line_reader.h"
#include "page.h"
#include "pattern.h"
#include "tool.h"
#include "workspace/glob.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define LINE_MAX_BYTES 65536
#define BINARY_PROBE   8192
#define TEXT_SHOWN     240 /* bytes of a line */
#define TEXT_BEFORE    80  /* of them before the match, when the line is longer */

struct search {
    struct tool_run *run;
    struct pattern *pattern;
    struct glob *glob;  /* NULL: every file */
    bool glob_on_name;  /* a glob without '/' is about the file's name, wherever it is */
    size_t below;       /* where the part of a path begins that the glob is about */
    int64_t skip, most; /* matches to leave out, to show */
    struct strbuf entries;
    struct json_writer w;
    int64_t seen, shown;
    size_t room;
    int64_t files, long_lines, unreadable;
    bool full; /* there is more than this page shows */
};

static void search_cleanup(struct search *search)
{
    pattern_free(search->pattern);
    glob_free(search->glob);
    strbuf_release(&search->entries);
}

static bool stopped(const struct search *search)
{
    return search->full || tool_run_cancelled(search->run);
}

/* The part of a long line around the match. */
static void shown_text(struct strbuf *out, const char *text, size_t len, size_t at)
{
    size_t begin = len > TEXT_SHOWN && at > TEXT_BEFORE ? at - TEXT_BEFORE : 0;
    while (begin > 0 && ((unsigned char)text[begin] & 0xC0) == 0x80)
        begin--;
    size_t end = len - begin > TEXT_SHOWN ? begin + TEXT_SHOWN : len;
    while (end < len && end > begin && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    if (begin > 0)
        strbuf_addstr(out, "…");
    strbuf_add(out, text + begin, end - begin);
    if (end < len)
        strbuf_addstr(out, "…");
}

static void add_match(struct search *search, const char *path, int64_t number, const char *text, size_t len, size_t at)
{
    if (search->seen++ < search->skip)
        return;
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    shown_text(&shown, text, len, at);
    size_t cost = page_cost(path, strlen(path)) + page_cost(shown.buf, shown.len) + 45;
    if (search->shown == search->most || (search->shown > 0 && cost > search->room)) {
        search->full = true;
        return;
    }
    search->room -= cost < search->room ? cost : search->room;
    search->shown++;
    json_open(&search->w, NULL, '{');
    json_add_str(&search->w, "path", path);
    json_add_int(&search->w, "line", number);
    json_add_strn(&search->w, "text", shown.buf, shown.len);
    json_close(&search->w, '}');
}

static bool wanted(const struct search *search, const char *path)
{
    if (!search->glob)
        return true;
    const char *slash = strrchr(path, '/');
    return glob_match(search->glob, search->glob_on_name ? (slash ? slash + 1 : path) : path + search->below);
}

/* Takes the descriptor's file as text; a binary one has a NUL near its beginning. */
static void search_open_file(struct search *search, const char *path, int fd)
{
    struct stat st;
    char probe[BINARY_PROBE];
    ssize_t got = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, probe, sizeof(probe), 0) : -1;
    if (got < 0) {
        search->unreadable++;
        return;
    }
    if (memchr(probe, '\0', (size_t)got))
        return;
    search->files++;
    CLEANUP(line_reader)
    struct line_reader *reader = line_reader_new(fd, 0, LINE_MAX_BYTES, &search->run->deadline.cancelled);
    struct line line;
    int64_t number = 0;
    while (!stopped(search) && line_reader_next(reader, &line) > 0) {
        number++;
        if (line.full > LINE_MAX_BYTES) {
            search->long_lines++;
            continue;
        }
        /* A carriage return belongs to the line end, so that `;$` means the same in every file. */
        size_t len = line.len - (line.len > 0 && line.text[line.len - 1] == '\r');
        size_t at;
        if (pattern_find(search->pattern, line.text, len, &at))
            add_match(search, path, number, line.text, len, at);
    }
}

static enum walk_next search_entry(void *user, const struct walk_entry *entry)
{
    struct search *search = user;
    if (entry->type == DT_REG && wanted(search, entry->path)) {
        const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        CLEANUP(fd) int fd = openat(entry->dir_fd, entry->name, flags);
        if (fd < 0)
            search->unreadable++;
        else
            search_open_file(search, entry->path, fd);
    }
    return stopped(search) ? WALK_STOP : WALK_CONTINUE;
}

static enum walk_next count_denied(void *user, const char *path, int code)
{
    struct search *search = user;
    (void)path;
    (void)code;
    search->unreadable++;
    return WALK_CONTINUE;
}

static void search_folder(struct search *search, const char *path, int fd)
{
    static const struct walk_visitor visitor = {.entry = search_entry, .denied = count_denied};
    struct walk_options options = {
        .order = WALK_BY_PATH, .skip_git = true, .cancelled = &search->run->deadline.cancelled};
    struct err ignored = ERR_INIT; /* the caller looks at the flag itself */
    (void)!walk_tree(fd, strcmp(path, ".") == 0 ? "" : path, &options, &visitor, search, &ignored);
}

/* Sets up what is looked for. False with the error in the reply. */
static bool prepare(struct search *search, struct tool_reply *reply)
{
    const struct json *arguments = search->run->arguments;
    const char *text = json_str(json_get(arguments, "pattern"), "");
    const char *glob = json_str(json_get(arguments, "glob"), NULL);
    bool regex = json_bool(json_get(arguments, "regex"), false);
    struct err err = ERR_INIT;
    if (!*text || strchr(text, '\n')) {
        tool_reply_error(reply,
                         *text ? "pattern must be on one line: lines are searched one by one" : "pattern is empty");
        return false;
    }
    search->pattern = pattern_new(text, regex, &err);
    if (search->pattern && glob) {
        search->glob = glob_new(glob, &err);
        search->glob_on_name = !strchr(glob, '/');
    }
    if (!search->pattern || (glob && !search->glob)) {
        tool_reply_error(reply, "%s", err.text);
        return false;
    }
    search->skip = json_int(json_get(arguments, "offset"), 0);
    search->most = json_int(json_get(arguments, "max"), PAGE_ENTRIES);
    if (search->most < 1 || search->most > PAGE_ENTRIES)
        search->most = search->most < 1 ? 1 : PAGE_ENTRIES;
    search->room = page_room(text);
    return true;
}

static void answer(const struct search *search, struct tool_reply *reply)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "pattern", json_str(json_get(search->run->arguments, "pattern"), ""));
    json_add_int(&w, "files_searched", search->files);
    if (search->long_lines)
        json_add_int(&w, "long_lines_skipped", search->long_lines);
    if (search->unreadable)
        json_add_int(&w, "unreadable", search->unreadable);
    json_add_bool(&w, "truncated", search->full);
    if (search->full)
        json_add_int(&w, "next_offset", search->skip + search->shown);
    json_open(&w, "entries", '[');
    strbuf_add(&out, search->entries.buf, search->entries.len);
    json_close(&w, ']');
    json_close(&w, '}');
    tool_reply_page(reply, strbuf_detach(&out, NULL));
}

static void search_files(struct tool_run *run, struct tool_reply *reply)
{
    CLEANUP(search)
    struct search search = {
        .run = run,
        .entries = STRBUF_INIT,
    };
    search.w = json_begin(&search.entries);
    if (!prepare(&search, reply))
        return;
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = beneath_clean(run->env->root, json_str(json_get(run->arguments, "path"), "."), &err);
    CLEANUP(fd) int fd = path ? beneath_openat(run->env->root, path, O_RDONLY, 0, &err) : -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    search.below = strcmp(path, ".") == 0 ? 0 : strlen(path) + 1;
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        tool_reply_error(reply, "%s is %s, neither a file nor a folder", path, beneath_kind(st.st_mode));
        return;
    }
    if (S_ISDIR(st.st_mode))
        search_folder(&search, path, fd);
    else
        search_open_file(&search, path, fd);
    if (tool_run_cancelled(run))
        tool_reply_error(reply, "cancelled after %lld files", (long long)search.files);
    else
        answer(&search, reply);
}

static const char *const search_key[] = {"search:{pattern}:{path}", NULL};

const struct tool tool_search_files = {
    .spec =
        {
            .name = "search_files",
            .description =
                "Find the lines that hold a text or match a regular expression, in all text files below a folder. "
                "At most 200 lines at a time; when there are more, the answer has next_offset.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .resource_keys = search_key,
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"description\":\"what to look for in a line\"},"
                "\"path\":{\"type\":\"string\",\"minLength\":1,\"default\":\".\","
                "\"description\":\"folder or file, relative to the workspace\"},"
                "\"regex\":{\"type\":\"boolean\",\"default\":false,"
                "\"description\":\"pattern is an extended regular expression\"},"
                "\"glob\":{\"type\":\"string\",\"minLength\":1,\"description\":\"only files that match: *.c by "
                "name, src/**/*.c by path below the folder\"},"
                "\"max\":{\"type\":\"integer\",\"minimum\":1,\"default\":200,"
                "\"description\":\"number of matching lines, at most 200\"},"
                "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,"
                "\"description\":\"leave out this many matches; next_offset of the page before\"}},"
                "\"required\":[\"pattern\"],\"additionalProperties\":false}",
        },
    .work = search_files,
};
