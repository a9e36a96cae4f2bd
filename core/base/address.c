/* Internet addresses as values: see address.h. The table of networks follows the IANA registries of special-purpose
 * addresses. Of IPv6 only what IANA gives out (2000::/3) is public: new special networks are then refused, not missed.
 */

#include "address.h"
#include "mem.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define V4_BITS 96 /* before the four bytes of an IPv4 address */

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void set_v4(struct address *address, const void *four)
{
    memcpy(address->ip, v4_prefix, sizeof(v4_prefix));
    memcpy(address->ip + sizeof(v4_prefix), four, 4);
}

bool address_parse(struct address *address, const char *text)
{
    struct in_addr four;
    if (inet_pton(AF_INET, text, &four) == 1) {
        set_v4(address, &four);
        return true;
    }
    return inet_pton(AF_INET6, text, address->ip) == 1;
}

bool address_from_socket(struct address *address, const struct sockaddr *from)
{
    if (from->sa_family == AF_INET) {
        set_v4(address, &((const struct sockaddr_in *)(const void *)from)->sin_addr);
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    memcpy(address->ip, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, sizeof(address->ip));
    return true;
}

size_t address_to_socket(const struct address *address, uint16_t port, struct sockaddr_storage *to)
{
    memset(to, 0, sizeof(*to));
    if (address_is_v4(address)) {
        struct sockaddr_in *four = (struct sockaddr_in *)(void *)to;
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        memcpy(&four->sin_addr, address->ip + 12, 4);
        return sizeof(*four);
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)to;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    memcpy(&six->sin6_addr, address->ip, sizeof(address->ip));
    return sizeof(*six);
}

const char *address_text(const struct address *address, char text[ADDRESS_TEXT_MAX])
{
    if (address_is_v4(address))
        inet_ntop(AF_INET, address->ip + 12, text, ADDRESS_TEXT_MAX);
    else
        inet_ntop(AF_INET6, address->ip, text, ADDRESS_TEXT_MAX);
    return text;
}

bool address_is_v4(const struct address *address)
{
    return memcmp(address->ip, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool address_within(const struct address *address, const struct address *network, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(address->ip, network->ip, whole) != 0)
        return false;
    unsigned mask = rest ? 0xffu << (8 - rest) & 0xffu : 0;
    return !rest || ((address->ip[whole] ^ network->ip[whole]) & mask) == 0;
}

static const struct {
    const char *network;
    unsigned bits;
    enum address_kind kind;
} special[] = {
    {"0.0.0.0", 8, ADDRESS_LOCAL}, /* Linux takes 0.0.0.0 for itself */
    {"10.0.0.0", 8, ADDRESS_PRIVATE},
    {"100.100.100.200", 32, ADDRESS_LOCAL}, /* metadata of Alibaba's cloud */
    {"100.64.0.0", 10, ADDRESS_PRIVATE},    /* carrier-grade NAT, overlay networks */
    {"127.0.0.0", 8, ADDRESS_LOCAL},
    {"168.63.129.16", 32, ADDRESS_LOCAL}, /* Azure's host, for every machine there */
    {"169.254.0.0", 16, ADDRESS_LOCAL},   /* link-local, and the metadata of most clouds */
    {"172.16.0.0", 12, ADDRESS_PRIVATE},
    {"192.0.0.0", 24, ADDRESS_OTHER},
    {"192.0.2.0", 24, ADDRESS_OTHER},
    {"192.88.99.0", 24, ADDRESS_OTHER}, /* 6to4 relays */
    {"192.168.0.0", 16, ADDRESS_PRIVATE},
    {"198.18.0.0", 15, ADDRESS_PRIVATE}, /* benchmarks, and private in practice */
    {"198.51.100.0", 24, ADDRESS_OTHER},
    {"203.0.113.0", 24, ADDRESS_OTHER},
    {"224.0.0.0", 4, ADDRESS_OTHER},       /* multicast */
    {"240.0.0.0", 4, ADDRESS_OTHER},       /* reserved, broadcast */
    {"::", 127, ADDRESS_LOCAL},            /* :: and ::1 */
    {"fd00:ec2::254", 128, ADDRESS_LOCAL}, /* metadata of Amazon's cloud, */
    {"fd20:ce::254", 128, ADDRESS_LOCAL},  /* Google's */
    {"fd00:42::42", 128, ADDRESS_LOCAL},   /* and Scaleway's */
    {"fc00::", 7, ADDRESS_PRIVATE},
    {"fe80::", 10, ADDRESS_LOCAL},
    {"fec0::", 10, ADDRESS_PRIVATE}, /* site-local (deprecated) */
    {"2001::", 23, ADDRESS_OTHER},   /* Teredo, ORCHID, benchmarks */
    {"2001:db8::", 32, ADDRESS_OTHER},
    {"2002::", 16, ADDRESS_OTHER}, /* 6to4: another address inside */
    {"3fff::", 20, ADDRESS_OTHER},
};

/* 64:ff9b::a.b.c.d is the DNS64 form of an IPv4 address and leads to the same host. */
static bool embedded(const struct address *address, struct address *inside)
{
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(address->ip, nat64, sizeof(nat64)) != 0)
        return false;
    set_v4(inside, address->ip + 12);
    return true;
}

enum address_kind address_kind(const struct address *address)
{
    struct address inside, network, given;
    if (embedded(address, &inside))
        return address_kind(&inside);
    for (size_t i = 0; i < COUNT_OF(special); i++) {
        address_parse(&network, special[i].network);
        if (address_within(address, &network, special[i].bits + (address_is_v4(&network) ? V4_BITS : 0)))
            return special[i].kind;
    }
    address_parse(&given, "2000::");
    return address_is_v4(address) || address_within(address, &given, 3) ? ADDRESS_PUBLIC : ADDRESS_OTHER;
}

const char *address_kind_name(enum address_kind kind)
{
    static const char *const names[] = {[ADDRESS_PUBLIC] = "a public address",
                                        [ADDRESS_PRIVATE] = "a private address",
                                        [ADDRESS_LOCAL] = "an address of this machine or its link",
                                        [ADDRESS_OTHER] = "a reserved address"};
    return names[kind];
}

bool address_is_ours(const struct address *address)
{
    struct ifaddrs *all;
    struct address own;
    bool found = false;
    if (getifaddrs(&all))
        return true; /* unknown: treat it as ours, because that is the safe answer */
    for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next)
        found = at->ifa_addr && address_from_socket(&own, at->ifa_addr) &&
                address_within(address, &own, 8 * sizeof(own.ip));
    freeifaddrs(all);
    return found;
}
