/* Interned texts of a session: each text once, with a number.
 *
 * Ids, tools and states recur in nearly every row, so rows hold a number instead. The same table answers "which call
 * is c4": a name has the newest row with that id, so a look-up is one probe, however many calls there are.
 *
 * A session must stay small, whatever was recorded, so names are short. Of a longer text the table keeps the
 * beginning and a digest of the whole. Two long ids that differ anywhere stay two names. */

#include "base/mem.h"
#include "base/utf8.h"
#include "session_fold.h"

#define NAME_MAX_BYTES 200
#define NAME_ROOM      (NAME_MAX_BYTES + 24)

/* A name that no row has as its id yet. */
static struct session_name new_name(uint32_t start)
{
    return (struct session_name){.start = start,
                                 .call = SESSION_NONE,
                                 .ask = SESSION_NONE,
                                 .checkpoint = SESSION_NONE,
                                 .program = SESSION_NONE,
                                 .workspace = SESSION_NONE};
}

struct session_names *session_names_new(void)
{
    struct session_names *names = xcalloc(1, sizeof(*names));
    strbuf_init(&names->texts);
    strbuf_init(&names->words);
    strbuf_addch(&names->texts, '\0');
    GROW(names->names, names->count, names->room);
    names->names[names->count++] = new_name(0);
    return names;
}

void session_names_free(struct session_names *names)
{
    if (!names)
        return;
    strbuf_release(&names->texts);
    strbuf_release(&names->words);
    free(names->names);
    free(names->slots);
    free(names->older_call);
    arena_release(&names->scratch);
    free(names);
}

static const char *name_text(const struct session_names *names, uint32_t name)
{
    return names->texts.buf + names->names[name].start;
}

static uint32_t hash_text(const char *text)
{
    uint64_t hash = hash_fnv1a(text, strlen(text));
    return (uint32_t)(hash ^ hash >> 32);
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *find_slot(const struct session_names *names, const char *text)
{
    uint32_t mask = names->slot_room - 1;
    uint32_t at = hash_text(text) & mask;
    while (names->slots[at] && strcmp(name_text(names, names->slots[at]), text) != 0)
        at = (at + 1) & mask;
    return &names->slots[at];
}

static void grow_slots(struct session_names *names)
{
    /* Never more than three quarters full. */
    if (names->slot_room && (uint64_t)names->count * 4 <= (uint64_t)names->slot_room * 3)
        return;
    free(names->slots);
    names->slot_room = names->slot_room ? names->slot_room * 2 : 64;
    names->slots = xcalloc(names->slot_room, sizeof(*names->slots));
    for (uint32_t name = 1; name < names->count; name++)
        *find_slot(names, name_text(names, name)) = name;
}

/* The text itself, or its short form in `room`. */
static const char *shorten(const char *text, char room[NAME_ROOM])
{
    size_t len = strlen(text);
    if (len <= NAME_MAX_BYTES)
        return text;
    size_t keep = NAME_MAX_BYTES - 20;
    while (keep && ((unsigned char)text[keep] & 0xC0) == 0x80)
        keep--;
    snprintf(room, NAME_ROOM, "%.*s~%016llx", (int)keep, text, (unsigned long long)hash_fnv1a(text, len));
    return room;
}

uint32_t session_interned(const struct session *session, const char *text)
{
    char room[NAME_ROOM];
    if (!text || !*text || !session->names->slots)
        return 0;
    return *find_slot(session->names, shorten(text, room));
}

uint32_t session_intern(struct session *session, const char *text)
{
    struct session_names *names = session->names;
    char room[NAME_ROOM];
    if (!text || !*text)
        return 0;
    text = shorten(text, room);
    grow_slots(names);
    uint32_t *slot = find_slot(names, text);
    if (*slot)
        return *slot;
    if (names->texts.len > UINT32_MAX - NAME_ROOM)
        return 0; /* 4 GB of names: no real recording */
    GROW(names->names, names->count, names->room);
    names->names[names->count] = new_name((uint32_t)names->texts.len);
    strbuf_add(&names->texts, text, strlen(text) + 1);
    *slot = names->count++;
    session->names_count = names->count - 1;
    return *slot;
}

const char *session_name(const struct session *session, uint32_t name)
{
    return name < session->names->count ? name_text(session->names, name) : "";
}

uint32_t session_find_call(const struct session *session, const char *id)
{
    uint32_t name = session_interned(session, id);
    return name ? session->names->names[name].call : SESSION_NONE;
}

uint32_t session_find_call_in(const struct session *session, const char *id, int64_t turn)
{
    uint32_t row = session_find_call(session, id);
    while (turn > 0 && row != SESSION_NONE && session->turns[session->calls[row].turn].number > turn)
        row = session->names->older_call[row];
    return row;
}

uint32_t session_find_ask(const struct session *session, const char *id)
{
    uint32_t name = session_interned(session, id);
    return name ? session->names->names[name].ask : SESSION_NONE;
}

uint32_t session_find_checkpoint(const struct session *session, const char *id)
{
    uint32_t name = session_interned(session, id);
    return name ? session->names->names[name].checkpoint : SESSION_NONE;
}
