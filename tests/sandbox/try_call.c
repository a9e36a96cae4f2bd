/* Makes system calls and prints the kernel's answers, to show which of them a filter refuses.
 *
 *     try_call < LINES
 *
 * A line is "NUMBER A B C D E F", for a call with six arguments, or "i386 NUMBER" for one of 32-bit programs. For each,
 * a line comes out: the error, 0 where the call succeeds, or minus the signal that ended the process. Each call is made
 * in a process of its own. The program needs no libraries: it runs in any sandbox and image. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void call_i386(long number)
{
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "cc");
    errno = number < 0 && number > -4096 ? (int)-number : 0;
#else
    (void)number;
    errno = ENOSYS;
#endif
}

/* Runs in a process that ends after it: errors are below 200, so they fit its exit status. */
static _Noreturn void make_call(const char *line)
{
    long number, a[6] = {0};
    errno = 0;
    if (sscanf(line, "i386 %ld", &number) == 1)
        call_i386(number);
    else if (sscanf(line, "%ld %ld %ld %ld %ld %ld %ld", &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) == 7) {
        if (syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) >= 0)
            errno = 0;
    } else
        errno = 255;
    _exit(errno);
}

int main(void)
{
    char line[512];
    int status;
    while (fgets(line, sizeof(line), stdin)) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            make_call(line);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return 1;
        printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    return 0;
}
