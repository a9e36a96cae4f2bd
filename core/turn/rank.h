#pragma once
/* BM25 over small collections of texts: one scorer for the tool selector and the context pack. */

#include <stddef.h>

struct rank;

struct rank *rank_new(const char *query); /* its words, lower-cased, each once */
void rank_free(struct rank *rank);
size_t rank_words(const struct rank *rank);
/* Adds a document; only counts of the query's words are kept. Returns its number, from 0. */
size_t rank_add(struct rank *rank, const char *text, size_t len);
/* After the last document: the score of each. */
double rank_score(const struct rank *rank, size_t document);
/* Where in `text` the word of the query that tells most (the one fewest documents have) first stands; SIZE_MAX when it
 * holds none of them. */
size_t rank_find(const struct rank *rank, const char *text, size_t len);
