/* Fuzzes the forwarder's port with a hostile program, and its list of hosts. The first byte selects the format of the
 * rest: an HTTP request, a SOCKS greeting and request, or a rule, a line break and a requested host.
 *
 * Nothing is read beyond its end, more bytes never change what was read of fewer, a host gets one complete header, and
 * no address of this machine is a public host. */

#include "base/err.h"
#include "base/mem.h"
#include "sandbox/forwarder_request.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_target(const struct network_target *target)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.:";
    size_t len = strlen(target->host);
    if (!len || len > NETWORK_HOST_MAX || target->host[strspn(target->host, plain)] || !target->port)
        BUG("this is no host");
    struct address address;
    if (target->is_address != address_parse(&address, target->host))
        BUG("an address that is a name");
}

/* Header lines only, each complete, and one empty line at the end. */
static void check_onward(const struct strbuf *onward)
{
    const char *end = strstr(onward->buf, "\r\n\r\n");
    if (strlen(onward->buf) != onward->len || !end || end + 4 != onward->buf + onward->len)
        BUG("more or less than one header");
    for (const char *at = onward->buf; (at = strpbrk(at, "\r\n")); at += 2)
        if (at[0] != '\r' || at[1] != '\n')
            BUG("half a line end");
    const char *host = strstr(onward->buf, "\r\nHost: ");
    if (!host || strcasestr(host + 2, "\r\nhost:"))
        BUG("not one Host");
}

static void read_http(const char *bytes, size_t len)
{
    enum forwarder_read before = FORWARDER_MORE;
    size_t used_before = 0;
    for (size_t part = len > 300 ? len - 300 : 0; part <= len; part++) {
        CLEANUP(strbuf) struct strbuf onward = STRBUF_INIT;
        struct network_target target;
        struct err why = ERR_INIT;
        bool tunnel = false;
        size_t used = 0;
        CLEANUP(free) char *copy = xmalloc(part ? part : 1);
        memcpy(copy, bytes, part);
        enum forwarder_read read = forwarder_http_read(copy, part, &target, &tunnel, &onward, &used, &why);
        if (before != FORWARDER_MORE && (read != before || used != used_before))
            BUG("more bytes, another request");
        if (read == FORWARDER_WRONG && !*why.text)
            BUG("the refusal has no reason");
        if (read == FORWARDER_READ) {
            if (used > part)
                BUG("used more than there is");
            check_target(&target);
            if (!tunnel)
                check_onward(&onward);
        }
        before = read;
        used_before = used;
    }
}

static void read_socks(const char *bytes, size_t len)
{
    struct network_target target;
    struct err why = ERR_INIT;
    size_t used = 0;
    uint8_t reply = 0;
    enum forwarder_read read = forwarder_socks_greet(bytes, len, &used, &why);
    if (read == FORWARDER_READ && used > len)
        BUG("used more than there is");
    size_t skip = read == FORWARDER_READ ? used : 0;
    read = forwarder_socks_read(bytes + skip, len - skip, &target, &used, &reply, &why);
    if (read == FORWARDER_READ && used > len - skip)
        BUG("used more than there is");
    if (read == FORWARDER_READ)
        check_target(&target);
    if (read == FORWARDER_WRONG && (!reply || !*why.text))
        BUG("the refusal has no reason");
}

static void read_rule(const char *bytes, size_t len)
{
    static const struct network_rule every_public_host = {.kind = NETWORK_ANY};
    struct network_rule rule;
    struct network_target target;
    struct err why = ERR_INIT;
    CLEANUP(free) char *text = xmemdup0(bytes, len);
    size_t first = strcspn(text, "\n");
    const char *host = text[first] ? text + first + 1 : text;
    text[first] = '\0';
    bool is_rule = network_rule_parse(&rule, text, &why) == 0;
    if (network_target_set(&target, host, strlen(host), 80, &why))
        return;
    check_target(&target);
    const struct network_rules one = {&rule, is_rule, NULL}, all = {&every_public_host, 1, NULL};
    struct address address = target.address;
    if (!target.is_address)
        memcpy(&address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", sizeof(address));
    if (network_rules_check_name(&one, &target, &why) == 0 &&
        network_rules_check_address(&one, &target, &address, false, &why) == 0 && !one.count)
        BUG("no list allows something");
    if (address_kind(&address) != ADDRESS_PUBLIC &&
        network_rules_check_address(&all, &target, &address, false, &why) == 0)
        BUG("this is no public host");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const char *bytes = (const char *)data + 1;
    if (data[0] % 3 == 0)
        read_http(bytes, size - 1);
    else if (data[0] % 3 == 1)
        read_socks(bytes, size - 1);
    else
        read_rule(bytes, size - 1);
    return 0;
}
