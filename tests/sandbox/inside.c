/* Runs a function in a child that has entered the layers of the sandbox. */

#include "inside.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CANNOT_ENTER = 254 };

int inside(const struct sandbox_options *options, int (*what)(const void *), const void *argument)
{
    struct err err = ERR_INIT;
    struct sandbox *sandbox = sandbox_prepare(options, &err);
    int status;
    if (!sandbox)
        fail_msg("%s", err.text);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(sandbox_enter(sandbox, 5, &err) < 0 ? CANNOT_ENTER : what(argument));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    sandbox_free(sandbox);
    if (WIFSIGNALED(status))
        return -WTERMSIG(status);
    assert_int_not_equal(WEXITSTATUS(status), CANNOT_ENTER);
    return WEXITSTATUS(status);
}

int attempt(const void *argument)
{
    const struct attempt *it = argument;
    long got = syscall(it->number, it->args[0], it->args[1], it->args[2], it->args[3], it->args[4], it->args[5]);
    return got == -1 ? errno : 0;
}
