/* What counts is how the newest real execution of a call ended. A denial is none: were it recorded, the refusal of the
 * second call as a duplicate would let the third one run (D35). */

#include "dedupe.h"
#include "base/json.h"
#include "base/mem.h"

void dedupe_key_text(struct strbuf *out, const char *tool, const struct json *arguments)
{
    strbuf_addstr(out, tool);
    strbuf_addch(out, ':');
    if (arguments)
        json_write(out, arguments, JSON_CANONICAL);
    else
        strbuf_addstr(out, "{}");
}

void dedupe_key(char out[HASH_MD5_HEX], const char *tool, const struct json *arguments)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    dedupe_key_text(&text, tool, arguments);
    hash_md5(text.buf, text.len, out);
}

void dedupe_init(struct dedupe *dedupe)
{
    *dedupe = (struct dedupe){0};
}

void dedupe_release(struct dedupe *dedupe)
{
    hash_map_release(&dedupe->done);
}

bool dedupe_should_skip(const struct dedupe *dedupe, const char *key, bool idempotent)
{
    return idempotent && hash_map_get(&dedupe->done, key, 0) == 1;
}

void dedupe_record(struct dedupe *dedupe, const char *key, enum outcome_type outcome)
{
    switch (outcome) {
    case OUTCOME_RESULT:
    case OUTCOME_ARTIFACT:
        hash_map_put(&dedupe->done, key, 1);
        break;
    case OUTCOME_FAILURE:
    case OUTCOME_TIMEOUT:
        hash_map_put(&dedupe->done, key, 0);
        break;
    case OUTCOME_DENIED:
        break;
    }
}
