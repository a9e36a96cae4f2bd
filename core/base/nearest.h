#pragma once
/* "Did you mean …?": finds the known name closest to a misspelled one.
 *
 *     struct nearest near = nearest_to("red_file");
 *     for (…) nearest_offer(&near, name);
 *     if (near.best) …                                  */

#include <stddef.h>

struct nearest {
    const char *wanted;
    const char *best; /* NULL while none is near enough; borrowed from the offers */
    size_t distance;
};

struct nearest nearest_to(const char *wanted);
/* A candidate counts when about a third of its letters or fewer differ; of equals the first offered stays. */
void nearest_offer(struct nearest *near, const char *candidate);
