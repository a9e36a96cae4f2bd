/* Tests of the tools list_dir, read_file and get_context_pack. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include "tools/artifact.h"
#include "tools/output_limit.h"
#include "tools/tool.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static struct tool_rig rig;

static int setup(void **state)
{
    (void)state;
    tool_rig_init(&rig);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    artifact_store_close(rig.env.artifacts);
    tool_rig_release(&rig);
    return 0;
}

static const struct json *entries(void)
{
    if (!rig.output)
        fail_msg("%s", rig.reply.error);
    return json_get(rig.output, "entries");
}

static void link_to(const char *target, const char *name)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, name);
    assert_int_equal(symlink(target, path), 0);
}

/* list_dir */

TEST_WITH(folders_are_listed, setup, teardown)
{
    scratch_write(&rig.files, "b.txt", "12345");
    scratch_write(&rig.files, ".hidden", "");
    scratch_write(&rig.files, "sub/x", "x");
    link_to("b.txt", "alias");
    link_to("/nowhere", "dangling");
    CLEANUP(free) char *fifo = scratch_path(&rig.files, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    tool_rig_run(&rig, &tool_list_dir, "{}");
    tool_rig_expect_output(&rig, "{\"path\":\".\",\"total\":6,\"entries\":["
                                 "{\"name\":\".hidden\",\"type\":\"file\",\"size\":0},"
                                 "{\"name\":\"alias\",\"type\":\"link\",\"target\":\"b.txt\"},"
                                 "{\"name\":\"b.txt\",\"type\":\"file\",\"size\":5},"
                                 "{\"name\":\"dangling\",\"type\":\"link\",\"target\":\"/nowhere\"},"
                                 "{\"name\":\"fifo\",\"type\":\"fifo\"},"
                                 "{\"name\":\"sub\",\"type\":\"folder\"}]}");
    tool_rig_run(&rig, &tool_list_dir, "{\"path\":\"./sub/\"}");
    tool_rig_expect_output(
        &rig, "{\"path\":\"sub\",\"total\":1,\"entries\":[{\"name\":\"x\",\"type\":\"file\",\"size\":1}]}");
    scratch_mkdir(&rig.files, "empty");
    tool_rig_run(&rig, &tool_list_dir, "{\"path\":\"empty\"}");
    tool_rig_expect_output(&rig, "{\"path\":\"empty\",\"total\":0,\"entries\":[]}");
}

TEST_WITH(list_refusals, setup, teardown)
{
    scratch_write(&rig.files, "file", "x");
    link_to(rig.beside.path, "out");
    tool_rig_run(&rig, &tool_list_dir, "{\"path\":\"file\"}");
    tool_rig_expect_error(&rig, "file is a file, not a folder");
    tool_rig_run(&rig, &tool_list_dir, "{\"path\":\"none\"}");
    tool_rig_expect_error(&rig, "none does not exist");
    tool_rig_run(&rig, &tool_list_dir, "{\"path\":\"out\"}");
    tool_rig_expect_error(&rig, "path escapes workspace: out");
    tool_rig_run(&rig, &tool_list_dir, "{\"path\":\"..\"}");
    tool_rig_expect_error(&rig, "path escapes workspace: ..");
    rig.cancelled = true;
    tool_rig_run(&rig, &tool_list_dir, "{}");
    tool_rig_expect_error(&rig, "cannot list .: canceled");
}

TEST_WITH(list_strange_names, setup, teardown)
{
    scratch_write(&rig.files, "bad\xff", "");
    scratch_write(&rig.files, "line\nbreak", "");
    tool_rig_run(&rig, &tool_list_dir, "{}");
    assert_string_equal(json_str(json_get(json_at(entries(), 0), "name"), ""), "bad\xef\xbf\xbd");
    assert_true(json_bool(json_get(json_at(entries(), 0), "lossy"), false));
    assert_string_equal(json_str(json_get(json_at(entries(), 1), "name"), ""), "line\nbreak");
    assert_null(json_get(json_at(entries(), 1), "lossy"));
}

TEST_WITH(list_pages, setup, teardown)
{
    for (int i = 0; i < 700; i++) {
        CLEANUP(free)
        char *name = xasprintf("file-%03d-%.*s", i, i / 4,
                               "with-a-long-name-that-makes-the-pages-differ-é-é-é-é-é-é-é-é-é-é-é-é-é-é-"
                               "é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é-é");
        scratch_write(&rig.files, name, "");
    }
    int seen = 0, pages = 0;
    for (int64_t offset = 0; offset >= 0; pages++) {
        tool_rig_runf(&rig, &tool_list_dir, "{\"offset\":%lld}", (long long)offset);
        assert_int_equal(tool_rig_int(&rig, "total"), 700);
        assert_true(entries()->count <= 200);
        assert_true(output_limit_length(rig.output) <= OUTPUT_LIMIT_INLINE_MAX);
        json_each (entry, entries()) {
            CLEANUP(free) char *begin = xasprintf("file-%03d-", seen++);
            assert_memory_equal(json_str(json_get(entry, "name"), ""), begin, strlen(begin));
        }
        offset = tool_rig_int(&rig, "next_offset");
    }
    assert_int_equal(seen, 700);
    assert_true(pages >= 5);
    tool_rig_run(&rig, &tool_list_dir, "{\"offset\":5000}");
    assert_int_equal(entries()->count, 0);
}

/* read_file */

TEST_WITH(files_are_read, setup, teardown)
{
    scratch_write(&rig.files, "a.txt", "one\ntwo\r\n\nfour\n");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"./a.txt\"}");
    tool_rig_expect_output(&rig, "{\"path\":\"a.txt\",\"from_line\":1,\"total_lines\":4,\"size\":15,"
                                 "\"entries\":[\"one\",\"two\\r\",\"\",\"four\"]}");
    assert_int_equal(rig.reply.citation_count, 1);
    assert_string_equal(rig.reply.citations[0].ref, "a.txt");
    assert_false(rig.reply.citations[0].web);
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"a.txt\",\"offset\":2,\"limit\":2}");
    tool_rig_expect_output(&rig, "{\"path\":\"a.txt\",\"from_line\":2,\"total_lines\":4,\"size\":15,\"next_line\":4,"
                                 "\"entries\":[\"two\\r\",\"\"]}");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"a.txt\",\"offset\":5}");
    tool_rig_expect_error(&rig, "a.txt has only 4 lines");
    scratch_write(&rig.files, "open", "one\ntwo");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"open\"}");
    tool_rig_expect_output(&rig,
                           "{\"path\":\"open\",\"from_line\":1,\"total_lines\":2,\"size\":7,\"final_newline\":false,"
                           "\"entries\":[\"one\",\"two\"]}");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"open\",\"limit\":1}");
    tool_rig_expect_output(&rig, "{\"path\":\"open\",\"from_line\":1,\"total_lines\":2,\"size\":7,\"next_line\":2,"
                                 "\"entries\":[\"one\"]}");
    scratch_write(&rig.files, "empty", "");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"empty\"}");
    tool_rig_expect_output(&rig, "{\"path\":\"empty\",\"from_line\":1,\"total_lines\":0,\"size\":0,\"entries\":[]}");
    link_to("a.txt", "link");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"link\",\"limit\":1}");
    assert_string_equal(tool_rig_text(&rig, "path"), "link");
}

