/* Builds the filter with libseccomp, once for each variant, and keeps its instructions.
 *
 * The default of the filter is to allow, and libseccomp then takes rules that refuse only. So "any value but these"
 * becomes rules for all the other values: the 32-bit numbers are halved until a block holds none of the allowed ones,
 * and each such block is one comparison under a mask. */

#include "syscall_filter.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <errno.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef PER_LINUX32
#define PER_LINUX32 8
#endif
#define SOCKET_TYPE 0xf /* the rest of that argument is flags */
#ifdef __s390__
#define CLONE_FLAGS 1
#else
#define CLONE_FLAGS 0
#endif

#define CONDITIONS_MAX 2
#define VALUES_MAX     8

struct condition { /* mask 0: no condition */
    unsigned argument;
    uint32_t mask;
    bool other_than; /* true: the low 32 bits equal none of the values; false: under the mask they equal the first */
    size_t count;
    uint32_t values[VALUES_MAX];
};

enum when { ALWAYS, UNGROUPED };

static const struct syscall_row {
    const char *name;
    int call;
    int answer;
    enum when when;
    struct condition conditions[CONDITIONS_MAX];
} rows[] = {
#define BITS(argument, mask, value) \
    {                               \
        argument, mask, false, 1,   \
        {                           \
            value                   \
        }                           \
    }
#define IS(argument, value) BITS(argument, UINT32_MAX, value)
#define OTHER_THAN(argument, ...)                                                         \
    {                                                                                     \
        argument, UINT32_MAX, true, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
        {                                                                                 \
            __VA_ARGS__                                                                   \
        }                                                                                 \
    }
#define REFUSE(row, call, answer, when, reason, ...) {#row, SCMP_SYS(call), answer, when, {__VA_ARGS__}},
#include "program_syscalls.def"
};

/* ---- rules ---- */

/* A rule under construction: the comparisons for the conditions so far. */
struct syscall_rule {
    scmp_filter_ctx ctx;
    const struct syscall_row *row;
    struct scmp_arg_cmp tests[CONDITIONS_MAX];
    unsigned count;
};

static int add_conditions(struct syscall_rule *rule);

static int add_test(struct syscall_rule *rule, unsigned argument, uint32_t mask, uint32_t value)
{
    rule->tests[rule->count++] = (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, mask, value};
    int failed = add_conditions(rule);
    rule->count--;
    return failed;
}

static bool holds_any(const struct condition *condition, uint32_t mask, uint32_t block)
{
    for (size_t i = 0; i < condition->count; i++)
        if ((condition->values[i] & mask) == block)
            return true;
    return false;
}

/* Adds rules for a block: all numbers that equal `block` under `mask`. */
static int add_others(struct syscall_rule *rule, const struct condition *condition, uint32_t mask, uint32_t block)
{
    uint32_t longer = (mask >> 1) | 0x80000000u, bit = longer & ~mask;
    if (!holds_any(condition, mask, block))
        return add_test(rule, condition->argument, mask, block);
    if (mask == UINT32_MAX)
        return 0;
    int failed = add_others(rule, condition, longer, block);
    return failed ? failed : add_others(rule, condition, longer, block | bit);
}

/* Adds the remaining conditions, then the complete rule. */
static int add_conditions(struct syscall_rule *rule)
{
    const struct condition *next = &rule->row->conditions[rule->count];
    if (rule->count < CONDITIONS_MAX && next->mask)
        return next->other_than ? add_others(rule, next, 0, 0)
                                : add_test(rule, next->argument, next->mask, next->values[0]);
    int failed = seccomp_rule_add_array(rule->ctx, SCMP_ACT_ERRNO((uint32_t)rule->row->answer), rule->row->call,
                                        rule->count, rule->tests);
    return failed == -EDOM ? 0 : failed; /* a system call of other machines */
}

static int add_rows(scmp_filter_ctx ctx, bool ungrouped, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct syscall_rule rule = {.ctx = ctx, .row = &rows[i]};
        int failed = rows[i].when == UNGROUPED && !ungrouped ? 0 : add_conditions(&rule);
        if (failed)
            return err_set_errno(err, -failed, "the system call filter: row %s", rows[i].name);
    }
    return 0;
}

/* ---- the instructions ---- */

static int export(scmp_filter_ctx ctx, struct strbuf *into, struct err *err)
{
    CLEANUP(fd) int fd = memfd_create("keyturn-filter", MFD_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "memory for the system call filter");
    int failed = seccomp_export_bpf(ctx, fd);
    if (failed)
        return err_set_errno(err, -failed, "the system call filter");
    if (lseek(fd, 0, SEEK_SET) < 0 || strbuf_read(into, fd, 0) < 0)
        return err_set_errno(err, errno, "reading the system call filter");
    return 0;
}

static int build(bool ungrouped, struct strbuf *into, struct err *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx)
        return err_set(err, "cannot create a system call filter");
    int failed = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (failed)
        err_set_errno(err, -failed, "the system call filter: calls of other machines");
    else
        failed = add_rows(ctx, ungrouped, err) || export(ctx, into, err);
    seccomp_release(ctx);
    return failed ? -1 : 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct strbuf built[2] = {STRBUF_INIT, STRBUF_INIT}; /* kept until the program ends */

static int build_once(bool ungrouped, struct err *err)
{
    pthread_mutex_lock(&lock);
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    int failed = built[ungrouped].len ? 0 : build(ungrouped, &bytes, err);
    if (!failed && bytes.len)
        built[ungrouped].buf = strbuf_detach(&bytes, &built[ungrouped].len);
    pthread_mutex_unlock(&lock);
    return failed;
}

int syscall_filter_open(bool ungrouped, struct err *err)
{
    if (build_once(ungrouped, err))
        return -1;
    const struct strbuf *bytes = &built[ungrouped];
    CLEANUP(fd) int fd = memfd_create("keyturn-filter", MFD_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "memory for the system call filter");
    if (write(fd, bytes->buf, bytes->len) != (ssize_t)bytes->len || lseek(fd, 0, SEEK_SET) < 0)
        return err_set_errno(err, errno, "writing the system call filter");
    int given = fd;
    fd = -1;
    return given;
}

char *syscall_filter_text(bool ungrouped, struct err *err)
{
    if (build_once(ungrouped, err))
        return NULL;
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < built[ungrouped].len; i++)
        strbuf_addf(&text, "%02x", (unsigned char)built[ungrouped].buf[i]);
    return strbuf_detach(&text, NULL);
}
