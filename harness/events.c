/* Writes the events for the host, one JSON object per line. */

#include "events.h"
#include "base/json.h"
#include "base/mem.h"
#include <unistd.h>

/* A longer error message loses its middle. */
#define MESSAGE_MAX   ((size_t)8 << 10)
#define TRACEBACK_MAX ((size_t)64 << 10)

void event_sink_init(struct event_sink *sink)
{
    *sink = (struct event_sink){.out = STRBUF_INIT, .mask = MASK_INIT};
}

void event_sink_release(struct event_sink *sink)
{
    strbuf_release(&sink->out);
    mask_clear(&sink->mask);
}

static struct json_writer begin_event(struct event_sink *sink, const char *type)
{
    struct json_writer w = json_begin(&sink->out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "type", type);
    json_add_str(&w, "execution_id", sink->id);
    return w;
}

static void end(struct event_sink *sink, struct json_writer *w)
{
    json_close(w, '}');
    strbuf_addch(&sink->out, '\n');
}

static void add_masked(struct event_sink *sink, struct json_writer *w, const char *key, const char *text, size_t len)
{
    CLEANUP(strbuf) struct strbuf masked = STRBUF_INIT;
    if (!mask_finds(&sink->mask, text, len)) {
        json_add_strn(w, key, text, len);
        return;
    }
    mask_text(&masked, &sink->mask, text, len);
    json_add_strn(w, key, masked.buf, masked.len);
}

/* Masks first, then cuts: half of a secret value would not be found. */
static void add_cut(struct event_sink *sink, struct json_writer *w, const char *key, const char *text, size_t most)
{
    CLEANUP(strbuf) struct strbuf masked = STRBUF_INIT, cut = STRBUF_INIT;
    size_t head = most / 2, tail;
    mask_text(&masked, &sink->mask, text, strlen(text));
    if (masked.len <= most) {
        json_add_strn(w, key, masked.buf, masked.len);
        return;
    }
    tail = masked.len - most / 2;
    while (head && ((unsigned char)masked.buf[head] & 0xc0) == 0x80)
        head--;
    while (tail < masked.len && ((unsigned char)masked.buf[tail] & 0xc0) == 0x80)
        tail++;
    strbuf_add(&cut, masked.buf, head);
    strbuf_addstr(&cut, "\n[the middle is left out]\n");
    strbuf_add(&cut, masked.buf + tail, masked.len - tail);
    json_add_strn(w, key, cut.buf, cut.len);
}

/* Writes one string of a value, masked if necessary. */
static void write_text(struct event_sink *sink, const char *text, size_t len)
{
    CLEANUP(strbuf) struct strbuf masked = STRBUF_INIT;
    mask_text(&masked, &sink->mask, text, len);
    json_write_str(&sink->out, masked.buf, masked.len, JSON_COMPACT);
}

/* Writes a value whose texts, names and numbers may contain a secret. The record parser limits the depth. */
static void write_masked(struct event_sink *sink, const struct json *value)
{
    const char *between = "";
    switch (value->type) {
    case JSON_ARRAY:
    case JSON_OBJECT:
        strbuf_addch(&sink->out, value->type == JSON_ARRAY ? '[' : '{');
        json_each (item, value) {
            strbuf_addstr(&sink->out, between);
            between = ",";
            if (value->type == JSON_OBJECT) {
                write_text(sink, item->key, strlen(item->key));
                strbuf_addch(&sink->out, ':');
            }
            write_masked(sink, item);
        }
        strbuf_addch(&sink->out, value->type == JSON_ARRAY ? ']' : '}');
        break;
    case JSON_STRING:
        write_text(sink, value->text, value->len);
        break;
    default:
        if (value->type == JSON_NUMBER && mask_finds(&sink->mask, value->text, value->len))
            write_text(sink, value->text, value->len);
        else
            json_write(&sink->out, value, JSON_COMPACT);
    }
}

static void add_data(struct event_sink *sink, struct json_writer *w, const struct json *data)
{
    if (!sink->mask.count) {
        json_add_value(w, "data", data);
        return;
    }
    strbuf_addstr(&sink->out, ",\"data\":");
    write_masked(sink, data);
}

void event_ready(struct event_sink *sink, const struct json *tools, const char *sandbox, const char *missing_tools)
{
    struct json_writer w = json_begin(&sink->out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "type", "ready");
    json_open(&w, "tools", '[');
    json_each (effect, tools) {
        json_add_str(&w, NULL, effect->key);
    }
    json_close(&w, ']');
    json_add_int(&w, "pid", getpid());
    json_add_bool(&w, "ordered", true);
    json_add_raw(&w, "sandbox", sandbox);
    json_add_value(&w, "effects", tools);
    if (missing_tools)
        json_add_str(&w, "no_tools", missing_tools);
    end(sink, &w);
}

void event_log(struct event_sink *sink, const char *level, const char *message, size_t len)
{
    struct json_writer w = begin_event(sink, "log");
    add_masked(sink, &w, "message", message, len);
    add_masked(sink, &w, "level", level, strlen(level));
    end(sink, &w);
}

void event_printed(struct event_sink *sink, const char *level, const char *message, size_t len)
{
    struct json_writer w = begin_event(sink, "log");
    json_add_strn(&w, "message", message, len);
    json_add_str(&w, "level", level);
    end(sink, &w);
}

void event_intermediate(struct event_sink *sink, const char *label, size_t len, const struct json *data)
{
    struct json_writer w = begin_event(sink, "intermediate");
    add_masked(sink, &w, "label", label, len);
    add_data(sink, &w, data);
    end(sink, &w);
}

void event_result(struct event_sink *sink, const struct json *data)
{
    struct json_writer w = begin_event(sink, "final_result");
    add_data(sink, &w, data);
    end(sink, &w);
}

void event_error(struct event_sink *sink, const char *message, const char *traceback)
{
    struct json_writer w = begin_event(sink, "error");
    add_cut(sink, &w, "message", message, MESSAGE_MAX);
    add_cut(sink, &w, "traceback", traceback, TRACEBACK_MAX);
    end(sink, &w);
}

void event_done(struct event_sink *sink)
{
    struct json_writer w = begin_event(sink, "script_done");
    end(sink, &w);
}
