/* Tests of which hosts a list allows. "a.org=93.184.216.34" in a question is a name with the address it resolves to. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/forwarder_rules.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>

#define PUBLIC "93.184.216.34"

/* Whether a list allows host:port at that address. */
static bool allows(const char *const *list, const char *host, unsigned port, const char *at, struct err *why)
{
    struct network_rule rules[4];
    struct network_target target;
    struct address address;
    size_t count = 0;
    for (; list[count]; count++)
        if (network_rule_parse(&rules[count], list[count], why))
            fail_msg("%s", why->text);
    const struct network_rules all = {rules, count, NULL};
    if (network_target_set(&target, host, strlen(host), port, why))
        return false;
    assert_true(address_parse(&address, at));
    return network_rules_check_name(&all, &target, why) == 0 &&
           network_rules_check_address(&all, &target, &address, false, why) == 0;
}

TEST(host_lists_are_matched)
{
    static const struct {
        const char *rule, *host, *at;
        unsigned port;
        bool allowed;
    } rows[] = {
        {"a.org:443", "a.org", PUBLIC, 443, true},
        {"a.org:443", "A.ORG", PUBLIC, 443, true},
        {"A.Org.:443", "a.org.", PUBLIC, 443, true},
        {"a.org:443", "a.org", PUBLIC, 80, false},
        {"a.org:443", "b.org", PUBLIC, 443, false},
        {"a.org:443", "x.a.org", PUBLIC, 443, false},
        {"a.org:443", "a.org.evil.org", PUBLIC, 443, false},
        {"a.org:443", "ba.org", PUBLIC, 443, false},
        {"a.org:443", PUBLIC, PUBLIC, 443, false}, /* a name is no address */
        {"a.org", "a.org", PUBLIC, 1, true},
        {"a.org", "a.org", "10.0.0.1", 80, true}, /* an intranet */
        {"a.org", "a.org", "127.0.0.1", 80, false},
        {"a.org", "a.org", "::1", 80, false},
        {"a.org", "a.org", "169.254.169.254", 80, false},
        {"a.org", "a.org", "224.0.0.1", 80, false},
        {"*.a.org:443", "x.a.org", PUBLIC, 443, true},
        {"*.a.org:443", "x.y.a.org", PUBLIC, 443, true},
        {"*.a.org:443", "a.org", PUBLIC, 443, false},
        {"*.a.org:443", "xa.org", PUBLIC, 443, false},
        {"*.a.org:443", ".a.org", PUBLIC, 443, false},
        {"*.a.org:443", "x.a.org", "10.0.0.1", 443, false},
        {"*", "a.org", PUBLIC, 80, true},
        {"*", PUBLIC, PUBLIC, 80, true},
        {"*", "2606:2800:220:1::1", "2606:2800:220:1::1", 80, true},
        {"*:443", "a.org", PUBLIC, 443, true},
        {"*:443", "a.org", PUBLIC, 80, false},
        {"*", "a.org", "10.0.0.1", 80, false},
        {"*", "a.org", "127.0.0.1", 80, false},
        {"*", "localhost", "127.0.0.1", 80, false},
        {"*", "x.localhost", "::1", 80, false},
        {"*", "127.0.0.1", "127.0.0.1", 80, false},
        {"*", "::ffff:10.0.0.1", "10.0.0.1", 80, false},
        {"10.0.0.0/8:5432", "10.1.2.3", "10.1.2.3", 5432, true},
        {"10.0.0.0/8:5432", "10.1.2.3", "10.1.2.3", 22, false},
        {"10.0.0.0/8:5432", "11.1.2.3", "11.1.2.3", 5432, false},
        {"[::/8]", "10.1.2.3", "10.1.2.3", 80, false}, /* which is kept as ::ffff:10.1.2.3 */
        {"[::/8]", "::1", "::1", 80, true},
        {"10.0.0.0/8:5432", "a.org", "10.1.2.3", 5432, false}, /* it is not even resolved */
        {"10.1.2.3:22", "10.1.2.3", "10.1.2.3", 22, true},
        {"10.1.2.3:22", "10.1.2.4", "10.1.2.4", 22, false},
        {"127.0.0.1:8080", "127.0.0.1", "127.0.0.1", 8080, true},
        {"127.0.0.1:8080", "::ffff:127.0.0.1", "127.0.0.1", 8080, true},
        {"127.0.0.1:8080", "localhost", "127.0.0.1", 8080, true},
        {"127.0.0.1:8080", "localhost", "::1", 8080, false},
        {"127.0.0.1:8080", "127.0.0.1", "127.0.0.1", 8081, false},
        {"127.0.0.1:8080", "127.0.0.2", "127.0.0.2", 8080, false},
        {"127.0.0.1:8080", "a.org", "127.0.0.1", 8080, false},
        {"localhost:8080", "localhost", "127.0.0.1", 8080, true},
        {"localhost:8080", "localhost", "::1", 8080, true},
        {"localhost:8080", "127.0.0.1", "127.0.0.1", 8080, true},
        {"localhost:8080", "localhost", "127.0.0.1", 22, false},
        {"localhost:8080", "a.org", "127.0.0.1", 8080, false},
        {"[2001:db8::1]:443", "2001:db8::1", "2001:db8::1", 443, true},
        {"[2001:db8::]:443", "2001:db8::1", "2001:db8::1", 443, false},
        {"[2001:db8::/32]:443", "2001:db8::1", "2001:db8::1", 443, true},
        {"[2001:db8::1]", "2001:db8::1", "2001:db8::1", 9, true},
        {"2001:db8::1", "[2001:db8::1]", "2001:db8::1", 9, true},
        {"fd00::/8", "fd12::1", "fd12::1", 9, true},
        {"169.254.169.254:80", "169.254.169.254", "169.254.169.254", 80, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err why = ERR_INIT;
        const char *list[] = {rows[i].rule, NULL};
        if (allows(list, rows[i].host, rows[i].port, rows[i].at, &why) != rows[i].allowed)
            fail_msg("%s: %s:%u at %s is %s (%s)", rows[i].rule, rows[i].host, rows[i].port, rows[i].at,
                     rows[i].allowed ? "refused" : "allowed", why.text);
        if (!rows[i].allowed && !*why.text)
            fail_msg("%s: no reason for refusing %s", rows[i].rule, rows[i].host);
    }
}

TEST(several_rules)
{
    const char *list[] = {"*", "10.0.0.0/8:5432", "db.corp:22", NULL};
    struct err why = ERR_INIT;
    assert_true(allows(list, "a.org", 80, PUBLIC, &why));
    assert_true(allows(list, "a.org", 5432, "10.0.0.1", &why)); /* every name, and that network */
    assert_false(allows(list, "a.org", 22, "10.0.0.1", &why));
    assert_true(allows(list, "db.corp", 22, "10.0.0.1", &why));
    assert_false(allows((const char *const[]){NULL}, "a.org", 80, PUBLIC, &why));
}

/* An address of one of our interfaces belongs to this machine, even if it is public. */
TEST(own_public_address)
{
    struct network_rule rule;
    struct network_target target;
    struct err why = ERR_INIT;
    assert_int_equal(network_rule_parse(&rule, "*", &why), 0);
    assert_int_equal(network_target_set(&target, PUBLIC, strlen(PUBLIC), 22, &why), 0);
    const struct network_rules rules = {&rule, 1, "\"network\""};
    assert_int_equal(network_rules_check_address(&rules, &target, &target.address, false, &why), 0);
    assert_int_equal(network_rules_check_address(&rules, &target, &target.address, true, &why), -1);
    assert_string_equal(why.text, PUBLIC ":22 is an address of this machine or its link (" PUBLIC
                                         "), which is not in \"network\"");
}

TEST(address_is_printed_in_brackets)
{
    struct err why = ERR_INIT;
    const char *list[] = {"a.org", NULL};
    assert_false(allows(list, "::1", 8999, "::1", &why));
    assert_string_equal(why.text, "[::1]:8999 is not in the list of hosts");
}

TEST(rules_are_written_as_they_are_read)
{
    static const char *const texts[] = {"a.org",           "a.org:443",          "*.a.org:443", "*",
                                        "10.0.0.0/8:5432", "[2001:db8::/32]:80", "[::1/128]"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct network_rule rule;
        struct err err = ERR_INIT;
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        assert_int_equal(network_rule_parse(&rule, texts[i], &err), 0);
        network_rule_write(&rule, &out);
        assert_string_equal(out.buf, texts[i]);
    }
}

TEST(wrong_rules)
{
    static const char *const wrong[][2] = {
        {"", "invalid host"},
        {"a.org:", "has no port"},
        {"a.org:0", "has no port"},
        {"a.org:65536", "has no port"},
        {"a.org:+80", "has no port"},
        {"a.org:https", "has no port"},
        {"https://a.org", "is a URL"},
        {"a.org/path", "invalid host"},
        {"a b.org", "invalid host"},
        {"*a.org", "invalid host"},
        {"a.*.org", "invalid host"},
        {"**", "invalid host"},
        {"*.", "invalid host"},
        {"a..org", "invalid host"},
        {"2130706433", "invalid host"},
        {"0x7f.1", "invalid host"},
        {"127.1:80", "invalid host"},
        {"b\xc3\xbc"
         "cher.example",
         "invalid host"},
        {"10.0.0.0/0", "must have 1 to 32 bits"},
        {"10.0.0.0/33", "must have 1 to 32 bits"},
        {"10.0.0.0/", "must have 1 to 32 bits"},
        {"[::/129]", "must have 1 to 128 bits"},
        {"[::1", "has no \"]\""},
        {"[::1]x", "has no \"]\""},
        {"[::1]:", "has no port"},
        {"[a.org]:80", "invalid address"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct network_rule rule;
        struct err err = ERR_INIT;
        if (network_rule_parse(&rule, wrong[i][0], &err) == 0 || !strstr(err.text, wrong[i][1]))
            fail_msg("\"%s\": %s", wrong[i][0], err.text);
    }
}

TEST(wrong_targets)
{
    static const char *const wrong[] = {"",       ".",        "a..b",      "2130706433", "0x7f000001", "0x7f.1",
                                        "127.1",  "1.2.3.4.", "a b",       "a/b",        "a@b",        "[a]",
                                        "::1%lo", "a\nb",     "x.0x1",     "1.2.3.04",   "[::1]:1",    "b\xc3\xbc.de",
                                        "*",      "*.a.org",  "0177.0.0.1"};
    struct network_target target;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (network_target_set(&target, wrong[i], strlen(wrong[i]), 80, &err) == 0)
            fail_msg("\"%s\" is a host", wrong[i]);
    char name[300];
    memset(name, 'a', sizeof(name));
    for (size_t i = 50; i < sizeof(name); i += 50)
        name[i] = '.';
    assert_int_equal(network_target_set(&target, name, NETWORK_HOST_MAX, 80, &err), 0);
    assert_int_equal(network_target_set(&target, name, NETWORK_HOST_MAX + 1, 80, &err), -1);
    assert_int_equal(network_target_set(&target, name + 1, 49, 80, &err), 0);
    memset(name, 'a', 64);
    assert_int_equal(network_target_set(&target, name, 63, 80, &err), 0);
    assert_int_equal(network_target_set(&target, name, 64, 80, &err), -1);
    assert_int_equal(network_target_set(&target, "a\0b", 3, 80, &err), -1);
    assert_int_equal(network_target_set(&target, "a", 1, 0, &err), -1);
    assert_int_equal(network_target_set(&target, "a", 1, 65536, &err), -1);
}

TEST(loopback_is_named)
{
    static const struct {
        const char *rule;
        bool named;
    } rows[] = {{"*", false},           {"a.org", false},      {"localhost:80", true}, {"x.localhost", true},
                {"127.0.0.1:80", true}, {"127.0.0.0/8", true}, {"[::1]", true},        {"10.0.0.0/8", false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct network_rule rule;
        struct err err = ERR_INIT;
        assert_int_equal(network_rule_parse(&rule, rows[i].rule, &err), 0);
        assert_int_equal(network_rules_name_loopback(&(struct network_rules){&rule, 1, NULL}), rows[i].named);
    }
}