TEST_WITH(read_bytes_that_are_no_text, setup, teardown)
{
    scratch_write_bytes(&rig.files, "bin", "ab\0cd", 5);
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"bin\"}");
    tool_rig_expect_error(&rig, "bin is a binary file of 5 bytes, not text");
    scratch_write(&rig.files, "latin", "caf\xe9\nplain\n");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"latin\"}");
    assert_string_equal(tool_rig_text(&rig, "encoding"), "lossy");
    assert_string_equal(json_str(json_at(entries(), 0), ""), "caf\xef\xbf\xbd");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"latin\",\"offset\":2}");
    assert_null(tool_rig_text(&rig, "encoding")); /* this part is fine */
    CLEANUP(strbuf) struct strbuf late = STRBUF_INIT;
    for (int i = 0; i < 3000; i++)
        strbuf_addstr(&late, "text\n");
    strbuf_add(&late, "a\0b\n", 4);
    scratch_write_bytes(&rig.files, "late", late.buf, late.len);
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"late\",\"offset\":3001}");
    assert_string_equal(json_str(json_at(entries(), 0), ""), "a\xef\xbf\xbd"
                                                             "b");
    assert_string_equal(tool_rig_text(&rig, "encoding"), "lossy");
}

TEST_WITH(read_refusals, setup, teardown)
{
    CLEANUP(free) char *secret = scratch_path(&rig.beside, "secret");
    CLEANUP(free) char *fifo = scratch_path(&rig.files, "fifo"), *sock = scratch_path(&rig.files, "sock");
    CLEANUP(free) char *null = scratch_path(&rig.files, "null");
    scratch_write(&rig.beside, "secret", "s\n");
    scratch_mkdir(&rig.files, "d");
    link_to(secret, "out");
    link_to("nowhere", "dangling");
    link_to("loop", "loop");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, sock, strlen(sock));
    CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    static const char *const cases[][2] = {
        {"d", "d is a folder; use list_dir"},
        {"none", "none does not exist"},
        {"out", "path escapes workspace: out"},
        {"../x", "path escapes workspace: ../x"},
        {"/etc/passwd", "path escapes workspace: /etc/passwd"},
        {"dangling", "dangling does not exist"},
        {"loop", "loop leads through too many symbolic links"},
        {"fifo", "fifo is a FIFO, not a file"},
        {"sock", "sock cannot be read: it is a socket or a device"},
        {"artifact://art_0123456789abcdef",
         "unknown artifact art_0123456789abcdef; it expired, or another session stored it"},
        {"art_0123456789abcdef", "art_0123456789abcdef does not exist"},
    };
    alarm(20);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"%s\"}", cases[i][0]);
        tool_rig_expect_error(&rig, cases[i][1]);
    }
    if (mknod(null, S_IFCHR | 0666, makedev(1, 3)) == 0) {
        tool_rig_run(&rig, &tool_read_file, "{\"path\":\"null\"}");
        tool_rig_expect_error(&rig, "null is a device, not a file");
    }
    alarm(0);
    scratch_write(&rig.files, "a", "a\n");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"a\",\"byte\":9}");
    tool_rig_expect_error(&rig, "byte 9 is past the end of a, which has 2");
    rig.cancelled = true;
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"a\"}");
    tool_rig_expect_error(&rig, "cannot read a: canceled");
}

