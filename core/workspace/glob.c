/* Patterns for paths: parses, matches, and finds the files that match.
 *
 * A pattern is parsed in two steps. First the choices are multiplied out, so that only plain patterns remain; in each,
 * a `**` is visibly a whole component or not, even next to a brace. Then each becomes tokens. A name is matched against
 * them in one pass with two points to go back to: the last `*`, which may take one more character of its component, and
 * the last `**`, which may take one more component. Earlier ones need no second try, because a later one of the same
 * kind can take whatever they could have taken. So matching is polynomial for every pattern. */

#include "glob.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "globs.h"
#include "inside.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum token_type {
    TOKEN_CHAR,
    TOKEN_ANY, /* ? */
    TOKEN_CLASS,
    TOKEN_STAR,
    TOKEN_FOLDERS, /* "**" and its slash: no, one or more components */
    TOKEN_REST,    /* "**" at the end: whatever follows */
};

struct glob_token {
    enum token_type type;
    uint32_t cp;       /* of a CHAR */
    const char *class; /* in the pattern's text, behind '[' and the negation */
    bool negated;
};

#define UTF8_BYTES 4 /* of a character, at most */
#define ENDING_MAX 16
#define CHAIN_MAX  40 /* links within links */

struct alternative {
    char *text;
    struct glob_token *tokens;
    size_t count, room;
    char ending[ENDING_MAX]; /* plain letters that every name must end with: most names are turned away by these */
    size_t ending_len;
};

struct glob {
    struct alternative *alternatives;
    size_t count, room;
};

static int malformed(struct err *err, const char *pattern, const char *why)
{
    return err_set(err, "bad pattern %.200s: %s", pattern, why);
}

/* Returns the end of the class at `at` ('['), or NULL if it is empty or not closed. */
static const char *skip_class(const char *at)
{
    at++;
    if (*at == '^' || *at == '!')
        at++;
    if (*at == ']')
        return NULL;
    for (; *at; at++) {
        if (*at == ']')
            return at + 1;
        if (*at == '\\' && !*++at)
            return NULL;
    }
    return NULL;
}

/* Returns the end of one element of the pattern: an escape, a class or a byte. NULL and `why` if it is malformed. */
static const char *skip_element(const char *at, const char **why)
{
    if (*at == '\\') {
        if (!at[1]) {
            *why = "it ends with a backslash";
            return NULL;
        }
        return at + 2;
    }
    if (*at == '[') {
        const char *end = skip_class(at);
        if (!end)
            *why = "a class is empty or not closed";
        return end;
    }
    return at + 1;
}

static uint32_t next_char(const char **at)
{
    if ((unsigned char)**at < 0x80)
        return (unsigned char)*(*at)++;
    size_t used;
    uint32_t cp = utf8_decode(*at, strnlen(*at, UTF8_BYTES), &used);
    *at += used;
    return cp;
}

static struct glob_token *add_token(struct alternative *alt, enum token_type type)
{
    GROW(alt->tokens, alt->count, alt->room);
    alt->tokens[alt->count] = (struct glob_token){.type = type};
    return &alt->tokens[alt->count++];
}

/* Stars from `at`: "**" that is a component of its own, or else as one star, as the shell has it. */
static const char *add_stars(struct alternative *alt, const char *at)
{
    size_t stars = strspn(at, "*");
    const struct glob_token *before = alt->count ? &alt->tokens[alt->count - 1] : NULL;
    bool at_start = !before || before->type == TOKEN_FOLDERS || (before->type == TOKEN_CHAR && before->cp == '/');
    if (stars == 2 && at_start && (at[2] == '/' || !at[2])) {
        add_token(alt, at[2] ? TOKEN_FOLDERS : TOKEN_REST);
        return at + 2 + (at[2] == '/');
    }
    add_token(alt, TOKEN_STAR);
    return at + stars;
}

