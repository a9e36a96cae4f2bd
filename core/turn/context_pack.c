/* Builds the context pack: reads the project's text files, ranks them, and cuts excerpts.
 *
 * Folders are read breadth first, names in byte order, so the same tree always gives the same pack, and files near the
 * root come first. Every file is read once, into one buffer, and only its counts are kept; the few winners are read
 * again for their excerpt.
 *
 * The number of files, folders and names is bounded. Hidden files and folders are left out: a pack is sent to the
 * model without a question, and it must not contain a .env. */

#include "context_pack.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "rank.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>

#define EXCERPT_BYTES  400
#define EXCERPT_BEFORE 120 /* bytes of it before the hit, at most */
#define FOLDERS_MAX    2000
#define NAMES_MAX      20000

struct context_names {
    char **items;
    size_t count, room;
};

struct context_scan {
    const struct beneath *root;
    const atomic_bool *cancelled;
    struct rank *rank;
    struct context_names files; /* by document number */
    size_t folders, listed, bytes;
    struct strbuf text;
    bool complete;
};

static void names_add(struct context_names *names, char *take_name)
{
    GROW(names->items, names->count, names->room);
    names->items[names->count++] = take_name;
}

static void names_release(struct context_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static bool stopped(struct context_scan *scan)
{
    if (!scan->cancelled || !atomic_load_explicit((atomic_bool *)scan->cancelled, memory_order_relaxed))
        return false;
    scan->complete = false;
    return true;
}

/* Returns true if one more fits; otherwise marks the pack as incomplete. */
static bool within(struct context_scan *scan, size_t count, size_t max)
{
    if (count < max)
        return true;
    scan->complete = false;
    return false;
}

/* Appends the content of a file to the buffer. Returns false if it is not text, empty or too large. */
static bool read_text(struct context_scan *scan, const char *path)
{
    size_t head = scan->text.len;
    if (beneath_read(scan->root, path, &scan->text, CONTEXT_FILE_BYTES_MAX, NULL, NULL))
        return false;
    size_t len = scan->text.len - head;
    scan->bytes += len;
    return len && !memchr(scan->text.buf + head, '\0', len);
}

/* Adds a file as a document: its path, then its content while the total limit allows. */
static void read_file(struct context_scan *scan, char *take_path)
{
    strbuf_reset(&scan->text);
    strbuf_addstr(&scan->text, take_path);
    strbuf_addch(&scan->text, '\n');
    if (within(scan, scan->bytes, CONTEXT_BYTES_MAX) && !read_text(scan, take_path)) {
        free(take_path);
        return;
    }
    rank_add(scan->rank, scan->text.buf, scan->text.len);
    names_add(&scan->files, take_path);
}

static enum walk_next scan_entry(void *user, const struct walk_entry *entry)
{
    struct context_scan *scan = user;
    if (entry->name[0] == '.')
        return WALK_SKIP;
    if (!within(scan, scan->listed++, NAMES_MAX))
        return WALK_STOP;
    if (entry->type == DT_REG) {
        if (!within(scan, scan->files.count, CONTEXT_FILES_MAX))
            return WALK_STOP;
        read_file(scan, xmemdup0(entry->path, entry->path_len));
    }
    if (entry->type != DT_DIR || !within(scan, scan->folders, FOLDERS_MAX))
        return WALK_SKIP;
    scan->folders++;
    return WALK_CONTINUE;
}

static enum walk_next scan_denied(void *user, const char *path, int code)
{
    struct context_scan *scan = user;
    (void)path;
    if (code == E2BIG)
        scan->complete = false;
    return WALK_CONTINUE;
}

static void scan_files(struct context_scan *scan)
{
    static const struct walk_visitor visitor = {.entry = scan_entry, .denied = scan_denied};
    struct walk_options options = {.order = WALK_BREADTH_FIRST, .max_names = NAMES_MAX, .cancelled = scan->cancelled};
    scan->folders = 1; /* the root */
    if (walk_tree(beneath_fd(scan->root), "", &options, &visitor, scan, NULL) < 0)
        scan->complete = false;
}

/* The start of the excerpt: the beginning of the hit's line, or of an earlier line nearby. In a very long line the
 * excerpt starts inside the line, between two characters. */
static size_t excerpt_start(const char *text, size_t hit)
{
    size_t least = hit > EXCERPT_BEFORE ? hit - EXCERPT_BEFORE : 0;
    if (least == 0)
        return 0;
    for (size_t at = least; at <= hit; at++)
        if (text[at - 1] == '\n')
            return at;
    while (least < hit && ((unsigned char)text[least] & 0xc0) == 0x80)
        least++;
    return least;
}

static size_t excerpt_end(const char *text, size_t len, size_t start, size_t hit)
{
    size_t end = len - start > EXCERPT_BYTES ? start + EXCERPT_BYTES : len;
    if (end == len)
        return end;
    for (size_t at = end; at > hit; at--)
        if (text[at - 1] == '\n')
            return at;
    return end;
}

static char *make_excerpt(const char *text, size_t len, size_t hit)
{
    struct strbuf out = STRBUF_INIT;
    size_t start = excerpt_start(text, hit);
    size_t end = excerpt_end(text, len, start, hit);
    utf8_scrub(&out, text + start, end - start);
    if (out.len > EXCERPT_BYTES) { /* replacement characters are longer than the bytes they replace */
        size_t cut = EXCERPT_BYTES;
        while (cut > 0 && ((unsigned char)out.buf[cut] & 0xc0) == 0x80)
            cut--;
        strbuf_set_len(&out, cut);
    }
    while (out.len && out.buf[out.len - 1] == '\n')
        strbuf_set_len(&out, out.len - 1);
    return strbuf_detach(&out, NULL);
}

struct excerpt_candidate {
    size_t document;
    double score;
};

static int by_score(const void *a, const void *b)
{
    const struct excerpt_candidate *one = a, *two = b;
    if (one->score != two->score)
        return one->score > two->score ? -1 : 1;
    return one->document < two->document ? -1 : one->document > two->document;
}

static void add_item(struct context_pack *pack, struct context_scan *scan, const struct excerpt_candidate *candidate)
{
    const char *path = scan->files.items[candidate->document];
    strbuf_reset(&scan->text);
    if (beneath_read(scan->root, path, &scan->text, CONTEXT_FILE_BYTES_MAX, NULL, NULL))
        return;
    size_t hit = rank_find(scan->rank, scan->text.buf, scan->text.len);
    pack->items[pack->count++] = (struct context_item){
        .path = xstrdup(path),
        .excerpt = make_excerpt(scan->text.buf, scan->text.len, hit == SIZE_MAX ? 0 : hit), /* only the path matches */
        .score = candidate->score,
    };
}

static void choose(struct context_pack *pack, struct context_scan *scan, size_t limit)
{
    size_t count = 0;
    struct excerpt_candidate *list = xcalloc(scan->files.count + 1, sizeof(*list));
    for (size_t i = 0; i < scan->files.count; i++) {
        double score = rank_score(scan->rank, i);
        if (score > 0)
            list[count++] = (struct excerpt_candidate){.document = i, .score = score};
    }
    qsort(list, count, sizeof(*list), by_score);
    pack->items = xcalloc(limit < count ? limit + 1 : count + 1, sizeof(*pack->items));
    for (size_t i = 0; i < count && pack->count < limit && !stopped(scan); i++)
        add_item(pack, scan, &list[i]);
    free(list);
}

struct context_pack context_load(const struct beneath *root, const char *prompt, size_t limit,
                                 const atomic_bool *cancelled)
{
    struct context_pack pack = {.complete = true};
    struct context_scan scan = {.root = root, .cancelled = cancelled, .text = STRBUF_INIT, .complete = true};
    scan.rank = rank_new(prompt ? prompt : "");
    if (root && limit && rank_words(scan.rank)) {
        scan_files(&scan);
        choose(&pack, &scan, limit);
        pack.complete = scan.complete;
    }
    rank_free(scan.rank);
    names_release(&scan.files);
    strbuf_release(&scan.text);
    return pack;
}

void context_pack_release(struct context_pack *pack)
{
    for (size_t i = 0; i < pack->count; i++) {
        free(pack->items[i].path);
        free(pack->items[i].excerpt);
    }
    free(pack->items);
    *pack = (struct context_pack){0};
}

void context_pack_write(struct strbuf *out, const struct context_pack *pack)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < pack->count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "path", pack->items[i].path);
        json_add_str(&w, "excerpt", pack->items[i].excerpt);
        json_add_num(&w, "score", pack->items[i].score);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}

struct event_pack_entry_list context_pack_to_event(struct arena *arena, const struct context_pack *pack)
{
    struct event_pack_entry *items = arena_calloc(arena, pack->count + 1, sizeof(*items));
    for (size_t i = 0; i < pack->count; i++)
        items[i] = (struct event_pack_entry){
            .path = pack->items[i].path, .excerpt = pack->items[i].excerpt, .score = pack->items[i].score};
    return (struct event_pack_entry_list){items, pack->count};
}
