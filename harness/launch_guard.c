/* Stops what an engine keeps running after Keyturn has died (see launch.h). */

#include "base/launcher.h"
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUARD_TRIES    40  /* the target may be only about to start … */
#define GUARD_PAUSE_MS 250 /* … so the command is tried again */

/* A reader of the program's output waits until every copy is closed, including ours. */
void launch_close_standard(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (null > 2)
        close(null);
}

static bool run(char *const *command)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        _exit(LAUNCH_FAILED);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int launch_guard(char *const *command)
{
    char letter;
    ssize_t got;
    prctl(PR_SET_PDEATHSIG, 0);
    setsid(); /* a signal to the host's process group must not kill the guard */
    launch_close_standard();
    if (fcntl(LAUNCH_CONTROL_FD, F_SETFD, FD_CLOEXEC))
        return LAUNCH_FAILED;
    do {
        poll(&(struct pollfd){.fd = LAUNCH_CONTROL_FD, .events = POLLIN}, 1, -1);
        got = read(LAUNCH_CONTROL_FD, &letter, 1);
    } while ((got == 1 && letter != LAUNCH_DONE) || (got < 0 && (errno == EINTR || errno == EAGAIN)));
    if (got == 1)
        return 0;
    for (int i = 0; i < GUARD_TRIES && !run(command); i++)
        poll(NULL, 0, GUARD_PAUSE_MS);
    return 0;
}
