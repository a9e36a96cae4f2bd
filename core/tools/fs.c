/* The tools that read: list_dir and read_file. Their answers are pages (output_limit.h). Text without line ends (an
 * artifact is one long line) is paged by bytes. */

#include "artifact.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "output_limit.h"
#include "tool.h"
#include "workspace/versions.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define COUNT_LINES_BELOW (64u << 20) /* larger files are not read to their end just to count lines */
#define BINARY_PROBE      8192

/* ---- list_dir ---- */

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

/* Writes one entry and returns its cost in characters. */
static size_t write_entry(struct json_writer *w, int folder, const char *name)
{
    struct stat st;
    json_open(w, NULL, '{');
    json_add_str(w, "name", name);
    size_t cost = output_limit_cost(name, strlen(name));
    if (!utf8_valid(name, strlen(name)))
        json_add_bool(w, "lossy", true); /* so a call cannot name it */
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        json_add_str(w, "type", type_name(st.st_mode));
        char target[PATH_MAX];
        ssize_t len = S_ISLNK(st.st_mode) ? readlinkat(folder, name, target, sizeof(target)) : -1;
        if (len >= 0) {
            json_add_strn(w, "target", target, (size_t)len);
            cost += output_limit_cost(target, (size_t)len);
        }
        if (S_ISREG(st.st_mode))
            json_add_int(w, "size", st.st_size);
    } else {
        json_add_str(w, "type", "unknown");
    }
    json_close(w, '}');
    return cost + 70;
}

struct dir_names {
    char **items;
    size_t count, room;
};

