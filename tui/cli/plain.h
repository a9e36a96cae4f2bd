#pragma once
/* Plain output: a turn as text that reads well from top to bottom, for pipes, logs and terminals without a screen.
 *
 * It uses only events, so a live run and a recording produce the same text. */

#include "turn/engine.h"

struct cli_out;
struct plain;

struct plain_style {
    size_t width; /* columns of a line; diff lines are not wrapped */
    bool color;
};
/* The style for the terminal or file on `fd`. */
struct plain_style plain_style_for(int fd);

struct plain *plain_new(struct cli_out *output, const struct plain_style *style);
void plain_free(struct plain *plain);
struct sink *plain_sink(struct plain *plain);
/* Adds the event to the text and sends it. */
void plain_event(struct plain *plain, const struct event *event);
/* Prints the questions that have no answer because the recording ends early. */
void plain_end(struct plain *plain);
