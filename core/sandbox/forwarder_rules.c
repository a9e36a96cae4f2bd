/* The list of hosts that programs may reach: parses rules and matches hosts and addresses (forwarder_rules.h). */

#include "forwarder_rules.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ADDRESS_BITS 128
#define V4_BITS      96
#define LABEL_MAX    63

/* ---- names ---- */

uint16_t network_port_parse(const char *text, size_t len)
{
    unsigned long port = 0;
    if (!len || len > 5)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return 0;
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* A C library takes a name whose last label is a number for an address, in any notation. */
static bool ends_in_number(const char *name)
{
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    if (!last[strspn(last, "0123456789")])
        return true;
    return last[0] == '0' && last[1] == 'x' && !last[2 + strspn(last + 2, "0123456789abcdef")];
}

/* Checks the name and lower-cases it in place. */
static bool clean_name(char *name)
{
    size_t len = strlen(name), label = 0;
    if (len && name[len - 1] == '.')
        name[--len] = '\0';
    for (size_t i = 0; i < len; i++) {
        name[i] = (char)tolower((unsigned char)name[i]);
        bool dot = name[i] == '.';
        if (dot ? !label : !strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", name[i]))
            return false;
        label = dot ? 0 : label + 1;
        if (label > LABEL_MAX)
            return false;
    }
    return label && !ends_in_number(name);
}

bool network_is_localhost(const char *host)
{
    size_t len = strlen(host), own = strlen(NETWORK_LOCALHOST);
    return strcmp(host, NETWORK_LOCALHOST) == 0 ||
           (len > own && host[len - own - 1] == '.' && strcmp(host + len - own, NETWORK_LOCALHOST) == 0);
}

int network_target_set(struct network_target *target, const char *host, size_t len, unsigned long port, struct err *err)
{
    *target = (struct network_target){0};
    bool brackets = len > 1 && host[0] == '[' && host[len - 1] == ']';
    host += brackets;
    len -= brackets ? 2 : 0;
    if (!len || len > NETWORK_HOST_MAX || memchr(host, '\0', len))
        return err_set(err, "a host name has 1 to %d characters", NETWORK_HOST_MAX);
    if (!port || port > UINT16_MAX)
        return err_set(err, "a port is a number from 1 to 65535");
    memcpy(target->host, host, len);
    target->port = (uint16_t)port;
    target->is_address = address_parse(&target->address, target->host);
    if (target->is_address)
        address_text(&target->address, target->host);
    else if (brackets || !clean_name(target->host))
        return err_set(err, "invalid host name or address");
    return 0;
}

const char *network_target_text(const struct network_target *target, char text[NETWORK_TARGET_TEXT_MAX])
{
    bool six = target->is_address && !address_is_v4(&target->address);
    snprintf(text, NETWORK_TARGET_TEXT_MAX, six ? "[%s]:%u" : "%s:%u", target->host, target->port);
    return text;
}

/* ---- rules ---- */

/* "10.0.0.0/8", "10.1.2.3", "::1/128" */
static int parse_addresses(struct network_rule *rule, const char *text, struct err *err)
{
    size_t len = strcspn(text, "/");
    CLEANUP(free) char *plain = xmemdup0(text, len);
    if (!address_parse(&rule->network, plain))
        return err_set(err, "invalid address \"%.60s\"", plain);
    unsigned most = address_is_v4(&rule->network) ? ADDRESS_BITS - V4_BITS : ADDRESS_BITS;
    unsigned bits = most;
    if (text[len] == '/') {
        bits = network_port_parse(text + len + 1, strlen(text + len + 1));
        if (!bits || bits > most)
            return err_set(err, "the network \"%.60s\" must have 1 to %u bits", text, most);
    }
    rule->kind = NETWORK_ADDRESSES;
    rule->bits = bits + ADDRESS_BITS - most;
    return 0;
}

static int parse_host(struct network_rule *rule, char *host, struct err *err)
{
    struct address any;
    CLEANUP(free) char *plain = xmemdup0(host, strcspn(host, "/"));
    if (strcmp(host, "*") == 0) {
        rule->kind = NETWORK_ANY;
        return 0;
    }
    if (address_parse(&any, plain))
        return parse_addresses(rule, host, err);
    bool below = strncmp(host, "*.", 2) == 0;
    host += below ? 2 : 0;
    if (strlen(host) > NETWORK_HOST_MAX || !clean_name(host))
        return err_set(err, "invalid host \"%.60s\"; use \"example.org:443\", \"*.example.org\" or \"10.0.0.0/8:5432\"",
                       host);
    rule->kind = below ? NETWORK_BELOW : NETWORK_NAME;
    memcpy(rule->name, host, strlen(host) + 1);
    return 0;
}

int network_rule_parse(struct network_rule *rule, const char *text, struct err *err)
{
    CLEANUP(free) char *own = xstrdup(text);
    char *host = own, *port = strrchr(own, ':');
    *rule = (struct network_rule){0};
    if (strstr(own, "://"))
        return err_set(err, "\"%.60s\" is a URL; list its host and port, as in \"example.org:443\"", text);
    if (own[0] == '[') {
        char *end = strchr(own, ']');
        if (!end || (end[1] && end[1] != ':'))
            return err_set(err, "\"%.60s\" has no \"]\" before its port", text);
        port = end[1] ? end + 1 : NULL;
        *end = '\0';
        host++;
    } else if (port && strchr(own, ':') != port)
        port = NULL; /* two colons: IPv6 without a port */
    if (port) {
        *port = '\0';
        rule->port = network_port_parse(port + 1, strlen(port + 1));
        if (!rule->port)
            return err_set(err, "\"%.60s\" has no port from 1 to 65535 after its colon", text);
    }
    return own[0] == '[' ? parse_addresses(rule, host, err) : parse_host(rule, host, err);
}

void network_rule_write(const struct network_rule *rule, struct strbuf *out)
{
    char text[ADDRESS_TEXT_MAX];
    bool four = address_is_v4(&rule->network);
    if (rule->kind == NETWORK_ADDRESSES && four)
        strbuf_addf(out, "%s/%u", address_text(&rule->network, text), rule->bits - V4_BITS);
    else if (rule->kind == NETWORK_ADDRESSES)
        strbuf_addf(out, "[%s/%u]", address_text(&rule->network, text), rule->bits);
    else
        strbuf_addf(out, "%s%s",
                    rule->kind == NETWORK_NAME    ? ""
                    : rule->kind == NETWORK_BELOW ? "*."
                                                  : "*",
                    rule->name);
    if (rule->port)
        strbuf_addf(out, ":%u", rule->port);
}

struct network_rules network_rules_copy(const struct network_rules *rules)
{
    struct network_rule *items = rules->count ? xcalloc(rules->count, sizeof(*items)) : NULL;
    if (items)
        memcpy(items, rules->items, rules->count * sizeof(*items));
    return (struct network_rules){items, rules->count, rules->where};
}

void network_rules_release(struct network_rules *copy)
{
    free((struct network_rule *)(uintptr_t)copy->items);
    *copy = (struct network_rules){0};
}

/* ---- deciding ---- */

static bool fits_port(const struct network_rule *rule, const struct network_target *target)
{
    return !rule->port || rule->port == target->port;
}

static bool is_below(const char *host, const char *name)
{
    size_t len = strlen(host), own = strlen(name);
    return len > own + 1 && host[len - own - 1] == '.' && strcmp(host + len - own, name) == 0;
}

static bool fits_name(const struct network_rule *rule, const struct network_target *target)
{
    if (target->is_address)
        return rule->kind == NETWORK_ANY;
    return rule->kind == NETWORK_ANY || (rule->kind == NETWORK_NAME && strcmp(rule->name, target->host) == 0) ||
           (rule->kind == NETWORK_BELOW && is_below(target->host, rule->name));
}

static bool is_loopback_of(const struct address *address)
{
    struct address four, six;
    address_parse(&four, "127.0.0.1");
    address_parse(&six, "::1");
    return address_within(address, &four, ADDRESS_BITS) || address_within(address, &six, ADDRESS_BITS);
}

/* True if the rule lists this very address. An IPv6 network ("::/8") does not list IPv4 addresses, although they are
 * stored as IPv6. */
static bool lists_address(const struct network_rule *rule, const struct address *address)
{
    if (rule->kind == NETWORK_ADDRESSES)
        return address_within(address, &rule->network, rule->bits) &&
               (rule->bits >= V4_BITS || !address_is_v4(address));
    return rule->kind == NETWORK_NAME && network_is_localhost(rule->name) && is_loopback_of(address);
}

static const char *where(const struct network_rules *rules)
{
    return rules->where ? rules->where : "the list of hosts";
}

static int not_listed(const struct network_rules *rules, const struct network_target *target, struct err *why)
{
    char text[NETWORK_TARGET_TEXT_MAX];
    return err_set(why, "%s is not in %s", network_target_text(target, text), where(rules));
}

int network_rules_check_name(const struct network_rules *rules, const struct network_target *target, struct err *why)
{
    bool known = target->is_address || network_is_localhost(target->host); /* needs no name server */
    for (size_t i = 0; i < rules->count; i++)
        if (fits_port(&rules->items[i], target) && (known || fits_name(&rules->items[i], target)))
            return 0;
    return not_listed(rules, target, why);
}

int network_rules_check_address(const struct network_rules *rules, const struct network_target *target,
                                const struct address *address, bool ours, struct err *why)
{
    enum address_kind kind = ours ? ADDRESS_LOCAL : address_kind(address);
    bool named = false;
    for (size_t i = 0; i < rules->count; i++) {
        const struct network_rule *rule = &rules->items[i];
        if (!fits_port(rule, target))
            continue;
        if (lists_address(rule, address))
            return 0;
        if (!fits_name(rule, target))
            continue;
        named = true;
        if (kind == ADDRESS_PUBLIC || (kind == ADDRESS_PRIVATE && rule->kind == NETWORK_NAME))
            return 0;
    }
    char text[NETWORK_TARGET_TEXT_MAX], at[ADDRESS_TEXT_MAX];
    if (!named)
        return not_listed(rules, target, why);
    return err_set(why, "%s is %s (%s), which is not in %s", network_target_text(target, text), address_kind_name(kind),
                   address_text(address, at), where(rules));
}

bool network_rules_name_loopback(const struct network_rules *rules)
{
    struct address four, six;
    address_parse(&four, "127.0.0.1");
    address_parse(&six, "::1");
    for (size_t i = 0; i < rules->count; i++)
        if (lists_address(&rules->items[i], &four) || lists_address(&rules->items[i], &six))
            return true;
    return false;
}