/* `text` has no choices and is well-formed; the alternative takes it over. */
static void add_alternative(struct glob *glob, char *take_text)
{
    GROW(glob->alternatives, glob->count, glob->room);
    struct alternative *alt = &glob->alternatives[glob->count++];
    *alt = (struct alternative){.text = take_text};
    const char *at = take_text;
    while (*at) {
        if (*at == '*') {
            at = add_stars(alt, at);
        } else if (*at == '?') {
            add_token(alt, TOKEN_ANY);
            at++;
        } else if (*at == '[') {
            struct glob_token *token = add_token(alt, TOKEN_CLASS);
            token->negated = at[1] == '^' || at[1] == '!';
            token->class = at + 1 + token->negated;
            at = skip_class(at);
        } else {
            at += *at == '\\';
            uint32_t cp = next_char(&at);
            add_token(alt, TOKEN_CHAR)->cp = cp;
        }
    }
    for (size_t i = alt->count; i-- > 0 && alt->ending_len < ENDING_MAX;) {
        if (alt->tokens[i].type != TOKEN_CHAR || alt->tokens[i].cp >= 0x80)
            break;
        alt->ending_len++;
        alt->ending[ENDING_MAX - alt->ending_len] = (char)alt->tokens[i].cp;
    }
}

/* Expands the first choice of `text` and continues with each result; without a choice, `text` is an alternative. */
static int expand(struct glob *glob, const char *pattern, const char *text, struct err *err)
{
    const char *why = NULL, *open = NULL;
    for (const char *at = text; *at && !open;) {
        if (*at == '}')
            return malformed(err, pattern, "a } closes nothing");
        if (*at == '{')
            open = at;
        else if (!(at = skip_element(at, &why)))
            return malformed(err, pattern, why);
    }
    if (!open) {
        if (glob->count == GLOB_CHOICES_MAX)
            return malformed(err, pattern, "too many choices");
        add_alternative(glob, xstrdup(text));
        return 0;
    }
    const char *close = open + 1;
    for (int depth = 1; depth > 0;) {
        if (!*close)
            return malformed(err, pattern, "a { is not closed");
        depth += (*close == '{') - (*close == '}');
        if (depth == 0)
            break;
        if (!(close = skip_element(close, &why)))
            return malformed(err, pattern, why);
    }
    int depth = 0;
    const char *begin = open + 1;
    for (const char *at = begin; at <= close;) {
        if (at == close || (*at == ',' && depth == 0)) {
            CLEANUP(free)
            char *one = xasprintf("%.*s%.*s%s", (int)(open - text), text, (int)(at - begin), begin, close + 1);
            if (expand(glob, pattern, one, err) < 0)
                return -1;
            begin = ++at;
            continue;
        }
        depth += (*at == '{') - (*at == '}');
        at = skip_element(at, &why);
    }
    return 0;
}

struct glob *glob_new(const char *pattern, struct err *err)
{
    struct glob *glob = xcalloc(1, sizeof(*glob));
    size_t len = strlen(pattern);
    if (len > 4096) {
        malformed(err, pattern, "too long");
    } else if (expand(glob, pattern, pattern, err) == 0) {
        return glob;
    }
    glob_free(glob);
    return NULL;
}

void glob_free(struct glob *glob)
{
    if (!glob)
        return;
    for (size_t i = 0; i < glob->count; i++) {
        free(glob->alternatives[i].text);
        free(glob->alternatives[i].tokens);
    }
    free(glob->alternatives);
    free(glob);
}

/* A '-' first, last or right after a range is literal. */
static bool class_has(const struct glob_token *token, uint32_t cp)
{
    const char *at = token->class;
    bool found = false;
    while (*at != ']') {
        at += *at == '\\';
        uint32_t low = next_char(&at), high = low;
        if (at[0] == '-' && at[1] != ']') {
            at++;
            at += *at == '\\';
            high = next_char(&at);
        }
        found |= low <= cp && cp <= high;
    }
    return found != token->negated;
}

/* Whether one character fits a token that takes just one. */
static bool fits(const struct glob_token *token, uint32_t cp)
{
    switch (token->type) {
    case TOKEN_CHAR:
        return token->cp == cp;
    case TOKEN_ANY:
        return cp != '/';
    case TOKEN_CLASS:
        return cp != '/' && class_has(token, cp);
    default:
        return false;
    }
}

/* What may be left of the pattern when the name has ended: a slash and `**` match the folder itself. */
static bool may_be_empty(const struct alternative *alt, size_t from)
{
    size_t count = alt->count - from;
    if (count == 0)
        return true;
    const struct glob_token *token = &alt->tokens[from];
    if (count == 2 && token->type == TOKEN_CHAR && token->cp == '/')
        return token[1].type == TOKEN_REST || token[1].type == TOKEN_FOLDERS;
    return count == 1 && (token->type == TOKEN_STAR || token->type == TOKEN_REST || token->type == TOKEN_FOLDERS);
}

