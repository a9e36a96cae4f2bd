/* Tests of the input line: editing by visible characters, history, lines, pastes, and the position of the cursor. */

#include "base/mem.h"
#include "screen/input.h"
#include "support/canvas_dump.h"
#include "support/test.h"

static struct input input;

static int make(void **state)
{
    (void)state;
    input_init(&input, true);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    input_release(&input);
    return 0;
}

static enum input_result press(const char *name)
{
    struct key key;
    struct err err = ERR_INIT;
    if (key_parse(&key, name, &err))
        fail_msg("%s", err.text);
    return input_key(&input, &key);
}

static void send(uint32_t code)
{
    struct key key = {.code = code};
    input_key(&input, &key);
}

/* Each byte of ASCII text as a key. */
static void type(const char *text)
{
    for (; *text; text++)
        send(*text == '\n' ? KEYSYM_ENTER : (unsigned char)*text);
}

/* `expected` with the cursor as '|'. */
static void assert_input(const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_add(&out, input.text.buf, input.at);
    strbuf_addstr(&out, "|");
    strbuf_addstr(&out, input.text.buf + input.at);
    assert_string_equal(out.buf, expected);
}

TEST_WITH(keys_edit_the_line, make, drop)
{
    type("hello world");
    assert_input("hello world|");
    press("Ctrl-W");
    assert_input("hello |");
    press("Home");
    press("Right");
    type("X");
    assert_input("hX|ello ");
    press("Backspace");
    press("Delete");
    assert_input("h|llo ");
    press("Ctrl-K");
    assert_input("h|");
    type("i there you");
    press("Alt-b");
    press("Alt-b");
    assert_input("hi |there you");
    press("Alt-f");
    assert_input("hi there| you");
    press("Ctrl-U");
    assert_input("| you");
    press("Ctrl-E");
    assert_input(" you|");
    press("Ctrl-A");
    press("Ctrl-F");
    press("Ctrl-B");
    press("Left");
    press("Ctrl-B");
    assert_input("| you");
    press("Ctrl-D");
    assert_input("|you");
    press("Backspace");
    press("Ctrl-W");
    assert_input("|you");
}

TEST_WITH(foreign_keys_are_ignored, make, drop)
{
    assert_int_equal(press("Enter"), INPUT_DONE);
    assert_int_equal(press("Esc"), INPUT_CLOSED);
    assert_int_equal(press("Tab"), INPUT_IGNORED);
    assert_int_equal(press("Ctrl-C"), INPUT_IGNORED);
    assert_int_equal(press("F1"), INPUT_IGNORED);
    assert_int_equal(press("Alt-x"), INPUT_IGNORED);
    assert_int_equal(press("PgUp"), INPUT_IGNORED);
    assert_int_equal(press("Up"), INPUT_IGNORED);
    assert_int_equal(press("x"), INPUT_CHANGED);
    assert_input("x|");
}

TEST_WITH(characters_are_whole, make, drop)
{
    send(0x65E5); /* 日 */
    send('e');
    send(0x301);
    send(0x1F600);
    assert_input("日e\xCC\x81😀|");
    press("Left");
    press("Left");
    assert_input("日|e\xCC\x81😀");
    press("Delete");
    assert_input("日|😀");
    press("Right");
    press("Backspace");
    press("Backspace");
    assert_input("|");
    input_set(&input, "a\xFF\xC3z");
    press("Left");
    press("Left");
    press("Backspace");
    assert_input("a|\xC3z");
}

TEST_WITH(the_history_is_walked, make, drop)
{
    static const char *const said[] = {"one", "two", "two", ""};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        input_set(&input, said[i]);
        input_remember(&input);
    }
    assert_int_equal(input.history_count, 2);
    input_set(&input, "");
    type("draft");
    press("Up");
    assert_input("two|");
    press("Up");
    assert_input("one|");
    assert_int_equal(press("Up"), INPUT_IGNORED);
    press("Down");
    press("Down");
    assert_input("draft|");
    assert_int_equal(press("Down"), INPUT_IGNORED);
    for (int i = 0; i < 1000; i++) {
        CLEANUP(free) char *text = xasprintf("say %d", i);
        input_set(&input, text);
        input_remember(&input);
    }
    assert_int_equal(input.history_count, 500);
    input_set(&input, "");
    press("Up");
    assert_input("say 999|");
}

