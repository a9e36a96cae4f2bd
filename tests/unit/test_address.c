/* Tests of addresses as values: which texts are valid, how they are printed, and where they lead. */

#include "base/address.h"
#include "base/mem.h"
#include "support/test.h"
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(strict_forms_only)
{
    static const char *const wrong[] = {
        "",         "127.1",    "0x7f.1",    "2130706433", "0177.0.0.1", "1.2.3.4.5", "[::1]",      "fe80::1%lo",
        "1.2.3.4 ", " 1.2.3.4", "localhost", ":::",        "1.2.3.256",  "::1/128",   "0x7f.0.0.1", "127.0.0.1\n"};
    struct address address;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (address_parse(&address, wrong[i]))
            fail_msg("\"%s\" is an address", wrong[i]);
}

/* One value for one address, however it is written. */
TEST(forms_of_one_address)
{
    static const char *const pairs[][2] = {{"::ffff:127.0.0.1", "127.0.0.1"},
                                           {"::ffff:7f00:1", "127.0.0.1"},
                                           {"0:0:0:0:0:0:0:1", "::1"},
                                           {"2001:DB8::0001", "2001:db8::1"},
                                           {"255.255.255.255", "255.255.255.255"}};
    struct address one, other;
    char text[ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_true(address_parse(&one, pairs[i][0]) && address_parse(&other, pairs[i][1]));
        assert_memory_equal(&one, &other, sizeof(one));
        assert_string_equal(address_text(&one, text), pairs[i][1]);
    }
}

TEST(kinds_of_addresses_are_recognized)
{
    static const struct {
        const char *address;
        enum address_kind kind;
    } rows[] = {
        {"93.184.216.34", ADDRESS_PUBLIC},
        {"8.8.8.8", ADDRESS_PUBLIC},
        {"172.15.255.255", ADDRESS_PUBLIC},
        {"172.32.0.0", ADDRESS_PUBLIC},
        {"100.63.255.255", ADDRESS_PUBLIC},
        {"100.128.0.0", ADDRESS_PUBLIC},
        {"2606:2800:220:1::1", ADDRESS_PUBLIC},
        {"64:ff9b::808:808", ADDRESS_PUBLIC},
        {"10.0.0.0", ADDRESS_PRIVATE},
        {"10.255.255.255", ADDRESS_PRIVATE},
        {"172.16.0.1", ADDRESS_PRIVATE},
        {"172.31.255.255", ADDRESS_PRIVATE},
        {"192.168.1.1", ADDRESS_PRIVATE},
        {"100.64.0.1", ADDRESS_PRIVATE},
        {"198.19.0.1", ADDRESS_PRIVATE},
        {"fec0::1", ADDRESS_PRIVATE},
        {"::ffff:10.0.0.1", ADDRESS_PRIVATE},
        {"64:ff9b::a00:1", ADDRESS_PRIVATE},
        {"127.0.0.1", ADDRESS_LOCAL},
        {"127.255.255.255", ADDRESS_LOCAL},
        {"0.0.0.0", ADDRESS_LOCAL},
        {"0.1.2.3", ADDRESS_LOCAL},
        {"169.254.169.254", ADDRESS_LOCAL},
        {"168.63.129.16", ADDRESS_LOCAL},
        {"100.100.100.200", ADDRESS_LOCAL},
        {"100.100.100.201", ADDRESS_PRIVATE},
        {"fd00:ec2::254", ADDRESS_LOCAL},
        {"fd00:ec2::255", ADDRESS_PRIVATE},
        {"fd20:ce::254", ADDRESS_LOCAL},
        {"fd00:42::42", ADDRESS_LOCAL},
        {"::", ADDRESS_LOCAL},
        {"::1", ADDRESS_LOCAL},
        {"::ffff:127.0.0.1", ADDRESS_LOCAL},
        {"fe80::1", ADDRESS_LOCAL},
        {"64:ff9b::7f00:1", ADDRESS_LOCAL},
        {"64:ff9b::a9fe:a9fe", ADDRESS_LOCAL},
        {"::127.0.0.1", ADDRESS_OTHER},
        {"2002:7f00:1::", ADDRESS_OTHER},
        {"2001::1", ADDRESS_OTHER},
        {"2001:db8::1", ADDRESS_OTHER},
        {"224.0.0.1", ADDRESS_OTHER},
        {"255.255.255.255", ADDRESS_OTHER},
        {"240.0.0.1", ADDRESS_OTHER},
        {"192.0.2.1", ADDRESS_OTHER},
        {"ff02::1", ADDRESS_OTHER},
        {"100::1", ADDRESS_OTHER},
        {"4000::1", ADDRESS_OTHER},
        {"64:ff9b:1::7f00:1", ADDRESS_OTHER},
        {"::ffff:0:7f00:1", ADDRESS_OTHER},
        {"3fff::1", ADDRESS_OTHER},
    };
    struct address address;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(address_parse(&address, rows[i].address));
        if (address_kind(&address) != rows[i].kind)
            fail_msg("%s is %s", rows[i].address, address_kind_name(address_kind(&address)));
    }
}

TEST(networks_contain_their_addresses)
{
    struct address network, inside, outside;
    address_parse(&network, "10.128.0.0");
    address_parse(&inside, "10.255.0.1");
    address_parse(&outside, "10.127.255.255");
    assert_true(address_within(&inside, &network, 96 + 9));
    assert_false(address_within(&outside, &network, 96 + 9));
    assert_true(address_within(&outside, &network, 96 + 8));
    assert_true(address_within(&outside, &network, 0));
    assert_false(address_within(&inside, &network, 128));
    assert_true(address_within(&network, &network, 128));
}

TEST(socket_addresses_are_converted)
{
    static const char *const texts[] = {"192.0.2.7", "2001:db8::7"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct sockaddr_storage socket;
        struct address address, back;
        assert_true(address_parse(&address, texts[i]));
        assert_true(address_to_socket(&address, 443, &socket) >= sizeof(struct sockaddr_in));
        assert_int_equal(socket.ss_family, i ? AF_INET6 : AF_INET);
        assert_true(address_from_socket(&back, (struct sockaddr *)&socket));
        assert_memory_equal(&address, &back, sizeof(back));
    }
    struct sockaddr other = {.sa_family = AF_UNIX};
    struct address address;
    assert_false(address_from_socket(&address, &other));
}

TEST(own_addresses)
{
    struct address loopback, other;
    address_parse(&loopback, "127.0.0.1");
    address_parse(&other, "192.0.2.99");
    assert_true(address_is_ours(&loopback));
    assert_false(address_is_ours(&other));
}

/* A process without free descriptors must not take an address of this machine for a foreign one. */
TEST(own_addresses_without_descriptors)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct address other;
        struct rlimit none = {0, 0};
        address_parse(&other, "192.0.2.99");
        setrlimit(RLIMIT_NOFILE, &none);
        _exit(address_is_ours(&other) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
