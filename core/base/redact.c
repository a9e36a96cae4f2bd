/* Finds and replaces secrets in texts (redact.h).
 *
 * All forms of all values are one list, sorted by first byte and then by length. The longest comes first and wins
 * where two begin alike. A table of the byte pairs with which forms begin rules out almost every position with one
 * look-up. So a text is read once, however many secrets there are. A form that may be in a URL is listed under each
 * byte that it may begin with there. It is compared byte by byte, escaped or not. The same holds for a form that may
 * be escaped with backslashes.
 *
 * A set never changes after other threads can see it. Adding makes a new set and keeps the old one for current
 * readers. A program has only a handful of secrets, so nothing is freed before redact_forget. */

#include "redact.h"
#include "arena.h"
#include "err.h"
#include "escaped.h"
#include "json.h"
#include "mem.h"
#include "redact_encodings.h"
#include "strbuf.h"
#include "utf8.h"
#include <string.h>
#include <strings.h>

#define NAME_MAX_SHOWN 60
#define MARK           "[secret "

struct secret {
    char *name, *value;
    struct secret *next;
};

struct form {
    char *text;
    size_t len;
    unsigned char first; /* first byte of the form */
    enum redact_spelling spelling;
    const struct secret *secret;
};

struct set {
    struct form *forms;
    size_t count, room;
    size_t first[257];                 /* index of the first form for each byte */
    unsigned char pairs[2][65536 / 8]; /* byte pairs with which forms begin, and the pairs that follow */
    struct set *older;
};

static struct secret *secrets; /* newest first */
static struct set *current;    /* the set that readers use */

