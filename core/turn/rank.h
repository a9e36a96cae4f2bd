#pragma once
/* BM25 over small collections of texts: one scorer for the tool selector and the context pack. */

#include <stddef.h>

struct rank;

struct rank *rank_new(const char *query); /* its words, lower-cased, each once */
void rank_free(struct rank *rank);
size_t rank_words(const struct rank *rank);
/* Adds a document; only counts of the query's words are kept. Returns its number, from 0. */
size_t rank_add(struct rank *rank, const char *text, size_t len);
/* The score of a document; call it after the last one was added. */
double rank_score(const struct rank *rank, size_t document);
/* The first position of the rarest query word in `text` (the one in the fewest documents); SIZE_MAX if none occurs. */
size_t rank_find(const struct rank *rank, const char *text, size_t len);
