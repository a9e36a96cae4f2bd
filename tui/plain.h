#pragma once
/* The plain account: a turn as text that reads well from top to bottom, for pipes, logs and terminals without a screen.
 *
 * It reads events and nothing else, so a live run and a recording give the same account. */

#include "turn/engine.h"

struct output;
struct plain;

struct plain_style {
    size_t width; /* columns of a line; diffs are not broken */
    bool colour;
};
/* What fits the terminal on `fd`, or a file there. */
struct plain_style plain_style_for(int fd);

struct plain *plain_new(struct output *output, const struct plain_style *style);
void plain_free(struct plain *plain);
struct sink *plain_sink(struct plain *plain);
/* Adds the event to the account and sends it. */
void plain_event(struct plain *plain, const struct event *event);
/* What was asked and never answered in a recording that ends early. */
void plain_end(struct plain *plain);
