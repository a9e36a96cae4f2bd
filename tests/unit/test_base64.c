/* Tests of base64: bytes to text and back. */

#include "base/base64.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static const struct {
    const char *bytes, *text;
} known[] = {{"", ""},
             {"f", "Zg=="},
             {"fo", "Zm8="},
             {"foo", "Zm9v"},
             {"foob", "Zm9vYg=="},
             {"fooba", "Zm9vYmE="},
             {"foobar", "Zm9vYmFy"},
             {"\xff\xef\xbe", "/+++"}};

TEST(known_texts)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        char bytes[16];
        size_t count;
        base64_write(&text, known[i].bytes, strlen(known[i].bytes));
        assert_string_equal(text.buf, known[i].text);
        assert_true(base64_read(bytes, &count, known[i].text, strlen(known[i].text)));
        assert_int_equal(count, strlen(known[i].bytes));
        assert_memory_equal(bytes, known[i].bytes, count);
    }
}

TEST(every_byte_comes_back)
{
    unsigned char bytes[256], back[BASE64_ROOM(344)];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        size_t count;
        base64_write(&text, bytes, len);
        assert_true(base64_read(back, &count, text.buf, text.len));
        assert_int_equal(count, len);
        assert_memory_equal(back, bytes, len);
    }
}

TEST(invalid_texts)
{
    static const char *const wrong[] = {
        "Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm9*", "Zm9-", "Z m9", "Zg=a", "=Zg=", "Zm9v\n"};
    char bytes[16];
    size_t count;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (base64_read(bytes, &count, wrong[i], strlen(wrong[i])))
            fail_msg("%s was read", wrong[i]);
}
