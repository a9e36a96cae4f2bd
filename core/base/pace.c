/* Limits how much is read at once from a stream that never stops. */

#include "pace.h"

#define PORTION_BYTES ((uint64_t)384 << 10)
#define PORTION_READS 64

bool pace_take(struct pace *pace, size_t got)
{
    pace->all += got;
    if (!pace->after || pace->all < pace->after)
        return false;
    pace->since += got;
    return ++pace->reads >= PORTION_READS || pace->since >= PORTION_BYTES;
}

void pace_go_on(struct pace *pace)
{
    pace->since = 0;
    pace->reads = 0;
}
