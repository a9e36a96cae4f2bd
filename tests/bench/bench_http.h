#pragma once
/* The parts of a model server on the loopback: HTTP without more than the benchmarks need, and events of a stream. */

#include "base/strbuf.h"

/* Listens on a free port of the loopback. */
int bench_listen(int *port);
void bench_no_delay(int fd);
/* Reads one message; `body` is where its body begins. Returns -1 at the end of the connection. */
int bench_read_message(int fd, struct strbuf *in, size_t *body);
void bench_send(int fd, const char *bytes, size_t len);
/* Adds an event of the Anthropic dialect: {"type":TYPE,REST}. */
void bench_event(struct strbuf *out, const char *type, const char *rest);
/* Puts the head of an answer before its body. */
void bench_answer(struct strbuf *out, const struct strbuf *body);