static bool match_tokens(const struct alternative *alt, const char *name)
{
    const struct glob_token *tokens = alt->tokens;
    const size_t none = SIZE_MAX;
    size_t i = 0, star = none, folders = none; /* the tokens behind the last * and ** */
    const char *at = name, *star_at = NULL, *folders_at = NULL;
    while (*at) {
        if (i < alt->count) {
            if (tokens[i].type == TOKEN_REST)
                return true;
            if (tokens[i].type == TOKEN_FOLDERS) {
                folders = ++i;
                folders_at = at;
                star = none;
                continue;
            }
            if (tokens[i].type == TOKEN_STAR) {
                star = ++i;
                star_at = at;
                continue;
            }
            const char *next = at;
            if (fits(&tokens[i], next_char(&next))) {
                at = next;
                i++;
                continue;
            }
        }
        if (star != none && *star_at != '/') {
            next_char(&star_at);
            at = star_at;
            i = star;
            continue;
        }
        const char *slash = folders != none ? strchr(folders_at, '/') : NULL;
        if (!slash)
            return false;
        at = folders_at = slash + 1;
        i = folders;
        star = none;
    }
    return may_be_empty(alt, i);
}

static bool has_ending(const struct alternative *alt, const char *name, size_t len)
{
    return len >= alt->ending_len &&
           memcmp(name + len - alt->ending_len, alt->ending + ENDING_MAX - alt->ending_len, alt->ending_len) == 0;
}

bool glob_match(const struct glob *glob, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < glob->count; i++)
        if (has_ending(&glob->alternatives[i], name, len) && match_tokens(&glob->alternatives[i], name))
            return true;
    return false;
}

/* ---- searching ---- */

/* All tokens that could be next, as a row of flags. Tokens that may take nothing let the next one be next too; `**`
 * only between components. */
static void spread(const struct alternative *alt, unsigned char *next, bool at_start)
{
    for (size_t i = 0; i < alt->count; i++)
        if (next[i] && (alt->tokens[i].type == TOKEN_STAR || (alt->tokens[i].type == TOKEN_FOLDERS && at_start)))
            next[i + 1] = 1;
}

/* The flags after one more character; false when none is left. */
static bool advance(const struct alternative *alt, const unsigned char *next, unsigned char *after, uint32_t cp)
{
    bool any = false;
    memset(after, 0, alt->count + 1);
    for (size_t i = 0; i < alt->count; i++) {
        const struct glob_token *token = &alt->tokens[i];
        if (!next[i])
            continue;
        bool stays =
            token->type == TOKEN_FOLDERS || token->type == TOKEN_REST || (token->type == TOKEN_STAR && cp != '/');
        after[i] |= stays;
        bool takes = fits(token, cp);
        after[i + 1] |= takes;
        any |= stays || takes;
    }
    return any;
}

static bool may_lead(const struct alternative *alt, const char *folder)
{
    if (alt->count && (alt->tokens[0].type == TOKEN_FOLDERS || alt->tokens[0].type == TOKEN_REST))
        return true;
    unsigned char *flags = xcalloc(2, alt->count + 1);
    unsigned char *next = flags, *after = flags + alt->count + 1;
    bool alive = true, at_start = true;
    next[0] = 1;
    for (const char *at = folder; alive;) {
        bool ended = !*at; /* the slash behind the folder is the last character */
        uint32_t cp = ended ? '/' : next_char(&at);
        spread(alt, next, at_start);
        alive = advance(alt, next, after, cp);
        unsigned char *swap = next;
        next = after;
        after = swap;
        at_start = cp == '/';
        if (ended)
            break;
    }
    /* Something must be left to match. */
    alive = alive && memchr(next, 1, alt->count);
    free(flags);
    return alive;
}

bool glob_may_lead(const struct glob *glob, const char *folder)
{
    for (size_t i = 0; i < glob->count; i++)
        if (may_lead(&glob->alternatives[i], folder))
            return true;
    return false;
}

