#pragma once
/* Functions that are too easy to misuse. Included on every compile line, so a use of one is a compile error that names
 * the replacement. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf strtok strtok_r gets
#pragma GCC poison asctime ctime gmtime localtime atoi atol atoll mktemp tmpnam