static void dir_names_cleanup(struct dir_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static enum walk_next add_name(void *user, const struct walk_entry *entry)
{
    struct dir_names *names = user;
    GROW(names->items, names->count, names->room);
    names->items[names->count++] = xstrdup(entry->name);
    return WALK_SKIP;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(struct dir_names *names, int fd, const atomic_bool *cancelled, struct err *err)
{
    static const struct walk_visitor visitor = {.entry = add_name};
    struct walk_options options = {.order = WALK_ANY, .cancelled = cancelled};
    int status = walk_tree(fd, "", &options, &visitor, names, err);
    if (names->count)
        qsort(names->items, names->count, sizeof(*names->items), by_bytes);
    return status;
}

static void list_dir(struct tool_run *run, struct tool_reply *reply)
{
    struct err err = ERR_INIT;
    const char *given = json_str(json_get(run->arguments, "path"), ".");
    CLEANUP(free) char *path = beneath_clean(run->env->root, given, &err);
    if (!path) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    CLEANUP(fd) int fd = beneath_openat(run->env->root, path, O_RDONLY | O_DIRECTORY, 0, &err);
    if (fd < 0) {
        struct stat st;
        struct err ignored = ERR_INIT;
        if (err.code == ENOTDIR && beneath_lstat(run->env->root, path, &st, &ignored) == 0)
            tool_reply_error(reply, "%s is %s, not a folder", path, beneath_kind(st.st_mode));
        else
            tool_reply_error(reply, "%s", err.text);
        return;
    }
    CLEANUP(dir_names) struct dir_names names = {0};
    if (read_names(&names, fd, &run->deadline.cancelled, &err) < 0) {
        tool_reply_error(reply, "cannot list %s: %s", path,
                         err.code == ECANCELED ? "canceled" : strerrordesc_np(err.code));
        return;
    }
    int64_t offset = json_int(json_get(run->arguments, "offset"), 0);
    size_t first = offset > 0 ? (size_t)offset : 0, next = first;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", path);
    json_add_int(&w, "total", (int64_t)names.count);
    json_open(&w, "entries", '[');
    size_t cost = 0, room = output_limit_room(path);
    while (next < names.count && next - first < PAGE_ENTRIES && cost < room)
        cost += write_entry(&w, fd, names.items[next++]);
    json_close(&w, ']');
    if (next < names.count)
        json_add_int(&w, "next_offset", (int64_t)next);
    json_close(&w, '}');
    tool_reply_page(reply, strbuf_detach(&out, NULL));
}

/* ---- read_file ---- */

struct page {
    struct strbuf entries; /* the items of the JSON array */
    struct json_writer w;
    size_t count, room;
    int64_t first_line;  /* 0: requested by byte */
    int64_t next_line;   /* 0: no more */
    int64_t next_byte;   /* -1: no more, or given by line */
    int64_t total_lines; /* -1: not counted */
    bool lossy, no_final_newline;
};

static void page_cleanup(struct page *page)
{
    strbuf_release(&page->entries);
}

static void add_text(struct page *page, const char *text, size_t len)
{
    json_add_strn(&page->w, NULL, text, len);
    page->count++;
    /* NUL bytes beyond the probe become U+FFFD as well. */
    page->lossy |= !utf8_valid(text, len) || memchr(text, '\0', len);
}

/* Adds the line if it fits. Returns false if the page ends before it. */
static bool take_line(struct page *page, const struct line *line, int64_t limit)
{
    if ((int64_t)page->count >= limit)
        return false;
    size_t cost = output_limit_cost(line->text, line->len) + 2;
    if (line->len == line->full && cost <= page->room) {
        add_text(page, line->text, line->len);
        page->room -= cost;
        return true;
    }
    if (page->count > 0)
        return false;
    /* Too long for any page: show its beginning now, the rest by byte. */
    size_t len = page_fitting(line->text, line->len, page->room - 2);
    add_text(page, line->text, len);
    page->next_byte = (int64_t)(line->start + len);
    page->room = 0;
    return true;
}

/* 0, or -1 with errno. */
static int fill_page(struct page *page, struct line_reader *reader, int64_t from_line, int64_t limit, bool count_on)
{
    struct line line;
    bool full = false, by_byte = page->first_line == 0;
    int64_t number = 0;
    int rc;
    while ((rc = line_reader_next(reader, &line)) > 0) {
        number++;
        if (number < from_line)
            continue;
        if (!full && take_line(page, &line, limit)) {
            page->no_final_newline = !line.newline;
            full = page->next_byte >= 0;
            continue;
        }
        if (page->next_line == 0) {
            page->next_line = number;
            if (by_byte && page->next_byte < 0)
                page->next_byte = (int64_t)line.start;
            page->no_final_newline = false;
        }
        full = true;
        if (!count_on)
            return 0;
    }
    if (rc == 0)
        page->total_lines = number;
    return rc;
}

/* "art_" and 16 hex digits, with or without the scheme. */
static const char *artifact_id(const char *path, bool *certain)
{
    *certain = strncmp(path, ARTIFACT_SCHEME, strlen(ARTIFACT_SCHEME)) == 0;
    if (*certain)
        return path + strlen(ARTIFACT_SCHEME);
    bool looks = strncmp(path, "art_", 4) == 0 && strspn(path + 4, "0123456789abcdef") == 16 && !path[20];
    return looks ? path : NULL;
}

/* Opens the file that `given` names: an artifact of the session, or a file of the workspace. `path` is its name in
 * the answer. */
static int open_source(struct tool_run *run, const char *given, char **path, struct err *err)
{
    bool certain;
    const char *id = artifact_id(given, &certain);
    const struct tool_env *env = run->env;
    struct artifact *found = id && env->artifacts ? artifact_store_find(env->artifacts, env->session, id) : NULL;
    if (found) {
        int fd = open(found->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
            err_set_errno(err, errno, "artifact %s", id);
        *path = xstrdup(id);
        artifact_free(found);
        return fd;
    }
    if (certain)
        return err_set(err, "unknown artifact %s; it expired, or another session stored it", id);
    *path = beneath_clean(run->env->root, given, err);
    return *path ? beneath_openat(run->env->root, *path, O_RDONLY, 0, err) : -1;
}

static int check_file(int fd, const char *path, struct stat *st, struct err *err)
{
    if (fstat(fd, st) < 0)
        return err_set_errno(err, errno, "%s", path);
    if (S_ISDIR(st->st_mode))
        return err_set(err, "%s is a folder; use list_dir", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, "%s is %s, not a file", path, beneath_kind(st->st_mode));
    return 0;
}

/* Decides by the beginning of the file, which the reader has in its buffer unless it starts elsewhere. */
static int check_text(int fd, struct line_reader *reader, bool from_start, const char *path, const struct stat *st,
                      struct err *err)
{
    char probe[BINARY_PROBE];
    const char *text = probe;
    size_t len;
    if (from_start) {
        if (line_reader_peek(reader, &text, &len) < 0)
            return errno == ECANCELED ? err_set(err, "cannot read %s: canceled", path)
                                      : err_set_errno(err, errno, "%s", path);
    } else {
        ssize_t got = pread(fd, probe, sizeof(probe), 0);
        if (got < 0)
            return err_set_errno(err, errno, "%s", path);
        len = (size_t)got;
    }
    if (memchr(text, '\0', len < BINARY_PROBE ? len : BINARY_PROBE))
        return err_set(err, "%s is a binary file of %lld bytes, not text", path, (long long)st->st_size);
    return 0;
}

static void answer(struct tool_reply *reply, const char *path, const struct page *page, int64_t from_byte, off_t size)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    strbuf_grow(&out, page->entries.len + strlen(path) + 200);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", path);
    if (page->first_line)
        json_add_int(&w, "from_line", page->first_line);
    else
        json_add_int(&w, "from_byte", from_byte);
    if (page->first_line && page->total_lines >= 0)
        json_add_int(&w, "total_lines", page->total_lines);
    json_add_int(&w, "size", size);
    if (page->first_line && page->next_line)
        json_add_int(&w, "next_line", page->next_line);
    if (page->next_byte >= 0)
        json_add_int(&w, "next_byte", page->next_byte);
    if (page->no_final_newline && page->next_byte < 0)
        json_add_bool(&w, "final_newline", false);
    if (page->lossy)
        json_add_str(&w, "encoding", "lossy");
    json_open(&w, "entries", '[');
    strbuf_add(&out, page->entries.buf, page->entries.len);
    json_close(&w, ']');
    json_close(&w, '}');
    tool_reply_page(reply, strbuf_detach(&out, NULL));
}

static void read_file(struct tool_run *run, struct tool_reply *reply)
{
    struct err err = ERR_INIT;
    struct stat st;
    CLEANUP(free) char *path = NULL;
    CLEANUP(fd) int fd = open_source(run, json_str(json_get(run->arguments, "path"), ""), &path, &err);
    if (fd < 0 || check_file(fd, path, &st, &err) < 0) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    int64_t from_line = json_int(json_get(run->arguments, "offset"), 1);
    int64_t limit = json_int(json_get(run->arguments, "limit"), PAGE_ENTRIES);
    int64_t byte = json_int(json_get(run->arguments, "byte"), -1);
    if (from_line < 1 || byte >= 0)
        from_line = 1;
    if (limit < 1 || limit > PAGE_ENTRIES)
        limit = limit < 1 ? 1 : PAGE_ENTRIES;
    if (byte > st.st_size || (byte > 0 && lseek(fd, byte, SEEK_SET) < 0)) {
        tool_reply_error(reply, "byte %lld is past the end of %s, which has %lld", (long long)byte, path,
                         (long long)st.st_size);
        return;
    }
    CLEANUP(page)
    struct page page = {
        .entries = STRBUF_INIT,
        .room = output_limit_room(path),
        .first_line = byte < 0 ? from_line : 0,
        .next_byte = -1,
        .total_lines = -1,
    };
    page.w = json_begin(&page.entries);
    strbuf_grow(&page.entries,
                st.st_size < OUTPUT_LIMIT_INLINE_MAX ? (size_t)st.st_size * 5 / 4 : OUTPUT_LIMIT_INLINE_MAX);
    CLEANUP(line_reader)
    struct line_reader *reader =
        line_reader_new(fd, byte > 0 ? (uint64_t)byte : 0, OUTPUT_LIMIT_INLINE_MAX, &run->deadline.cancelled);
    if (check_text(fd, reader, byte <= 0, path, &st, &err) < 0) {
        tool_reply_error(reply, "%s", err.text);
        return;
    }
    if (fill_page(&page, reader, from_line, limit, byte < 0 && st.st_size < COUNT_LINES_BELOW) < 0) {
        tool_reply_error(reply, "cannot read %s: %s", path, errno == ECANCELED ? "canceled" : strerrordesc_np(errno));
        return;
    }
    if (page.count == 0 && from_line > 1) {
        tool_reply_error(reply, "%s has only %lld lines", path, (long long)page.total_lines);
        return;
    }
    tool_reply_cite(reply, path, false);
    answer(reply, path, &page, byte, st.st_size);
}

static const char *const dir_key[] = {"dir:{path}", NULL};
static const char *const file_key[] = {"file:{path}", NULL};

const struct tool tool_list_dir = {
    .spec =
        {
            .name = "list_dir",
            .description = "List a folder: name, type and size of each entry, by name, at most 200 at a time.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .resource_keys = dir_key,
            .parameters = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"minLength\":1,"
                          "\"default\":\".\",\"description\":\"folder, relative to the project root\"},"
                          "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,"
                          "\"description\":\"skip this many entries; next_offset of the previous page\"}},"
                          "\"additionalProperties\":false}",
        },
    .work = list_dir,
};

const struct tool tool_read_file = {
    .spec =
        {
            .name = "read_file",
            .description =
                "Read a text file, or an artifact by its id, as a list of lines. A page is at most 200 lines; "
                "when there is more, the answer has next_line, or next_byte within a very long line.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .resource_keys = file_key,
            .parameters = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"minLength\":1,"
                          "\"description\":\"file, relative to the project root, or art_…\"},"
                          "\"offset\":{\"type\":\"integer\",\"minimum\":1,\"default\":1,"
                          "\"description\":\"first line, counted from 1\"},"
                          "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"default\":200,"
                          "\"description\":\"number of lines, at most 200\"},"
                          "\"byte\":{\"type\":\"integer\",\"minimum\":0,"
                          "\"description\":\"start at this byte instead of a line; next_byte of the previous page\"}},"
                          "\"required\":[\"path\"],\"additionalProperties\":false}",
        },
    .work = read_file,
};