static uint32_t seed;

static uint32_t roll(uint32_t sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

/* Lines of every kind: short, empty, longer than a page, with quotes, controls and characters of all lengths. */
static void make_text(struct strbuf *text)
{
    static const char *const bits[] = {"a", "word ", "\"", "\\", "\t", "é", "€", "𝄞", "\x01"};
    uint32_t lines = roll(500);
    for (uint32_t i = 0; i < lines; i++) {
        uint32_t length = roll(40) == 0 ? roll(9000) : roll(60);
        for (uint32_t k = 0; k < length; k++)
            strbuf_addstr(text, bits[roll(4) ? roll(2) : roll(COUNT_OF(bits))]);
        strbuf_addch(text, '\n');
    }
    if (text->len && roll(3) == 0)
        strbuf_set_len(text, text->len - 1);
}

static void check_page(void)
{
    assert_true(entries()->count <= 200);
    assert_true(output_limit_length(rig.output) <= OUTPUT_LIMIT_INLINE_MAX);
}

/* Follows next_byte, within a long line, else next_line, and puts the file together again. */
static void read_through(struct strbuf *out, const char *path)
{
    int64_t line = 1, byte = -1, following = 0;
    for (int pages = 0; pages < 5000; pages++) {
        if (byte >= 0)
            tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"%s\",\"byte\":%lld,\"limit\":1}", path, (long long)byte);
        else
            tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"%s\",\"offset\":%lld}", path, (long long)line);
        check_page();
        int64_t next_line = tool_rig_int(&rig, "next_line"), next_byte = tool_rig_int(&rig, "next_byte");
        size_t count = entries()->count, number = 0;
        /* A page of a long line ends inside it, until a page reports that the next byte begins a line. */
        json_each (entry, entries()) {
            strbuf_add(out, entry->text, entry->len);
            bool cut = ++number == count && next_byte >= 0 && (int64_t)out->len == next_byte;
            bool last = number == count && json_get(rig.output, "final_newline");
            if (!cut && !last)
                strbuf_addch(out, '\n');
        }
        if (byte < 0 && next_byte >= 0)
            following = next_line;
        if (next_byte >= 0 && (int64_t)out->len == next_byte && out->buf[out->len - 1] != '\n') {
            byte = next_byte;
            continue;
        }
        if (byte >= 0)
            next_line = following;
        byte = -1;
        line = next_line;
        if (line <= 0)
            return;
    }
    fail_msg("the pages of %s do not end", path);
}

TEST_WITH(pages_give_the_whole_file, setup, teardown)
{
    for (uint32_t round = 0; round < 12; round++) {
        seed = 4200 + round;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
        make_text(&text);
        scratch_write_bytes(&rig.files, "f", text.buf, text.len);
        read_through(&again, "f");
        assert_int_equal(again.len, text.len);
        assert_memory_equal(again.buf, text.buf, text.len);
        arena_reset(&rig.arena);
    }
}

