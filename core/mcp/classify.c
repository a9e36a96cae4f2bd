#include "classify.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

#define WORST (MCP_NETWORK | MCP_DESTROYS)

static struct mcp_class class_of_bits(unsigned bits, bool idempotent)
{
    return (struct mcp_class){
        .bits = bits,
        .effect = bits & MCP_DESTROYS  ? EFFECT_DESTRUCTIVE
                  : bits & MCP_NETWORK ? EFFECT_NETWORK
                  : bits & MCP_WRITES  ? EFFECT_LOCAL_WRITE
                                       : EFFECT_READ_ONLY,
        .idempotent = idempotent,
        .asks = bits & (MCP_WRITES | MCP_DESTROYS),
    };
}

struct mcp_class mcp_claimed(const struct json *annotations)
{
    if (!annotations || annotations->type != JSON_OBJECT)
        return class_of_bits(WORST, false);
    bool reads = json_bool(json_get(annotations, "readOnlyHint"), false);
    bool destroys = json_bool(json_get(annotations, "destructiveHint"), true);
    bool open_world = json_bool(json_get(annotations, "openWorldHint"), true);
    bool idempotent = json_bool(json_get(annotations, "idempotentHint"), false);
    unsigned bits = reads ? 0 : destroys ? MCP_DESTROYS : MCP_WRITES;
    return class_of_bits(bits | (open_world ? MCP_NETWORK : 0), reads || idempotent);
}

static unsigned bits_of_effect(enum effect effect)
{
    switch (effect) {
    case EFFECT_READ_ONLY:
        return 0;
    case EFFECT_LOCAL_WRITE:
        return MCP_WRITES;
    case EFFECT_NETWORK:
        return MCP_NETWORK;
    case EFFECT_DESTRUCTIVE:
        return MCP_DESTROYS;
    case EFFECT_UNKNOWN:
        break;
    }
    return WORST;
}

static const struct mcp_rule *rule_for(const struct mcp_spec *spec, const char *tool)
{
    for (size_t i = 0; i < spec->rule_count; i++)
        if (strcmp(spec->rules[i].tool, tool) == 0)
            return &spec->rules[i];
    return NULL;
}

struct mcp_class mcp_class_of(const struct mcp_spec *spec, const char *tool, const struct json *annotations)
{
    struct mcp_class claimed = mcp_claimed(annotations);
    const struct mcp_rule *own = rule_for(spec, tool), *all = rule_for(spec, "*");
    if (own) {
        unsigned bits = bits_of_effect(own->effect);
        return class_of_bits(bits, bits == 0 || (spec->trust && bits == claimed.bits && claimed.idempotent));
    }
    if (all) {
        unsigned raised = annotations && annotations->type == JSON_OBJECT ? claimed.bits : 0;
        unsigned bits = bits_of_effect(all->effect);
        bits |= raised;
        return class_of_bits(bits, bits == 0 || (spec->trust && bits == claimed.bits && claimed.idempotent));
    }
    return spec->trust ? claimed : class_of_bits(WORST, false);
}

void mcp_class_write(struct strbuf *out, const struct mcp_class *class)
{
    static const struct {
        unsigned bit;
        enum effect effect;
    } words[] = {{MCP_NETWORK, EFFECT_NETWORK}, {MCP_WRITES, EFFECT_LOCAL_WRITE}, {MCP_DESTROYS, EFFECT_DESTRUCTIVE}};
    const char *before = "";
    if (!class->bits)
        strbuf_addstr(out, effect_name(EFFECT_READ_ONLY));
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (class->bits & words[i].bit) {
            strbuf_addf(out, "%s%s", before, effect_name(words[i].effect));
            before = " + ";
        }
    if (class->idempotent && class->bits)
        strbuf_addstr(out, ", idempotent");
}
