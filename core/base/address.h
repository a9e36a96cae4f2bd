#pragma once
/* Internet addresses as values: read, written, compared, and told apart by what they lead to. Pure; no socket here.
 *
 * An address is 16 bytes. IPv4 is ::ffff:a.b.c.d, so 127.0.0.1 and ::ffff:127.0.0.1 are the same value and no check can
 * be passed by writing one as the other. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;
struct sockaddr_storage;

#define ADDRESS_TEXT_MAX 48

struct address {
    uint8_t ip[16];
};

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE, /* of a local network: RFC 1918, unique local, carrier-grade NAT */
    ADDRESS_LOCAL,   /* of this machine or this link: loopback, unspecified, link-local, a cloud's metadata */
    ADDRESS_OTHER,   /* nobody's: multicast, reserved, documentation, tunnels that hide another address */
};

/* The strict forms only, "127.0.0.1" and "::1", no brackets, no zone. What else a C library would take ("127.1",
 * "0x7f.1", "2130706433") is no address here. */
bool address_parse(struct address *address, const char *text);
bool address_from_socket(struct address *address, const struct sockaddr *from);
/* For connect(); the length of it. */
size_t address_to_socket(const struct address *address, uint16_t port, struct sockaddr_storage *to);
/* 127.0.0.1, not ::ffff:127.0.0.1. Returns `text`. */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT_MAX]);
bool address_is_v4(const struct address *address);
/* Whether the first `bits` are the same. */
bool address_within(const struct address *address, const struct address *network, unsigned bits);
enum address_kind address_kind(const struct address *address);
const char *address_kind_name(enum address_kind kind); /* "a private address" */
/* One of this machine's own interfaces has it, or the kernel, which is asked, does not say. */
bool address_is_ours(const struct address *address);
