# Builds and tests C and C++ with gcc, make and threads.
# needs: gcc g++ make
set -eu
cat >sum.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *add(void *total) { __atomic_add_fetch((long *)total, 1, __ATOMIC_SEQ_CST); return NULL; }
int main(void)
{
    pthread_t threads[8];
    long total = 0;
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, add, &total))
            abort();
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
    return total != 8;
}
C
cat >words.cc <<'C'
#include <future>
#include <iostream>
#include <string>
int main()
{
    auto word = std::async(std::launch::async, [] { return std::string("built"); });
    std::cout << word.get() << "\n";
}
C
printf 'all: sum words\nsum: sum.c\n\tgcc -O2 -flto -pthread -o $@ $<\nwords: words.cc\n\tg++ -O1 -pthread -o $@ $<\ntest: all\n\t./sum && ./words\n.PHONY: all test\n' >Makefile
make -j2 all
test "$(make -s test)" = "8
built"
# The leak checker stops the process with ptrace; it ends with 23 when it finds a leak.
printf '#include <stdlib.h>\nint main(void) { volatile char *leak = malloc(9); leak = NULL; return leak != NULL; }\n' >leak.c
gcc -O0 -fsanitize=leak -o leak leak.c
status=0
./leak 2>said || status=$?
test "$status" -eq 23
grep -q 'detected memory leaks' said
