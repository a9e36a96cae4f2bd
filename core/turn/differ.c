#include "differ.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

/* Members that differ by nature: an artifact is named anew each time it is kept, a deadline is a time, what a look back
 * took from the cache is not recorded, how excerpts are ranked may get better, a script has a new name and takes
 * another while each time it runs, and what a write loses depends on who runs it on which file system. */
static const struct {
    const char *field, *members;
} ignored[] = {{"artifact", "id path"},
               {"timeout", "deadline_s"},
               {"usage", "cache_read cache_write"},
               {"pack", "score"},
               {"result", "execution_id duration_ms"},
               {"files", "loses"}};

static bool listed(const char *names, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = names; (at = strstr(at, name)); at += len)
        if ((at == names || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

/* What a long text was kept as, in a member like `stdout_artifact`: named anew each time, as a whole artifact is. */
static bool names_kept_text(const struct json *member)
{
    static const char last[] = "artifact", kept[] = "artifact://art_";
    size_t len = strlen(member->key);

    return len >= strlen(last) && strcmp(member->key + len - strlen(last), last) == 0 &&
           strncmp(json_str(member, ""), kept, strlen(kept)) == 0;
}

/* How two values are compared, and where they differ first. */
struct comparison {
    const char *without; /* members that are left out */
    size_t first;        /* how many items of the outermost list were left out before it */
    bool result;         /* of a call: it may name what was kept */
    bool sparse;         /* what the recording does not hold is not asked for */
    struct strbuf path;
    const struct json *at_a, *at_b;
};

static bool json_differs(struct comparison *c, const struct json *a, const struct json *b);

static bool objects_differ(struct comparison *c, const struct json *a, const struct json *b)
{
    size_t len = c->path.len;
    const struct json *other;

    json_each (member, a) {
        if (listed(c->without, member->key))
            continue;
        other = json_get(b, member->key);
        strbuf_addf(&c->path, ".%s", member->key);
        if (!(c->result && names_kept_text(member) && other && names_kept_text(other)) &&
            json_differs(c, member, other))
            return true;
        strbuf_set_len(&c->path, len);
    }
    json_each (member, b) {
        if (c->sparse || listed(c->without, member->key) || json_get(a, member->key))
            continue;
        strbuf_addf(&c->path, ".%s", member->key);
        c->at_a = NULL;
        c->at_b = member;
        return true;
    }
    return false;
}

static bool json_differs(struct comparison *c, const struct json *a, const struct json *b)
{
    c->at_a = a;
    c->at_b = b;
    if (!a || !b)
        return a != b;
    if (a->type != b->type)
        return true;
    switch (a->type) {
    case JSON_OBJECT:
        return objects_differ(c, a, b);
    case JSON_ARRAY: {
        size_t len = c->path.len;
        const struct json *x = a->child, *y = b->child;
        size_t i = c->first;

        for (c->first = 0; x || y; i++) {
            strbuf_addf(&c->path, "[%zu]", i);
            if (json_differs(c, x, y))
                return true;
            strbuf_set_len(&c->path, len);
            x = x ? x->next : NULL;
            y = y ? y->next : NULL;
        }
        return false;
    }
    case JSON_NUMBER:
        return json_num(a, 0) != json_num(b, 0);
    case JSON_STRING:
        return strcmp(a->text, b->text) != 0;
    default:
        return false;
    }
}

static const char *source(struct arena *arena, const struct json *value)
{
    return value ? arena_memdup0(arena, value->src, value->src_len) : NULL;
}

static void comparison_init(struct comparison *c, const char *field, const struct json *recorded)
{
    *c = (struct comparison){.without = "", .path = STRBUF_INIT};
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        if (strcmp(ignored[i].field, field) == 0)
            c->without = ignored[i].members;
    /* A refusal is told in other words when the recording is who refuses. Its reason stands in write.decided. */
    if (strcmp(field, "denied") == 0 && strcmp(json_str(json_get(recorded, "reason"), ""), "write_denied") == 0)
        c->without = "details";
    /* A call that a person wrote down may lack its id; the run has given it one. */
    c->sparse = strcmp(field, "tool_calls") == 0;
    c->result = strcmp(field, "result") == 0;
    strbuf_addstr(&c->path, field);
}

/* The messages of a turn begin with the prompt, whose hash is a field of its own, with today's date and with what was
 * remembered: none of them is the turn's. */
static const struct json *own_messages(struct arena *arena, const struct json *messages, bool memory, size_t *left_out)
{
    struct json *own = arena_alloc(arena, sizeof(*own));

    if (!messages)
        return NULL;
    *own = *messages;
    for (*left_out = 0; own->child && *left_out < (memory ? 3 : 2); ++*left_out)
        own->child = own->child->next;
    return own;
}

bool differ_json(struct arena *arena, const char *field, struct differ_side recorded, struct differ_side got,
                 struct difference *first)
{
    const struct json *a = recorded.text ? json_parse(arena, recorded.text, strlen(recorded.text), NULL) : NULL;
    const struct json *b = got.text ? json_parse(arena, got.text, strlen(got.text), NULL) : NULL;
    struct comparison c;
    bool differs;

    comparison_init(&c, field, a);
    if (strcmp(field, "messages") == 0) {
        b = own_messages(arena, b, got.memory, &c.first);
        a = own_messages(arena, a, recorded.memory, &c.first);
    }
    differs = json_differs(&c, a, b);
    if (differs)
        *first = (struct difference){arena_strdup(arena, c.path.buf), source(arena, c.at_a), source(arena, c.at_b)};
    strbuf_release(&c.path);
    return differs;
}