static const struct set *the_set(void)
{
    return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

bool redact_any(void)
{
    return the_set() != NULL;
}

/* ---- the set ---- */

static size_t pair_of(const char *text)
{
    return (size_t)(unsigned char)text[0] << 8 | (unsigned char)text[1];
}

static bool pair_known(const unsigned char *pairs, const char *text)
{
    size_t pair = pair_of(text);
    return pairs[pair / 8] >> (pair % 8) & 1;
}

/* True where no form can begin. The end of a text decides little; in a stream the next piece decides. */
static bool passes(const struct set *set, const char *text, size_t len, bool stream)
{
    if (len < 2)
        return !stream;
    return !pair_known(set->pairs[0], text) || (len >= 4 && !pair_known(set->pairs[1], text + 2));
}

static int by_beginning(const void *a, const void *b)
{
    const struct form *one = a, *two = b;
    if (one->first != two->first)
        return one->first < two->first ? -1 : 1;
    return one->len > two->len ? -1 : one->len < two->len;
}

struct secret_collector {
    struct set *set;
    const struct secret *secret;
};

static void add_form(const struct secret_collector *to, const char *text, size_t len, unsigned char first,
                     enum redact_spelling spelling)
{
    struct set *set = to->set;
    for (size_t i = 0; i < set->count; i++)
        if (set->forms[i].len == len && set->forms[i].first == first && set->forms[i].spelling == spelling &&
            memcmp(set->forms[i].text, text, len) == 0)
            return;
    GROW(set->forms, set->count, set->room);
    set->forms[set->count++] = (struct form){xmemdup0(text, len), len, first, spelling, to->secret};
}

static void collect(void *data, const char *text, size_t len, enum redact_spelling spelling)
{
    add_form(data, text, len, (unsigned char)text[0], spelling);
    if (spelling == REDACT_IN_URL)
        add_form(data, text, len, '%', spelling);
    if (spelling == REDACT_IN_URL && text[0] == ' ')
        add_form(data, text, len, '+', spelling);
    if (spelling == REDACT_ESCAPED)
        add_form(data, text, len, '\\', spelling);
}

static void mark_pairs(struct set *set, const char *beginning)
{
    for (size_t k = 0; k < 2; k++) {
        size_t pair = pair_of(beginning + 2 * k);
        set->pairs[k][pair / 8] |= (unsigned char)(1u << (pair % 8));
    }
}

#define BEGINNING 4 /* bytes of two pairs */

/* Marks every way in which the rest of a form may begin in a URL, after the `have` bytes of `beginning`. `beginning`
 * has room for one more escape than it needs. */
static void mark_in_url(struct set *set, const char *left, char beginning[BEGINNING + 3], size_t have)
{
    static const char digits[2][17] = {"0123456789abcdef", "0123456789ABCDEF"};
    unsigned char byte = (unsigned char)*left;
    if (have >= BEGINNING) {
        mark_pairs(set, beginning);
        return;
    }
    beginning[have] = *left;
    mark_in_url(set, left + 1, beginning, have + 1);
    if (byte == ' ') {
        beginning[have] = '+';
        mark_in_url(set, left + 1, beginning, have + 1);
    }
    for (unsigned which = 0; which < 4; which++) {
        beginning[have] = '%';
        beginning[have + 1] = digits[which & 1][byte >> 4];
        beginning[have + 2] = digits[which >> 1][byte & 15];
        mark_in_url(set, left + 1, beginning, have + 3);
    }
}

/* Room for a beginning: the longest escape may follow all but one of its bytes. */
#define ESCAPE_ROOM (BEGINNING + ESCAPED_SLASHES_MAX + 8)

static void mark_escaped(struct set *set, const char *left, size_t len, char beginning[ESCAPE_ROOM], size_t have);

/* Marks escapes of one character: `mark` (u or x) and a number of so many digits. A beginning holds only the first
 * two of them. */
static void mark_number(struct set *set, char beginning[ESCAPE_ROOM], size_t have, char mark, uint32_t number,
                        unsigned digits)
{
    static const char hex[2][17] = {"0123456789abcdef", "0123456789ABCDEF"};
    for (unsigned which = 0; which < 4; which++) {
        beginning[have] = mark;
        beginning[have + 1] = hex[which & 1][number >> 4 * (digits - 1) & 15];
        beginning[have + 2] = hex[which >> 1][number >> 4 * (digits - 2) & 15];
        mark_pairs(set, beginning);
    }
}

/* Marks every way in which the rest of a form may begin where it is escaped, after the `have` bytes of `beginning`. */
static void mark_escaped(struct set *set, const char *left, size_t len, char beginning[ESCAPE_ROOM], size_t have)
{
    if (have >= BEGINNING) {
        mark_pairs(set, beginning);
        return;
    }
    size_t used;
    uint32_t cp = utf8_decode(left, len, &used);
    char letter = escaped_letter(*left);
    beginning[have] = *left;
    mark_escaped(set, left + 1, len - 1, beginning, have + 1);
    for (size_t slashes = 1; slashes <= BEGINNING; slashes++) {
        beginning[have + slashes - 1] = '\\';
        mark_number(set, beginning, have + slashes, 'u', cp > 0xFFFF ? 0xD800 + ((cp - 0x10000) >> 10) : cp, 4);
        mark_number(set, beginning, have + slashes, 'x', cp & 0xFF, 2);
        mark_number(set, beginning, have + slashes, 'x', (unsigned char)*left, 2);
        if (letter || *left == '\\') {
            beginning[have + slashes] = letter;
            mark_escaped(set, left + 1, len - 1, beginning, have + slashes + (letter != '\0'));
        }
    }
}

static void index_forms(struct set *set)
{
    qsort(set->forms, set->count, sizeof(*set->forms), by_beginning);
    size_t at = 0;
    for (size_t byte = 0; byte <= 256; byte++) {
        while (at < set->count && set->forms[at].first < byte)
            at++;
        set->first[byte] = at;
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct form *form = &set->forms[i];
        if (form->spelling == REDACT_IN_URL)
            mark_in_url(set, form->text, (char[BEGINNING + 3]){0}, 0);
        else if (form->spelling == REDACT_ESCAPED)
            mark_escaped(set, form->text, form->len, (char[ESCAPE_ROOM]){0}, 0);
        else
            mark_pairs(set, form->text);
    }
}

static char *plain_name(const char *name)
{
    char *plain = xmemdup0(name, strnlen(name, NAME_MAX_SHOWN));
    for (char *c = plain; *c; c++)
        if (!((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' ||
              *c == '.'))
            *c = '_';
    return plain;
}

static void redact_bug(char *text, size_t room)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (!redact_text(&out, text, strlen(text)))
        return;
    size_t keep = out.len < room ? out.len : room - 1;
    memcpy(text, out.buf, keep);
    text[keep] = '\0';
}

bool redact_add(const char *name, const char *value)
{
    if (strlen(value) < REDACT_LEAST)
        return false;
    bug_redact = redact_bug;
    for (const struct secret *known = secrets; known; known = known->next)
        if (strcmp(known->value, value) == 0)
            return true;
    struct secret *secret = xcalloc(1, sizeof(*secret));
    *secret = (struct secret){plain_name(name), xstrdup(value), secrets};
    secrets = secret;
    struct set *set = xcalloc(1, sizeof(*set));
    set->older = current;
    for (const struct secret *each = secrets; each; each = each->next)
        redact_encodings(each->value, collect, &(struct secret_collector){set, each});
    index_forms(set);
    __atomic_store_n(&current, set, __ATOMIC_RELEASE);
    return true;
}

bool redact_name_tells(const char *name)
{
    static const char *const words[] = {"KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

bool redact_add_variable(const char *name, const char *value)
{
    bool path = value[0] == '/' || value[0] == '~' || strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0;
    return (!path || redact_name_tells(name)) && redact_add(name, value);
}

static void wipe(char *text)
{
    explicit_bzero(text, strlen(text));
    free(text);
}

void redact_forget(void)
{
    struct set *set = current;
    __atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
    while (set) {
        struct set *older = set->older;
        for (size_t i = 0; i < set->count; i++)
            wipe(set->forms[i].text);
        free(set->forms);
        free(set);
        set = older;
    }
    while (secrets) {
        struct secret *next = secrets->next;
        free(secrets->name);
        wipe(secrets->value);
        free(secrets);
        secrets = next;
    }
}

/* ---- looking ---- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Returns how many bytes of the text spell this byte in a URL; 0: none. More than `len`: the text ends within. */
static size_t url_byte(unsigned char byte, const char *text, size_t len)
{
    if (len && *text == '%' && (len < 2 || hex_value(text[1]) == byte >> 4) &&
        (len < 3 || hex_value(text[2]) == (byte & 15)))
        return 3;
    return !len || (unsigned char)*text == byte || (*text == '+' && byte == ' ');
}

/* Returns how many bytes of the text the form takes; 0: no match. More than `len`: a possible match, but the text
 * ends within. `known`: how much of the text, or of an escaped value, matched. */
static size_t form_length(const struct form *form, const char *text, size_t len, size_t *known)
{
    size_t at = 0;
    *known = len;
    if (form->spelling == REDACT_ESCAPED)
        return escaped_length(form->text, form->len, text, len, known);
    if (form->spelling == REDACT_PLAIN)
        return memcmp(form->text, text, form->len < len ? form->len : len) == 0 ? form->len : 0;
    for (size_t i = 0; i < form->len && at <= len; i++) {
        size_t took = url_byte((unsigned char)form->text[i], text + at, len - at);
        if (!took)
            return 0;
        at += took;
    }
    return at;
}

/* The longest form at the beginning of the text, and its length; NULL: none. `cut`: a form that may begin here, but
 * the text ends before it does; NULL: none. `known`: how much of that one matched. */
static const struct form *form_at(const struct set *set, const char *text, size_t len, size_t *length,
                                  const struct form **cut, size_t *known)
{
    const struct form *found = NULL;
    unsigned char byte = (unsigned char)*text;
    *cut = NULL;
    *length = *known = 0;
    for (size_t i = set->first[byte]; i < set->first[byte + 1]; i++) {
        const struct form *form = &set->forms[i];
        size_t agrees, here = form_length(form, text, len, &agrees);
        if (here > len) {
            if (!*cut || agrees >= *known) {
                *cut = form;
                *known = agrees;
            }
        } else if (here > *length) {
            found = form;
            *length = here;
        }
    }
    return found;
}

static void add_mark(struct strbuf *out, const struct secret *secret)
{
    strbuf_addf(out, MARK "%s]", secret->name);
}

/* Replaces up to the end; in a stream, up to where a value may begin. Appends nothing until the first match, so that
 * `found` says whether the copy is needed. Returns how far it came. */
static size_t replace(struct strbuf *out, const struct set *set, const char *text, size_t len, bool stream, bool *found)
{
    size_t plain = 0, at = 0;
    while (at < len) {
        if (passes(set, text + at, len - at, stream)) {
            at++;
            continue;
        }
        size_t length, known;
        const struct form *cut, *form = form_at(set, text + at, len - at, &length, &cut, &known);
        if (cut && stream)
            break;
        if (!form && cut && known >= REDACT_LEAST) {
            form = cut; /* code that shortened the text did not know what it cut */
            length = len - at;
        }
        if (!form) {
            at++;
            continue;
        }
        strbuf_add(out, text + plain, at - plain);
        add_mark(out, form->secret);
        *found = true;
        plain = at += length;
    }
    if (*found || stream)
        strbuf_add(out, text + plain, at - plain);
    return at;
}

bool redact_text(struct strbuf *out, const char *text, size_t len)
{
    const struct set *set = the_set();
    bool found = false;
    if (set)
        replace(out, set, text, len, false, &found);
    return found;
}

size_t redact_part(struct strbuf *out, const char *text, size_t len)
{
    const struct set *set = the_set();
    bool found = false;
    if (set)
        return replace(out, set, text, len, true, &found);
    strbuf_add(out, text, len);
    return len;
}

char *redact_copy(const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (text && redact_text(&out, text, strlen(text)))
        return strbuf_detach(&out, NULL);
    return text ? xstrdup(text) : NULL;
}

/* ---- JSON ---- */

/* Returns the end of the string that begins with the quote at `at`, after its closing quote. */
static size_t string_end(const char *json, size_t len, size_t at, bool *escaped)
{
    *escaped = false;
    for (at++; at < len && json[at] != '"'; at++) {
        if (json[at] == '\\') {
            *escaped = true;
            at++;
        }
    }
    return at < len ? at + 1 : len;
}

/* Replaces within one token, a string with its quotes or a number; false if it may stay. */
static bool replace_token(struct strbuf *out, const struct set *set, const char *token, size_t len, bool escaped)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct json *value = NULL;
    bool quoted = token[0] == '"' && len >= 2, found = false;
    if (escaped)
        value = json_parse(&arena, token, len, NULL);
    if (value)
        replace(&text, set, value->text, value->len, false, &found);
    else
        replace(&text, set, token + quoted, len - 2 * quoted, false, &found);
    if (found)
        json_write_str(out, text.buf, text.len, JSON_COMPACT);
    return found;
}

/* Returns the end of the number or word that begins at `at`. */
static size_t word_end(const char *json, size_t len, size_t at)
{
    while (at < len && !strchr(",]}: \t\r\n\"", json[at]))
        at++;
    return at;
}

bool redact_json(struct strbuf *out, const char *json, size_t len)
{
    const struct set *set = the_set();
    CLEANUP(strbuf) struct strbuf token = STRBUF_INIT;
    size_t plain = 0, at = 0;
    bool found = false;
    while (set && at < len) {
        size_t begin = at;
        bool escaped = false;
        if (json[at] == '"') {
            at = string_end(json, len, at, &escaped);
        } else if (json[at] == '-' || (json[at] >= '0' && json[at] <= '9')) {
            at = word_end(json, len, at);
        } else {
            at++;
            continue;
        }
        strbuf_reset(&token);
        if (at - begin < REDACT_LEAST || !replace_token(&token, set, json + begin, at - begin, escaped))
            continue;
        strbuf_add(out, json + plain, begin - plain);
        strbuf_add(out, token.buf, token.len);
        plain = at;
        found = true;
    }
    if (found)
        strbuf_add(out, json + plain, len - plain);
    return found;
}

/* ---- restoring ---- */

const char *redact_mark(const char *text, size_t *len)
{
    for (const char *at = text; (at = strstr(at, MARK)); at++) {
        const char *name = at + strlen(MARK);
        *len = strcspn(name, "] \"\\\n");
        if (*len && *len <= NAME_MAX_SHOWN && name[*len] == ']')
            return name;
    }
    return NULL;
}

static const struct secret *find_secret(const char *name, size_t len)
{
    for (const struct secret *secret = secrets; secret; secret = secret->next)
        if (strlen(secret->name) == len && memcmp(secret->name, name, len) == 0)
            return secret;
    return NULL;
}

/* A value as it appears in JSON between quotes, or unchanged. */
static char *spelled(const char *value, bool json)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (!json)
        return xstrdup(value);
    json_write_str(&out, value, strlen(value), JSON_COMPACT);
    return xmemdup0(out.buf + 1, out.len - 2);
}

void redact_restore(struct strbuf *out, const char *text, const char *real, bool json)
{
    const char *plain = text, *at = text, *name;
    size_t len;
    while ((name = redact_mark(at, &len))) {
        const struct secret *secret = find_secret(name, len);
        CLEANUP(free) char *value = secret ? spelled(secret->value, json) : NULL;
        at = name + len + 1;
        if (!value || !strstr(real, value))
            continue;
        strbuf_add(out, plain, (size_t)(name - strlen(MARK) - plain));
        strbuf_addstr(out, value);
        plain = at;
    }
    strbuf_addstr(out, plain);
}
