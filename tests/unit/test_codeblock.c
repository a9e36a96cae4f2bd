/* Tests of code blocks in a text, the files they become, and what the model reads about them. */

#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "workspace/codeblock.h"

/* "language|code;" for each block. */
static char *found(const char *text, const char *start, const char *end)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct code_block *blocks;
    size_t count = code_blocks_find(&arena, text, strlen(text), start, end, &blocks);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strlen(blocks[i].code), blocks[i].len);
        strbuf_addf(&out, "%s|%s;", blocks[i].language, blocks[i].code);
    }
    return strbuf_detach(&out, NULL);
}

static void expect(const char *text, const char *want)
{
    CLEANUP(free) char *got = found(text, CODE_FENCE, CODE_FENCE);
    assert_string_equal(got, want);
}

TEST(code_blocks_are_found)
{
    expect("", "");
    expect("no code here\n", "");
    expect("say ```py\nx\n``` and ```sh \t\r\ny``` end", "py|x\n;sh|y;");
    expect("```\n```", "|;");
    expect("```py\nnever ends", "");
    expect("```py no line", "");
    expect("```a\n1\n``` ```b\n2\n", "a|1\n;");
    /* An end is not a beginning. */
    expect("```a\n1\n```\n```b\n2\n```", "a|1\n;b|2\n;");
}

TEST(other_fences)
{
    CLEANUP(free) char *tags = found("<c>py\n1</c><c>\n2</c>", "<c>", "</c>");
    assert_string_equal(tags, "py|1;|2;");
    CLEANUP(free) char *nothing = found("a\nb\n", "", "");
    assert_string_equal(nothing, "a|;b|;");
}

TEST(file_names_of_blocks_are_found)
{
    struct err err = ERR_INIT;
    struct code_file file;
    assert_int_equal(code_block_file(&file, 12, " Python3\t", &err), 0);
    assert_string_equal(file.name, "code_12.py");
    assert_string_equal(file.program, "python3");
    assert_int_equal(file.mode, 0644);
    assert_int_equal(code_block_file(&file, 0, "sh", &err), 0);
    assert_string_equal(file.name, "code_0.sh");
    assert_int_equal(file.mode, 0755);
    assert_int_equal(code_block_file(&file, 0, " Ruby", &err), -1);
    assert_string_equal(err.text, "unsupported language:  Ruby");
    assert_int_equal(code_block_file(&file, 0, "", &err), -1);
}

TEST(the_result_of_blocks_is_written)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    const char *files[] = {"a", "b"};
    code_result_text(&out, "hidden", files, 2);
    assert_string_equal(out.buf, "Code execution result:\n Saved output files:\na\nb");
    strbuf_reset(&out);
    code_result_text(&out, NULL, NULL, 0);
    assert_string_equal(out.buf, "Code execution result: No output or errors.");
}