/* An artifact is JSON on one line: only bytes page it. */
TEST_WITH(artifacts_are_read_in_pages, setup, teardown)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *base = scratch_path(&rig.beside, "artifacts");
    rig.env.artifacts = artifact_store_open(base, &rig.clock.base, &err);
    assert_non_null(rig.env.artifacts);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
    strbuf_addstr(&text, "{\"entries\":[");
    for (int i = 0; i < 3000; i++)
        strbuf_addf(&text, "%s\"line %d é\"", i ? "," : "", i);
    strbuf_addstr(&text, "]}");
    struct artifact *artifact = artifact_store_put(rig.env.artifacts, "test", "some_tool", text.buf, text.len);
    assert_non_null(artifact);
    tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"artifact://%s\"}", artifact->id);
    assert_string_equal(tool_rig_text(&rig, "path"), artifact->id);
    assert_int_equal(tool_rig_int(&rig, "size"), (int64_t)text.len);
    assert_int_equal(tool_rig_int(&rig, "total_lines"), 1);
    for (int64_t byte = 0; byte >= 0;) {
        tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"%s\",\"byte\":%lld}", artifact->id, (long long)byte);
        check_page();
        assert_int_equal(entries()->count, 1);
        strbuf_addstr(&again, json_str(json_at(entries(), 0), ""));
        byte = tool_rig_int(&rig, "next_byte");
    }
    assert_string_equal(again.buf, text.buf);
    /* Another session does not read it, not even if it knows the id. */
    rig.env.session = "other";
    tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"artifact://%s\"}", artifact->id);
    tool_rig_expect_error_with(&rig, "it expired, or another session stored it");
    tool_rig_runf(&rig, &tool_read_file, "{\"path\":\"%s\"}", artifact->id);
    tool_rig_expect_error_with(&rig, artifact->id);
    rig.env.session = "test";
    artifact_free(artifact);
}

static long resident_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

TEST_WITH(large_files_are_read_in_little_memory, setup, teardown)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, "large");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 2000; i++)
        strbuf_addf(&text, "line %d\n", i + 1);
    scratch_write_bytes(&rig.files, "large", text.buf, text.len);
    assert_int_equal(truncate(path, 100 << 20), 0); /* a hole, read as one line of NUL bytes */
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "\nthe end\n", 9), 9);
    long before = resident_kb();
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"large\",\"offset\":1001,\"limit\":2}");
    tool_rig_expect_output(&rig, "{\"path\":\"large\",\"from_line\":1001,\"size\":104857609,\"next_line\":1003,"
                                 "\"entries\":[\"line 1001\",\"line 1002\"]}");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"large\",\"offset\":2002}");
    tool_rig_expect_output(&rig, "{\"path\":\"large\",\"from_line\":2002,\"total_lines\":2002,\"size\":104857609,"
                                 "\"entries\":[\"the end\"]}");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"large\",\"byte\":104857601}");
    tool_rig_expect_output(&rig,
                           "{\"path\":\"large\",\"from_byte\":104857601,\"size\":104857609,\"entries\":[\"the end\"]}");
    tool_rig_run(&rig, &tool_read_file, "{\"path\":\"large\",\"offset\":2001,\"limit\":1}");
    check_page();
    assert_int_equal(tool_rig_int(&rig, "next_line"), 2002);
    assert_true(tool_rig_int(&rig, "next_byte") > 0);
    tool_rig_run(&rig, &tool_search_files, "{\"pattern\":\"the end\"}");
    assert_int_equal(json_int(json_get(json_at(entries(), 0), "line"), 0), 2002);
    assert_true(resident_kb() - before < 40 * 1024);
}

/* get_context_pack */

static char *give_pack(struct context_source *source, const char *query, size_t limit, const atomic_bool *cancelled)
{
    (void)source;
    (void)cancelled;
    return strcmp(query, "nothing") == 0 ? NULL : xasprintf("[{\"path\":\"%s\",\"score\":%zu}]", query, limit);
}

TEST_WITH(context_pack, setup, teardown)
{
    tool_rig_run(&rig, &tool_get_context_pack, "{\"query\":\"q\"}");
    tool_rig_expect_error(&rig, "context search is off in this session; use search_files and read_file");
    assert_true(rig.reply.final);
    struct context_source source = {.pack = give_pack};
    rig.env.context = &source;
    tool_rig_run(&rig, &tool_get_context_pack, "{\"query\":\"q\"}");
    tool_rig_expect_output(&rig, "{\"query\":\"q\",\"entries\":[{\"path\":\"q\",\"score\":8}]}");
    tool_rig_run(&rig, &tool_get_context_pack, "{\"query\":\"q\",\"max\":3}");
    tool_rig_expect_output(&rig, "{\"query\":\"q\",\"entries\":[{\"path\":\"q\",\"score\":3}]}");
    tool_rig_run(&rig, &tool_get_context_pack, "{\"query\":\"nothing\"}");
    tool_rig_expect_error(&rig, "context search failed");
}
