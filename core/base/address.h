#pragma once
/* Internet addresses as values: parse, write, compare, and classify by what they lead to. Pure functions; no
 * sockets.
 *
 * An address is 16 bytes. IPv4 is ::ffff:a.b.c.d, so 127.0.0.1 and ::ffff:127.0.0.1 are the same value, and no check
 * can be bypassed by writing one as the other. */

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
    ADDRESS_OTHER,   /* not for ordinary hosts: multicast, reserved, documentation, tunnels that hide another address */
};

/* Accepts only the strict forms, "127.0.0.1" and "::1", without brackets and zone. Other forms that a C library
 * accepts ("127.1", "0x7f.1", "2130706433") are not addresses here. */
bool address_parse(struct address *address, const char *text);
bool address_from_socket(struct address *address, const struct sockaddr *from);
/* Fills in the address for connect() and returns its length. */
size_t address_to_socket(const struct address *address, uint16_t port, struct sockaddr_storage *to);
/* 127.0.0.1, not ::ffff:127.0.0.1. Returns `text`. */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT_MAX]);
bool address_is_v4(const struct address *address);
/* True if the first `bits` are equal. */
bool address_within(const struct address *address, const struct address *network, unsigned bits);
enum address_kind address_kind(const struct address *address);
const char *address_kind_name(enum address_kind kind); /* "a private address" */
/* True if one of this machine's own interfaces has it, or if the kernel does not answer that question. */
bool address_is_ours(const struct address *address);
