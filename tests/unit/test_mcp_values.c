/* Tests of the client's plain values: classes, names, contents, differences. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "mcp/content.h"
#include "mcp/offers.h"
#include "support/test.h"
#include "tools/change.h"
#include <stdint.h>
#include <string.h>

static struct arena arena;

static const struct json *parse(const char *text)
{
    struct err err = ERR_INIT;
    const struct json *value = json_parse(&arena, text, strlen(text), &err);
    if (!value)
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* ---- classes ---- */

TEST(annotations_become_classes)
{
    static const struct {
        const char *annotations, *class;
        enum effect effect;
        bool asks;
    } cases[] = {
        {NULL, "NETWORK + DESTRUCTIVE", EFFECT_DESTRUCTIVE, true},
        {"{}", "NETWORK + DESTRUCTIVE", EFFECT_DESTRUCTIVE, true},
        {"{\"readOnlyHint\":true,\"openWorldHint\":false}", "READ_ONLY", EFFECT_READ_ONLY, false},
        {"{\"readOnlyHint\":true}", "NETWORK, idempotent", EFFECT_NETWORK, false},
        {"{\"readOnlyHint\":true,\"openWorldHint\":true,\"destructiveHint\":true}", "NETWORK, idempotent",
         EFFECT_NETWORK, false},
        {"{\"openWorldHint\":false}", "DESTRUCTIVE", EFFECT_DESTRUCTIVE, true},
        {"{\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}", "DESTRUCTIVE, idempotent",
         EFFECT_DESTRUCTIVE, true},
        {"{\"readOnlyHint\":false,\"destructiveHint\":false,\"openWorldHint\":false}", "LOCAL_WRITE",
         EFFECT_LOCAL_WRITE, true},
        {"{\"destructiveHint\":false}", "NETWORK + LOCAL_WRITE", EFFECT_NETWORK, true},
        {"{\"readOnlyHint\":\"yes\",\"openWorldHint\":0}", "NETWORK + DESTRUCTIVE", EFFECT_DESTRUCTIVE, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        struct mcp_class class = mcp_claimed(cases[i].annotations ? parse(cases[i].annotations) : NULL);
        mcp_class_write(&text, &class);
        assert_string_equal(text.buf, cases[i].class);
        assert_int_equal(class.effect, cases[i].effect);
        assert_int_equal(class.asks, cases[i].asks);
    }
}

TEST(hints_are_believed_only_from_trusted_servers)
{
    static const struct mcp_rule own[] = {{"look", EFFECT_READ_ONLY}}, all[] = {{"*", EFFECT_READ_ONLY}};
    const struct json *reads = parse("{\"readOnlyHint\":true,\"openWorldHint\":false}");
    const struct json *destroys = parse("{\"destructiveHint\":true,\"openWorldHint\":false}");
    struct mcp_spec spec = {.name = "s"};
    assert_int_equal(mcp_class_of(&spec, "look", reads).effect, EFFECT_DESTRUCTIVE);
    assert_true(mcp_class_of(&spec, "look", reads).asks);
    spec.trust = true;
    assert_int_equal(mcp_class_of(&spec, "look", reads).effect, EFFECT_READ_ONLY);
    assert_true(mcp_class_of(&spec, "look", NULL).asks); /* it claimed nothing that could be believed */
    /* A user's rule overrides everything, */
    spec = (struct mcp_spec){.name = "s", .rules = own, .rule_count = 1};
    assert_int_equal(mcp_class_of(&spec, "look", destroys).effect, EFFECT_READ_ONLY);
    assert_int_equal(mcp_class_of(&spec, "else", reads).effect, EFFECT_DESTRUCTIVE);
    /* but the server's hints may raise a rule for all tools, never lower it. */
    spec = (struct mcp_spec){.name = "s", .rules = all, .rule_count = 1};
    assert_int_equal(mcp_class_of(&spec, "look", NULL).effect, EFFECT_READ_ONLY);
    assert_int_equal(mcp_class_of(&spec, "look", destroys).effect, EFFECT_DESTRUCTIVE);
    /* A server's hint about repeating a call belongs to the class that it claims. */
    static const struct mcp_rule worse[] = {{"look", EFFECT_DESTRUCTIVE}};
    spec = (struct mcp_spec){.name = "s", .trust = true, .rules = worse, .rule_count = 1};
    assert_false(mcp_class_of(&spec, "look", reads).idempotent);
}

/* ---- names ---- */

TEST(names_are_clean_and_unique)
{
    struct hash_map taken = {0};
    static const char *const tools[][2] = {{"fs", "read_file"},
                                           {"fs", "\x1b[31mred\x07"},
                                           {"a.b", "c"},
                                           {"a b", "c"},
                                           {"a", "b__c"},
                                           {"a__b", "c"},
                                           {"", ""},
                                           {"f\xc3\xbc", "\xff"}};
    char long_name[300];
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    char *names[COUNT_OF(tools) + 2];
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        names[i] = mcp_name(tools[i][0], tools[i][1], &taken);
    names[COUNT_OF(tools)] = mcp_name("s", long_name, &taken);
    long_name[250] = 'm';
    names[COUNT_OF(tools) + 1] = mcp_name("s", long_name, &taken);
    assert_string_equal(names[0], "fs__read_file");
    assert_string_equal(names[1], "fs__31mred_");
    assert_string_equal(names[2], "a_b__c");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(strlen(names[i]) <= MCP_NAME_MAX);
        assert_int_equal(strspn(names[i], "abcdefghijklmnopqrstuvwxyz0123456789_-"), strlen(names[i]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++)
        free(names[i]);
    hash_map_release(&taken);
}

/* ---- contents ---- */

static void check_content(const char *result, const char *output, const char *error)
{
    struct tool_reply reply = {0};
    mcp_content_reply(parse(result), &reply);
    if (output)
        assert_string_equal(reply.output ? reply.output : reply.error, output);
    else
        assert_string_equal(reply.error ? reply.error : reply.output, error);
    tool_reply_release(&reply);
}

TEST(contents_become_replies)
{
    check_content("{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"structuredContent\":{\"a\":1}}",
                  "{\"text\":\"hi\"}", NULL);
    check_content("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}",
                  "{\"text\":\"a\\nb\"}", NULL);
    check_content("{\"structuredContent\":{\"needs_confirmation\":true}}",
                  "{\"structured\":{\"needs_confirmation\":true}}", NULL);
    check_content("{\"content\":[{\"type\":\"image\",\"data\":\"AAAAAAAA\",\"mimeType\":\"image/png\"}]}",
                  "{\"text\":\"\",\"attached\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"bytes\":6}]}", NULL);
    check_content("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x://y\",\"text\":\"t\"}},"
                  "{\"type\":\"resource_link\",\"uri\":\"x://z\",\"name\":\"n\"}]}",
                  "{\"text\":\"t\",\"attached\":[{\"type\":\"resource_link\",\"name\":\"n\",\"uri\":\"x://z\"}]}",
                  NULL);
    check_content("{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}", NULL, "no");
    check_content("{\"isError\":true}", NULL, "the tool failed without a message");
    check_content("{\"content\":17}", "{\"text\":\"\"}", NULL);
    check_content("{\"content\":[17,null,[]]}", "{\"text\":\"\"}", NULL);
    check_content("[]", NULL, "the server's answer has no result");
    check_content("{\"resultType\":\"input_required\"}", NULL, "the server's answer is incomplete");
}

static void check_input(const char *result, const char *asked, const char *declined)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf answers = STRBUF_INIT;
    assert_true(mcp_input_wanted(parse(result)));
    mcp_input_write(&text, parse(result));
    assert_string_equal(text.buf, asked);
    assert_int_equal(mcp_input_decline(&answers, parse(result)), declined != NULL);
    assert_string_equal(answers.buf, declined ? declined : "");
}

TEST(questions_of_a_server_are_quoted_and_declined)
{
    assert_false(mcp_input_wanted(parse("{\"resultType\":\"complete\"}")));
    assert_false(mcp_input_wanted(parse("[]")));
    check_input("{\"resultType\":\"input_required\",\"requestState\":\"s\\n7\",\"inputRequests\":{"
                "\"a\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Your name?\"}},"
                "\"b\":{\"method\":\"elicitation/create\"}}}",
                "a (elicitation/create): {\"message\":\"Your name?\"}\nb (elicitation/create): ",
                ",\"inputResponses\":{\"a\":{\"action\":\"decline\"},\"b\":{\"action\":\"decline\"}},\"requestState\":"
                "\"s\\n7\"");
    check_input("{\"resultType\":\"input_required\",\"requestState\":\"s\"}", "no message",
                ",\"inputResponses\":{},\"requestState\":\"s\"");
    check_input("{\"resultType\":\"input_required\"}", "no message", NULL);
    check_input("{\"resultType\":\"input_required\",\"inputRequests\":{\"m\":{\"method\":\"sampling/"
                "createMessage\",\"params\":{}}}}",
                "m (sampling/createMessage): {}", NULL);
    check_input("{\"resultType\":\"input_required\",\"inputRequests\":[7]}", "? (no method): ", NULL);
}

TEST(a_long_text_is_complete)
{
    CLEANUP(strbuf) struct strbuf result = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    struct tool_reply reply = {0};
    strbuf_addstr(&result, "{\"content\":[{\"type\":\"text\",\"text\":\"");
    for (int i = 0; i < 3000; i++)
        strbuf_addf(&result, "line %d\\n", i);
    strbuf_addstr(&result, "\"}]}");
    mcp_content_reply(parse(result.buf), &reply);
    const struct json *pieces = json_get(parse(reply.output), "text");
    assert_int_equal(pieces->type, JSON_ARRAY);
    json_each (piece, pieces) {
        assert_true(piece->len <= 3000);
        strbuf_addstr(&whole, piece->text);
    }
    assert_non_null(strstr(whole.buf, "line 0\nline 1\n"));
    assert_non_null(strstr(whole.buf, "line 2998\nline 2999\n"));
    tool_reply_release(&reply);
}

/* ---- differences ---- */

static void check_patch(const char *old, const char *diff, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (patch_apply(&out, old, strlen(old), diff, &err))
        assert_null(expected);
    else
        assert_string_equal(out.buf, expected ? expected : "(refused)");
}

TEST(differences_are_applied_or_refused)
{
    check_patch("alpha\nbeta\ngamma\n",
                "```diff\nIndex: a\n===\n--- a\toriginal\n+++ a\tmodified\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n "
                "gamma\n```\n\n",
                "alpha\nBETA\ngamma\n");
    check_patch("a\nb\nc\nd\ne\n", "@@ -1,1 +1,2 @@\n a\n+A\n@@ -4,2 +5,1 @@\n-d\n e\n", "a\nA\nb\nc\ne\n");
    check_patch("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n");
    check_patch("a\n", "@@ -1 +0,0 @@\n-a\n", "");
    check_patch("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "b");
    check_patch("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n");
    check_patch("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n",
                "a\n\nc\n"); /* some leave the blank of an empty line out */
    check_patch("--- x\n", "@@ -1 +1 @@\n---- x\n+@@ -1 +1 @@\n", "@@ -1 +1 @@\n");
    /* Wrong position, more than the file has, cut off, backwards, nothing at all. */
    check_patch("a\nb\n", "@@ -2 +2 @@\n-a\n+c\n", NULL);
    check_patch("a\n", "@@ -7 +7 @@\n-a\n+c\n", NULL);
    check_patch("a\nb\n", "@@ -1,2 +1,2 @@\n a\n", NULL);
    check_patch("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+d\n", NULL);
    check_patch("a\n", "@@ -1 +1 @@\n*a\n", NULL);
    check_patch("a\n", "nothing", NULL);
    check_patch("a\n", "@@ -99999999999999999999 +1 @@\n-a\n+b\n", NULL);
}

TEST(an_argument_is_replaced_or_added)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    mcp_arguments_with(&out, parse("{\"path\":\"a\",\"content\":\"x\",\"n\":9007199254740993}"), "content", "\"y\"");
    assert_string_equal(out.buf, "{\"path\":\"a\",\"content\":\"y\",\"n\":9007199254740993}");
    strbuf_reset(&out);
    mcp_arguments_with(&out, parse("{}"), "dryRun", "true");
    assert_string_equal(out.buf, "{\"dryRun\":true}");
}

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

TEST_GROUP(NULL, release)
