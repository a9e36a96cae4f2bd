#pragma once
/* Network rules: matches the hosts that a program requests against a list that the user wrote. Pure functions.
 *
 *     example.org            every port          10.0.0.0/8:5432      a network
 *     example.org:443                            [2001:db8::1]:443    an IPv6 address, with or without a port
 *     *.example.org:443      names below it      *                    every public host; *:443 on that port
 *
 * A name that matches no rule is not even resolved, because a query to a name server can carry a program's data out.
 *
 * Names are not addresses. A listed name may resolve to public addresses and to private ones of a local network. A
 * wildcard allows only public addresses, because the owner of a matching name could point it anywhere. Loopback,
 * link-local and other addresses of this machine must be listed as such, or as "localhost". */

#include "base/address.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETWORK_HOST_MAX        253
#define NETWORK_LOCALHOST       "localhost"
#define NETWORK_TARGET_TEXT_MAX (NETWORK_HOST_MAX + 16)

struct strbuf;

enum network_rule_kind { NETWORK_ANY, NETWORK_NAME, NETWORK_BELOW, NETWORK_ADDRESSES };

/* Plain values, so a list can be copied as bytes. */
struct network_rule {
    enum network_rule_kind kind;
    char name[NETWORK_HOST_MAX + 1];
    struct address network;
    unsigned bits;
    uint16_t port; /* 0: every port */
};

struct network_rules {
    const struct network_rule *items;
    size_t count;      /* 0: no network */
    const char *where; /* where the list is, for messages about refusals: "workspace.network". Static; NULL: unknown */
};

/* The host and port that a program requests. */
struct network_target {
    char host[NETWORK_HOST_MAX + 1]; /* lower case, without a final dot; or an address in its canonical form */
    struct address address;
    bool is_address;
    uint16_t port;
};

int network_rule_parse(struct network_rule *rule, const char *text, struct err *err) CHECKED;
/* Writes the form that network_rule_parse reads. */
void network_rule_write(const struct network_rule *rule, struct strbuf *out);
/* `host`: a name or an address, with or without brackets. Anything else ("127.1", "0x7f.1") is an error. */
int network_target_set(struct network_target *target, const char *host, size_t len, unsigned long port,
                       struct err *err) CHECKED;
/* "example.org:443", "[::1]:443". Returns `text`. */
const char *network_target_text(const struct network_target *target, char text[NETWORK_TARGET_TEXT_MAX]);
struct network_rules network_rules_copy(const struct network_rules *rules);
void network_rules_release(struct network_rules *copy);
/* Digits only, 1 to 65535; 0: invalid. */
uint16_t network_port_parse(const char *text, size_t len);

/* Returns 0 if a rule allows resolving the target's name. Else -1 and the reason, for the program and its user. */
int network_rules_check_name(const struct network_rules *rules, const struct network_target *target,
                             struct err *why) CHECKED;
/* Returns 0 if a rule allows a connection to that address: the target itself, or one that its name resolved to. Else
 * -1 and the reason. `ours`: one of this machine's interfaces has it. */
int network_rules_check_address(const struct network_rules *rules, const struct network_target *target,
                                const struct address *address, bool ours, struct err *why) CHECKED;
/* "localhost" and names below it; a name server is never asked for them (RFC 6761). */
bool network_is_localhost(const char *host);
/* True if a rule lists this machine's loopback. */
bool network_rules_name_loopback(const struct network_rules *rules);