static char *base_of(const struct alternative *alt, bool *whole)
{
    char *out = xmalloc(alt->count * UTF8_BYTES + 1);
    size_t len = 0, folder = 0, i = 0;
    for (; i < alt->count && alt->tokens[i].type == TOKEN_CHAR && alt->tokens[i].cp != UTF8_REPLACEMENT; i++) {
        if (alt->tokens[i].cp == '/')
            folder = len;
        len += utf8_encode(alt->tokens[i].cp, out + len);
    }
    *whole = i == alt->count;
    out[*whole ? len : folder] = '\0';
    return out;
}

static void cut_last_part(char *path)
{
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = '\0';
}

/* Cuts the folder to what it has in common with another. */
static void cut_to_common(char *folder, const char *other)
{
    size_t len = strlen(folder);
    while (len && (strncmp(folder, other, len) != 0 || (other[len] && other[len] != '/'))) {
        cut_last_part(folder);
        len = strlen(folder);
    }
}

char *glob_base(const struct glob *glob, bool *whole)
{
    char *base = base_of(&glob->alternatives[0], whole);
    if (glob->count > 1 && *whole)
        cut_last_part(base);
    for (size_t i = 1; i < glob->count; i++) {
        CLEANUP(free) char *other = base_of(&glob->alternatives[i], whole);
        if (*whole)
            cut_last_part(other);
        cut_to_common(base, other);
    }
    *whole = *whole && glob->count == 1;
    return base;
}

/* ---- finding files ---- */

/* The walk visits real folders. If a link leads to a folder inside, another walk starts there under the link's name.
 * The search tracks the folders that are open this way and follows no link to one of them. It counts entries behind
 * links, because a few links can create more paths than any machine can list. */
struct glob_search {
    const struct beneath *root;
    const struct glob *glob;
    struct glob_hits *hits;
    bool linked; /* where the walk is now */
    struct glob_place {
        dev_t dev;
        ino_t ino;
    } chain[CHAIN_MAX];
    size_t chain_len, links, behind;
};

static void add_hit(struct glob_search *s, const char *path, size_t len, bool linked)
{
    struct glob_hits *hits = s->hits;
    if (hits->count == GLOB_HITS_MAX) {
        hits->cut = true;
        return;
    }
    GROW(hits->items, hits->count, hits->room);
    hits->items[hits->count++] = (struct glob_hit){.path = xmemdup0(path, len), .linked = linked};
}

static void add_left(struct glob_search *s, const char *path, char *take_why)
{
    struct glob_hits *hits = s->hits;
    if (hits->left_count == GLOB_LEFT_MAX) {
        free(take_why);
        return;
    }
    GROW(hits->left, hits->left_count, hits->left_room);
    hits->left[hits->left_count++] = (struct glob_left){.path = xstrdup(path), .why = take_why};
}

static enum walk_next add_denied(void *user, const char *path, int code)
{
    struct glob_search *s = user;
    s->hits->cut = true;
    add_left(s, path,
             code == ELOOP ? xasprintf("it is more than %d folders deep", WALK_DEPTH_MAX)
                           : xasprintf("the folder cannot be read: %s", strerrordesc_np(code)));
    return WALK_CONTINUE;
}

static void add_other(struct glob_search *s, const char *path, mode_t mode)
{
    add_left(s, path, xasprintf("it is %s, not a file", beneath_kind(mode)));
}

static enum walk_next find_entry(void *user, const struct walk_entry *entry);

static int walk_from(struct glob_search *s, int folder, const char *prefix, struct err *err)
{
    static const struct walk_visitor visitor = {.entry = find_entry, .denied = add_denied};
    struct walk_options options = {.order = WALK_ANY};
    return walk_tree(folder, prefix, &options, &visitor, s, err);
}

static bool in_chain(const struct glob_search *s, const struct stat *st)
{
    for (size_t i = 0; i < s->chain_len; i++)
        if (s->chain[i].dev == st->st_dev && s->chain[i].ino == st->st_ino)
            return true;
    return false;
}

