/* search_files: finds a text or a regular expression in the files below a folder, in the order of their paths.
 *
 * The tool compiles the pattern, walks the folder, and reads each text file line by line. It skips binary files and
 * `.git`. The order is the same every time, so `offset` says where the next page begins.
 *
 * Regular expressions are PCRE2. It backtracks, so some expressions take exponential time. Limits keep them harmless:
 *
 * Compiling: the length of an expression and the depth of its groups are bounded.
 *
 * Steps and memory: PCRE2 counts both (MATCH_LIMIT, HEAP_LIMIT_KIB). But it restarts the step count at each position
 * where a match may begin, and one step may scan the whole line. So this bounds memory, not time.
 *
 * Time: a callout runs before each item of the expression. It ends the match if the call was canceled, or if all lines
 * of the search together used up the CPU time in pattern_new.
 *
 * JIT is off: it ignores the memory limit and needs memory that is writable and executable. */

#include "search.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "output_limit.h"
#include "tool.h"
#include "workspace/glob.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define LINE_MAX_BYTES 65536
#define BINARY_PROBE   8192
#define TEXT_SHOWN     240 /* bytes of a line */
#define TEXT_BEFORE    80  /* of them before the match, when the line is longer */

#define PATTERN_MAX_BYTES   4096    /* far above what a person writes */
#define GROUP_DEPTH_MAX     64      /* compiling recurses once per group */
#define MATCH_LIMIT         1000000 /* steps from one position: about 20 ms */
#define HEAP_LIMIT_KIB      16384   /* bounds the backtracking depth too */
#define CALLOUTS_PER_CLOCK  64      /* a clock call costs about as much as 20 callouts */
#define UNMEASURED_LINE_MAX 512     /* bytes */

struct pattern {
    char *text; /* a plain one; NULL for an expression */
    size_t len;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *match;
    const atomic_bool *cancelled;
    uint64_t callouts; /* of the present line */
    int64_t cpu_limit_ns;
    int64_t cpu_start_ns, cpu_ns; /* CPU time when the current line began, 0 if not measured; CPU time of the lines
                                   * before it */
};

static int64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Runs before each item of the expression. A negative number ends the match with that error. */
static int pattern_callout(pcre2_callout_block *block, void *data)
{
    struct pattern *pattern = data;
    (void)block;
    if (pattern->cancelled && atomic_load_explicit(pattern->cancelled, memory_order_relaxed))
        return PCRE2_ERROR_NOMATCH;
    if (++pattern->callouts % CALLOUTS_PER_CLOCK)
        return 0;
    int64_t now_ns = thread_cpu_ns();
    if (!pattern->cpu_start_ns)
        pattern->cpu_start_ns = now_ns;
    int64_t used_ns = pattern->cpu_ns + now_ns - pattern->cpu_start_ns;
    return used_ns > pattern->cpu_limit_ns ? PCRE2_ERROR_CALLOUT : 0;
}

static pcre2_code *compile_pattern(const char *text, struct err *err)
{
    if (strncmp(text, "(*", 2) == 0) { /* options that would change the limits, the line ends or the character set */
        err_set(err, "bad regular expression: it may not begin with (*");
        return NULL;
    }
    if (strlen(text) > PATTERN_MAX_BYTES) {
        err_set(err, "the regular expression is longer than %d bytes", PATTERN_MAX_BYTES);
        return NULL;
    }
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_max_pattern_length(context, PATTERN_MAX_BYTES);
    pcre2_set_parens_nest_limit(context, GROUP_DEPTH_MAX);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF); /* lines come one by one: a carriage return inside is a character */
    int code;
    size_t at;
    pcre2_code *compiled = pcre2_compile(
        (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
        PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &code, &at, context);
    pcre2_compile_context_free(context);
    if (!compiled) {
        char why[256];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
        err_set(err, "bad regular expression at character %zu: %s", utf8_count(text, at) + 1, why);
    }
    return compiled;
}

