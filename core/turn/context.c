/* Breadth first, names in byte order, so the same tree always gives the same pack and files near the root come before
 * the two-thousandth file of some deep folder. Every file is read once, into one buffer, and only its counts stay; the
 * few that win are read again for their excerpt.
 *
 * Bounded whatever the tree is like: files read, folders entered, names listed. Hidden files are left out as hidden
 * folders are: what is sent to a model unasked should not be somebody's .env. */

#include "context.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "rank.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>

#define EXCERPT_BYTES  400
#define EXCERPT_BEFORE 120 /* at most so much of it stands before the hit */
#define FOLDERS_MAX    2000
#define NAMES_MAX      20000

struct names {
    char **items;
    size_t count, room;
};

struct walk {
    const struct beneath *root;
    const atomic_bool *cancelled;
    struct rank *rank;
    struct names folders; /* a queue: those before `folder` are done */
    struct names files;   /* by document number */
    size_t folder, listed, bytes;
    struct strbuf text;
    bool complete;
};

static void names_add(struct names *names, char *take_name)
{
    GROW(names->items, names->count, names->room);
    names->items[names->count++] = take_name;
}

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool stopped(struct walk *walk)
{
    if (!walk->cancelled || !atomic_load_explicit((atomic_bool *)walk->cancelled, memory_order_relaxed))
        return false;
    walk->complete = false;
    return true;
}

/* True when there is room for one more, else the pack is not complete. */
static bool within(struct walk *walk, size_t count, size_t max)
{
    if (count < max)
        return true;
    walk->complete = false;
    return false;
}

/* The content of a file behind what is in the buffer; false for one that is no text, empty or too large. */
static bool read_text(struct walk *walk, const char *path)
{
    size_t head = walk->text.len;
    if (beneath_read(walk->root, path, &walk->text, CONTEXT_FILE_BYTES_MAX, NULL, NULL))
        return false;
    size_t len = walk->text.len - head;
    walk->bytes += len;
    return len && !memchr(walk->text.buf + head, '\0', len);
}

/* Makes a document of a file: its path, then its content as long as there is room for contents. */
static void read_file(struct walk *walk, char *take_path)
{
    strbuf_reset(&walk->text);
    strbuf_addstr(&walk->text, take_path);
    strbuf_addch(&walk->text, '\n');
    if (within(walk, walk->bytes, CONTEXT_BYTES_MAX) && !read_text(walk, take_path)) {
        free(take_path);
        return;
    }
    rank_add(walk->rank, walk->text.buf, walk->text.len);
    names_add(&walk->files, take_path);
}

static char *join(const char *folder, const char *name)
{
    return strcmp(folder, ".") == 0 ? xstrdup(name) : xasprintf("%s/%s", folder, name);
}

/* What an entry is; most file systems tell with its name. */
static unsigned char kind_of(DIR *dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ? DT_UNKNOWN : (unsigned char)IFTODT(st.st_mode);
}

static void sort(struct names *names)
{
    if (names->count)
        qsort(names->items, names->count, sizeof(*names->items), by_bytes);
}

/* Splits what a folder holds into files and folders, each sorted. */
static void list_folder(struct walk *walk, DIR *dir, struct names *files, struct names *folders)
{
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        if (!within(walk, walk->listed, NAMES_MAX))
            break;
        walk->listed++;
        unsigned char kind = kind_of(dir, entry);
        if (kind == DT_REG || kind == DT_DIR)
            names_add(kind == DT_REG ? files : folders, xstrdup(entry->d_name));
    }
    sort(files);
    sort(folders);
}

static void visit_folder(struct walk *walk, const char *folder)
{
    int fd = beneath_openat(walk->root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NULL);
    if (fd < 0)
        return;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return;
    }
    struct names files = {0}, folders = {0};
    list_folder(walk, dir, &files, &folders);
    closedir(dir);
    for (size_t i = 0; i < files.count && within(walk, walk->files.count, CONTEXT_FILES_MAX) && !stopped(walk); i++)
        read_file(walk, join(folder, files.items[i]));
    for (size_t i = 0; i < folders.count && within(walk, walk->folders.count, FOLDERS_MAX); i++)
        names_add(&walk->folders, join(folder, folders.items[i]));
    names_release(&files);
    names_release(&folders);
}

/* Where the excerpt begins: at the start of the hit's line, or of an earlier one while that is near. In a line that is
 * too long for that it begins in its middle, between two characters. */
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
    if (out.len > EXCERPT_BYTES) { /* replacement characters are longer than what they replace */
        size_t cut = EXCERPT_BYTES;
        while (cut > 0 && ((unsigned char)out.buf[cut] & 0xc0) == 0x80)
            cut--;
        strbuf_set_len(&out, cut);
    }
    while (out.len && out.buf[out.len - 1] == '\n')
        strbuf_set_len(&out, out.len - 1);
    return strbuf_detach(&out, NULL);
}

struct candidate {
    size_t document;
    double score;
};

static int by_score(const void *a, const void *b)
{
    const struct candidate *one = a, *two = b;
    if (one->score != two->score)
        return one->score > two->score ? -1 : 1;
    return one->document < two->document ? -1 : one->document > two->document;
}

static void add_item(struct context_pack *pack, struct walk *walk, const struct candidate *candidate)
{
    const char *path = walk->files.items[candidate->document];
    strbuf_reset(&walk->text);
    if (beneath_read(walk->root, path, &walk->text, CONTEXT_FILE_BYTES_MAX, NULL, NULL))
        return;
    size_t hit = rank_find(walk->rank, walk->text.buf, walk->text.len);
    pack->items[pack->count++] = (struct context_item){
        .path = xstrdup(path),
        .excerpt = make_excerpt(walk->text.buf, walk->text.len, hit == SIZE_MAX ? 0 : hit), /* only the path fits */
        .score = candidate->score,
    };
}

static void choose(struct context_pack *pack, struct walk *walk, size_t limit)
{
    size_t count = 0;
    struct candidate *list = xcalloc(walk->files.count + 1, sizeof(*list));
    for (size_t i = 0; i < walk->files.count; i++) {
        double score = rank_score(walk->rank, i);
        if (score > 0)
            list[count++] = (struct candidate){.document = i, .score = score};
    }
    qsort(list, count, sizeof(*list), by_score);
    pack->items = xcalloc(limit < count ? limit + 1 : count + 1, sizeof(*pack->items));
    for (size_t i = 0; i < count && pack->count < limit && !stopped(walk); i++)
        add_item(pack, walk, &list[i]);
    free(list);
}

struct context_pack context_load(const struct beneath *root, const char *prompt, size_t limit,
                                 const atomic_bool *cancelled)
{
    struct context_pack pack = {.complete = true};
    struct walk walk = {.root = root, .cancelled = cancelled, .text = STRBUF_INIT, .complete = true};
    walk.rank = rank_new(prompt ? prompt : "");
    if (root && limit && rank_words(walk.rank)) {
        names_add(&walk.folders, xstrdup("."));
        for (; walk.folder < walk.folders.count && !stopped(&walk); walk.folder++) {
            CLEANUP(free) char *folder = xstrdup(walk.folders.items[walk.folder]); /* the queue may move */
            visit_folder(&walk, folder);
        }
        choose(&pack, &walk, limit);
        pack.complete = walk.complete;
    }
    rank_free(walk.rank);
    names_release(&walk.folders);
    names_release(&walk.files);
    strbuf_release(&walk.text);
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