static void follow(struct glob_search *s, const char *path)
{
    struct stat st;
    CLEANUP(fd) int fd = inside_open(s->root, path, O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (fd < 0 || fstat(fd, &st) < 0 || in_chain(s, &st))
        return;
    if (s->chain_len == CHAIN_MAX || s->links == GLOB_LINKS_MAX) {
        s->hits->cut = true;
        return;
    }
    bool linked = s->linked;
    s->links++;
    s->chain[s->chain_len++] = (struct glob_place){st.st_dev, st.st_ino};
    s->linked = true;
    if (walk_from(s, fd, path, NULL) < 0)
        s->hits->cut = true;
    s->linked = linked;
    s->chain_len--;
}

static enum walk_next find_entry(void *user, const struct walk_entry *entry)
{
    struct glob_search *s = user;
    if (s->linked && ++s->behind > GLOB_LINKED_MAX) {
        s->hits->cut = true;
        return WALK_STOP;
    }
    if (s->hits->cut && s->hits->count == GLOB_HITS_MAX)
        return WALK_STOP;
    switch (entry->type) {
    case DT_DIR:
        return glob_may_lead(s->glob, entry->path) ? WALK_CONTINUE : WALK_SKIP;
    case DT_REG:
        if (glob_match(s->glob, entry->path))
            add_hit(s, entry->path, entry->path_len, s->linked);
        return WALK_SKIP;
    case DT_LNK:
        if (glob_match(s->glob, entry->path))
            add_hit(s, entry->path, entry->path_len, true);
        if (glob_may_lead(s->glob, entry->path))
            follow(s, entry->path);
        return WALK_SKIP;
    default:
        if (glob_match(s->glob, entry->path))
            add_other(s, entry->path, (mode_t)DTTOIF(entry->type));
        return WALK_SKIP;
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct glob_hit *)a)->path, ((const struct glob_hit *)b)->path);
}

/* Without any wildcard there is one path to look at. */
static void look_at(struct glob_search *s, const char *path)
{
    struct stat st;
    struct err err = ERR_INIT;
    if (beneath_lstat(s->root, path, &st, &err) == 0 && S_ISREG(st.st_mode)) {
        CLEANUP(free) char *real = NULL;
        CLEANUP(fd) int fd = inside_open(s->root, path, O_PATH, &real, NULL);
        add_hit(s, path, strlen(path), fd < 0 || strcmp(real, path) != 0);
    } else if (err.code == EXDEV || (err.code == 0 && S_ISLNK(st.st_mode))) {
        add_hit(s, path, strlen(path), true);
    } else if (err.code == EACCES) {
        add_left(s, path, xstrdup(strerrordesc_np(err.code)));
    } else if (err.code == 0 && !S_ISDIR(st.st_mode)) {
        add_other(s, path, st.st_mode);
    }
}

static int search_below(struct glob_search *s, const char *base, struct err *err)
{
    CLEANUP(free) char *real = NULL;
    struct err own = ERR_INIT;
    struct stat st;
    CLEANUP(fd) int fd = inside_open(s->root, *base ? base : ".", O_RDONLY | O_DIRECTORY, &real, &own);
    if (fd < 0) {
        if (own.code == EACCES)
            add_denied(s, base, own.code);
        return 0; /* nothing there, no folder, or outside: no hits */
    }
    s->linked = *base && strcmp(real, base) != 0;
    if (s->linked && fstat(fd, &st) == 0)
        s->chain[s->chain_len++] = (struct glob_place){st.st_dev, st.st_ino};
    return walk_from(s, fd, base, err);
}

int glob_find(const struct beneath *root, const char *pattern, struct glob_hits *hits, struct err *err)
{
    *hits = (struct glob_hits){0};
    CLEANUP(free) char *clean = globs_clean(pattern);
    struct glob *glob = glob_new(clean ? clean : pattern, err);
    if (!glob)
        return -1;
    int status = 0;
    if (clean) {
        struct glob_search s = {.root = root, .glob = glob, .hits = hits};
        bool whole;
        CLEANUP(free) char *base = glob_base(glob, &whole);
        if (whole)
            look_at(&s, base);
        else
            status = search_below(&s, base, err);
    }
    glob_free(glob);
    if (hits->count)
        qsort(hits->items, hits->count, sizeof(*hits->items), by_path);
    return status;
}

void glob_hits_release(struct glob_hits *hits)
{
    for (size_t i = 0; i < hits->count; i++)
        free(hits->items[i].path);
    for (size_t i = 0; i < hits->left_count; i++) {
        free(hits->left[i].path);
        free(hits->left[i].why);
    }
    free(hits->left);
    free(hits->items);
    *hits = (struct glob_hits){0};
}