struct pattern *pattern_new(const char *text, bool regex, int64_t cpu_ms, const atomic_bool *cancelled, struct err *err)
{
    pcre2_code *code = regex ? compile_pattern(text, err) : NULL;
    if (regex && !code)
        return NULL;
    struct pattern *pattern = xcalloc(1, sizeof(*pattern));
    pattern->cancelled = cancelled;
    pattern->cpu_limit_ns = cpu_ms * 1000000;
    if (!regex) {
        pattern->text = xstrdup(text);
        pattern->len = strlen(text);
        return pattern;
    }
    pattern->code = code;
    pattern->match = pcre2_match_data_create(1, NULL); /* only the start of a match is needed */
    pattern->limits = pcre2_match_context_create(NULL);
    if (!pattern->match || !pattern->limits)
        BUG("out of memory");
    pcre2_set_match_limit(pattern->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(pattern->limits, HEAP_LIMIT_KIB);
    pcre2_set_callout(pattern->limits, pattern_callout, pattern);
    return pattern;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    free(pattern->text);
    pcre2_match_context_free(pattern->limits);
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    free(pattern);
}

enum pattern_result pattern_find(struct pattern *pattern, const char *line, size_t len, size_t *at)
{
    if (pattern->text) {
        const char *found = memmem(line, len, pattern->text, pattern->len);
        if (found)
            *at = (size_t)(found - line);
        return found ? PATTERN_FOUND : PATTERN_NOT_FOUND;
    }
    /* A short line is measured only if it needs many callouts: reading the clock would cost more than the match. */
    pattern->callouts = 0;
    pattern->cpu_start_ns = len > UNMEASURED_LINE_MAX ? thread_cpu_ns() : 0;
    int rc = pcre2_match(pattern->code, (PCRE2_SPTR)line, len, 0, 0, pattern->match, pattern->limits);
    if (pattern->cpu_start_ns)
        pattern->cpu_ns += thread_cpu_ns() - pattern->cpu_start_ns;
    if (rc >= 0)
        *at = pcre2_get_ovector_pointer(pattern->match)[0];
    if (rc == PCRE2_ERROR_NOMATCH)
        return PATTERN_NOT_FOUND;
    return rc >= 0 ? PATTERN_FOUND : PATTERN_TOO_EXPENSIVE; /* other errors: a limit, or a recursion without end */
}

struct search {
    struct tool_run *run;
    struct pattern *pattern;
    struct glob *glob;  /* NULL: every file */
    bool glob_on_name;  /* a glob without '/' is matched against the file's name in any folder */
    size_t below;       /* where the part of a path begins that the glob is matched against */
    int64_t skip, most; /* matches to leave out, to show */
    struct strbuf entries;
    struct json_writer w;
    int64_t seen, shown;
    size_t room;
    int64_t files, long_lines, unreadable;
    bool full;     /* there are more matches than this page shows */
    char *failure; /* why the search ended early, or NULL */
};

static void search_cleanup(struct search *search)
{
    pattern_free(search->pattern);
    glob_free(search->glob);
    strbuf_release(&search->entries);
    free(search->failure);
}

static bool stopped(const struct search *search)
{
    return search->full || search->failure || tool_run_cancelled(search->run);
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
    size_t cost = output_limit_cost(path, strlen(path)) + output_limit_cost(shown.buf, shown.len) + 45;
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
        enum pattern_result result = pattern_find(search->pattern, line.text, len, &at);
        if (result == PATTERN_FOUND)
            add_match(search, path, number, line.text, len, at);
        else if (result == PATTERN_TOO_EXPENSIVE)
            search->failure =
                xasprintf("the pattern is too expensive for %s:%lld; simplify it", path, (long long)number);
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
    struct err ignored = ERR_INIT; /* the caller checks the flag itself */
    (void)!walk_tree(fd, strcmp(path, ".") == 0 ? "" : path, &options, &visitor, search, &ignored);
}

/* Sets up the search. Returns false with the error in the reply. */
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
    search->pattern = pattern_new(text, regex, PATTERN_CPU_MS, &search->run->deadline.cancelled, &err);
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
    search->room = output_limit_room(text);
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
        tool_reply_error(reply, "canceled after %lld files", (long long)search.files);
    else if (search.failure)
        tool_reply_error(reply, "%s", search.failure);
    else
        answer(&search, reply);
}

static const char *const search_key[] = {"search:{pattern}:{path}", NULL};

const struct tool tool_search_files = {
    .spec =
        {
            .name = "search_files",
            .description =
                "Find the lines that contain a text or match a regular expression, in all text files below a folder. "
                "At most 200 lines at a time; when there are more, the answer has next_offset.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .resource_keys = search_key,
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"pattern\":{\"type\":\"string\",\"minLength\":1,\"description\":\"text or pattern to find in a "
                "line\"},"
                "\"path\":{\"type\":\"string\",\"minLength\":1,\"default\":\".\","
                "\"description\":\"folder or file, relative to the project root\"},"
                "\"regex\":{\"type\":\"boolean\",\"default\":false,"
                "\"description\":\"pattern is a regular expression (PCRE2)\"},"
                "\"glob\":{\"type\":\"string\",\"minLength\":1,\"description\":\"only files that match: *.c by "
                "name, src/**/*.c by path below the folder\"},"
                "\"max\":{\"type\":\"integer\",\"minimum\":1,\"default\":200,"
                "\"description\":\"number of matching lines, at most 200\"},"
                "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,"
                "\"description\":\"skip this many matches; next_offset of the previous page\"}},"
                "\"required\":[\"pattern\"],\"additionalProperties\":false}",
        },
    .work = search_files,
};

/* ---- get_context_pack ---- */

#define PACK_DEFAULT 8
#define PACK_MAX     50

static void get_context_pack(struct tool_run *run, struct tool_reply *reply)
{
    struct context_source *source = run->env->context;
    if (!source) {
        tool_reply_error(reply, "context search is off in this session; use search_files and read_file");
        reply->final = true;
        return;
    }
    int64_t limit = json_int(json_get(run->arguments, "max"), PACK_DEFAULT);
    if (limit < 1)
        limit = 1;
    if (limit > PACK_MAX)
        limit = PACK_MAX;
    const char *query = json_str(json_get(run->arguments, "query"), "");
    CLEANUP(free) char *pack = source->pack(source, query, (size_t)limit, &run->deadline.cancelled);
    if (!pack) {
        tool_reply_error(reply, tool_run_cancelled(run) ? "canceled" : "context search failed");
        return;
    }
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "query", query);
    json_add_raw(&w, "entries", pack);
    json_close(&w, '}');
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}

static const char *const query_key[] = {"context:{query}", NULL};

const struct tool tool_get_context_pack = {
    .spec =
        {
            .name = "get_context_pack",
            .description = "Find the passages of project files that best match a question, with their paths.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .resource_keys = query_key,
            .parameters = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"minLength\":1,"
                          "\"description\":\"what you want to know, in a few words\"},\"max\":{\"type\":\"integer\","
                          "\"minimum\":1,\"maximum\":50,\"default\":8,\"description\":\"at most this many passages\"}},"
                          "\"required\":[\"query\"],\"additionalProperties\":false}",
        },
    .work = get_context_pack,
};
