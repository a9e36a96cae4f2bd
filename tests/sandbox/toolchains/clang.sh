# Builds and tests C with clang and its own tools.
# needs: clang
set -eu
cat >main.c <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
C
clang -O2 -Wall -Werror -c main.c
clang -o main main.o
test "$(./main)" = 7
