#pragma once
/* How long a server wants to be left alone, in the words of its headers: "7", "2.5", "120ms", "1m2.5s". */

#include <stdint.h>

#define WAIT_MAX_MS 315360000000 /* ten years: whoever says more is taken at this */

/* Milliseconds. `unit_ms`: what a number without a unit counts. -1: no such words, a date for example. */
int64_t wait_read(const char *text, double unit_ms);