TEST_WITH(the_input_can_have_several_lines, make, drop)
{
    type("first");
    press("Alt-Enter");
    type("second line");
    assert_input("first\nsecond line|");
    press("Up");
    assert_input("first|\nsecond line");
    press("Down");
    assert_input("first\nsecon|d line");
    press("Ctrl-A");
    assert_input("first\n|second line");
    press("Left");
    assert_input("first|\nsecond line");
    press("Ctrl-K");
    press("Delete");
    assert_input("first|second line");

    /* A mark at the beginning of a line stays in its line. */
    input_set(&input, "a\n\xCC\x81x");
    press("Left");
    press("Left");
    assert_input("a\n|\xCC\x81x");
    press("Left");
    assert_input("a|\n\xCC\x81x");

    input.multiline = false;
    assert_int_equal(press("Alt-Enter"), INPUT_IGNORED);
}

TEST_WITH(a_paste_is_text, make, drop)
{
    send(KEYSYM_PASTE_BEGIN);
    type("y\nq");
    send(KEYSYM_TAB);
    send(KEYSYM_ESC);
    struct key ctrl = {.code = 'u', .ctrl = true};
    assert_int_equal(input_key(&input, &ctrl), INPUT_CHANGED);
    send(KEYSYM_PASTE_END);
    assert_input("y\nq\t|");
    assert_int_equal(press("Enter"), INPUT_DONE);

    input.multiline = false;
    input_set(&input, "");
    send(KEYSYM_PASTE_BEGIN);
    type("rm\n-rf");
    send(KEYSYM_PASTE_END);
    assert_input("rm -rf|");
}

static void assert_painted(struct canvas *canvas, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    canvas_dump(&out, canvas, false);
    assert_string_equal(out.buf, expected);
}

TEST_WITH(the_input_is_painted, make, drop)
{
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 3, 12);
    struct rect all = rect_make(0, 0, 3, 12);
    input_set(&input, "abcdefgh");
    assert_int_equal(input_paint(&input, &canvas, all, "say "), 2);
    assert_painted(&canvas, "say abcdefgh\n\n\n");
    assert_int_equal(canvas.cursor_row, 1);
    assert_int_equal(canvas.cursor_col, 4);
    assert_int_equal(canvas.cells[12 + 4].look, LOOK_INPUT_CURSOR);

    input_set(&input, "ab\n\n日本語日本x\x1B");
    assert_int_equal(input_paint(&input, &canvas, all, "say "), 4);
    assert_painted(&canvas, "say\n    日本語日\n    本x^[\n");
    assert_int_equal(canvas.cursor_row, 2);
    assert_int_equal(canvas.cursor_col, 9);

    input.at = 0;
    input_paint(&input, &canvas, all, "say ");
    assert_painted(&canvas, "say ab\n\n    日本語日\n");
    assert_int_equal(canvas.cursor_row, 0);
    assert_int_equal(canvas.cursor_col, 4);
    canvas_release(&canvas);
}

/* The cursor is always inside, for every size, text and position. */
/* Masked text is neither on the screen nor in the history. */
TEST_WITH(masked_text_is_hidden, make, drop)
{
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 1, 12);
    input.masked = true;
    type("secret");
    send(0x65E5);
    input_paint(&input, &canvas, rect_make(0, 0, 1, 12), "say ");
    assert_painted(&canvas, "say •••••••\n");
    assert_int_equal(canvas.cursor_col, 11);
    input_remember(&input);
    assert_int_equal(input.history_count, 0);
    canvas.ascii = true;
    input_paint(&input, &canvas, rect_make(0, 0, 1, 12), "say ");
    assert_painted(&canvas, "say *******\n");
    canvas_release(&canvas);
}

TEST_WITH(painting_in_every_place, make, drop)
{
    static const char *const texts[] = {"",       "abc",          "abcdefgh\nij\n", "日本語e\xCC\x81\t<\xE2\x80\xAE>",
                                        "\n\n\n", "abcd\nabcde\n"};
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 5, 15);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        input_set(&input, texts[i]);
        for (int rows = 0; rows <= 5; rows++) {
            for (int cols = 0; cols <= 15; cols++) {
                for (press("Home"), input.at = 0;; press("Right")) {
                    canvas_clear(&canvas);
                    assert_true(input_paint(&input, &canvas, rect_make(0, 0, rows, cols), "> ") >= 1);
                    if (rows && cols) {
                        assert_in_range(canvas.cursor_row, 0, rows - 1);
                        assert_in_range(canvas.cursor_col, 0, cols - 1);
                    } else {
                        assert_int_equal(canvas.cursor_row, -1);
                    }
                    if (input.at == input.text.len)
                        break;
                }
            }
        }
    }
    canvas_release(&canvas);
}
