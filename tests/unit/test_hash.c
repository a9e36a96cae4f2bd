/* Digests against published values, in pieces of every size, and the table against a plain list. */

#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <stdio.h>

TEST(sha256_has_the_published_values)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char out[HASH_SHA256_HEX];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hash_sha256(cases[i].text, strlen(cases[i].text), out);
        assert_string_equal(out, cases[i].digest);
    }
    CLEANUP(strbuf) struct strbuf million = STRBUF_INIT;
    strbuf_grow(&million, 1000000);
    memset(million.buf, 'a', 1000000);
    strbuf_set_len(&million, 1000000);
    hash_sha256(million.buf, million.len, out);
    assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(sha256_in_pieces)
{
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        char whole[HASH_SHA256_HEX], pieces[HASH_SHA256_HEX];
        hash_sha256(bytes, len, whole);
        for (size_t piece = 1; piece < 140; piece += 21) {
            struct sha256 ctx;
            sha256_init(&ctx);
            for (size_t at = 0; at < len; at += piece)
                sha256_add(&ctx, bytes + at, len - at < piece ? len - at : piece);
            sha256_add(&ctx, bytes, 0);
            sha256_hex(&ctx, pieces);
            assert_string_equal(pieces, whole);
        }
    }
}

TEST(md5_has_the_published_values)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
        /* Both sides of where the length no longer fits the last block. */
        {"1234567890123456789012345678901234567890123456789012345", "c9ccf168914a1bcfc3229f1948e67da0"},
        {"12345678901234567890123456789012345678901234567890123456", "49f193adce178490e34d1b3a4ec0064c"},
        {"1234567890123456789012345678901234567890123456789012345678901234", "eb6c4179c0a7c82cc2828c1e6338e165"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[HASH_MD5_HEX];
        hash_md5(cases[i].text, strlen(cases[i].text), out);
        assert_string_equal(out, cases[i].digest);
    }
}

TEST(fnv1a_has_the_published_values)
{
    assert_true(hash_fnv1a("", 0) == 0xcbf29ce484222325u);
    assert_true(hash_fnv1a("a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(hash_fnv1a("foobar", 6) == 0x85944171f73967e8u);
}

TEST(the_map_finds_its_entries)
{
    struct hash_map map = {0};
    assert_false(hash_map_has(&map, "x"));
    assert_int_equal(hash_map_get(&map, "x", -7), -7);
    hash_map_clear(&map);

    char key[32];
    enum { COUNT = 5000 };
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            snprintf(key, sizeof(key), "key-%d", i);
            hash_map_put(&map, key, i);
            snprintf(key, sizeof(key), "other"); /* the key was copied */
        }
        assert_int_equal(map.count, COUNT);
        for (int i = 0; i < COUNT; i += 2) {
            snprintf(key, sizeof(key), "key-%d", i);
            hash_map_put(&map, key, -i);
        }
        assert_int_equal(map.count, COUNT);
        for (int i = 0; i < 2 * COUNT; i++) {
            snprintf(key, sizeof(key), "key-%d", i);
            assert_int_equal(hash_map_has(&map, key), i < COUNT);
            assert_int_equal(hash_map_get(&map, key, INT64_MIN), i >= COUNT ? INT64_MIN : i % 2 ? i : -i);
        }
        size_t room = map.room;
        hash_map_clear(&map);
        assert_int_equal(map.count, 0);
        assert_int_equal(map.room, room);
        assert_false(hash_map_has(&map, "key-1"));
    }
    hash_map_put(&map, "", 5);
    assert_int_equal(hash_map_get(&map, "", 0), 5);
    hash_map_release(&map);
    assert_int_equal(map.room, 0);
}
