/* Watches the memory of a program that no control group counts (see launch.h).
 *
 * Reading /proc/PID/status of every process is cheap but counts too much. Forks share pages until they write to them,
 * and a child of vfork shares everything. So a sum above the limit is counted again from smaps_rollup: each process's
 * own pages and its share of the others. Processes that start and end during that count can falsify it, so the launcher
 * trusts it only if none did. If some always do, it stops all of them for a final count. */

#include "launch.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES   1280 /* kernel memory for an empty file and its name */
#define PAUSE_MIN_MS 20
#define MB_PER_MS    4   /* about as fast as one processor can fill memory */
#define UNSURE_MS    500 /* of counting processes that keep changing; then the launcher stops and counts them */
#define STOP_ROUNDS  50  /* each 1 ms: until all are stopped, and until a count is certain */

/* Values of /proc/PID/status, in kB. */
struct held {
    unsigned long all, shared, tables; /* shared and tables are parts of all */
};

/* A process as last seen. A process whose CPU clock did not advance has touched no memory. */
struct seen {
    clockid_t clock;
    struct timespec used;
    struct held held;
};

/* A file system whose files use the program's memory. */
struct tmpfs {
    const char *path; /* NULL: unused */
    dev_t device;
};

static struct {
    struct memory_watch watch;
    struct tmpfs tmpfs[3];
    struct seen *seen;
    size_t count, room;
    long newest, next_ms;
    int pause_ms;
    long unsure_ms; /* when counts became uncertain; 0: they are certain */
} now;

/* ---- reading /proc ---- */

static unsigned long field_kb(const char *text, const char *name, bool *found)
{
    size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            *found = true;
            return strtoul(line + len + 1, NULL, 10);
        }
    return 0;
}

static bool read_held(const char *text, struct held *held)
{
    bool told = false, other = false;
    held->shared = field_kb(text, "RssShmem", &told);
    held->tables = field_kb(text, "VmPTE", &other);
    held->all = field_kb(text, "RssAnon", &told) + held->shared + held->tables;
    held->all += field_kb(text, "HugetlbPages", &other) + field_kb(text, "VmSwap", &other);
    return told;
}

bool launch_memory_status(const char *text, unsigned long *kb)
{
    struct held held;
    bool told = read_held(text, &held);
    *kb = held.all;
    return told;
}

bool launch_memory_rollup(const char *text, unsigned long *kb)
{
    bool anonymous = false, shared = false, other = false;
    *kb = field_kb(text, "Pss_Anon", &anonymous) + field_kb(text, "Pss_Shmem", &shared);
    *kb += field_kb(text, "SwapPss", &other) + field_kb(text, "Private_Hugetlb", &other) +
           field_kb(text, "Shared_Hugetlb", &other);
    return anonymous && shared;
}

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* If the first thread ended while others live, its entry shows no memory. Reads any other thread's instead. */
static void read_threads(int pid, struct held *held)
{
    char path[300], text[4096];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && !found && (entry = readdir(tasks));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", pid, entry->d_name);
        found = read_text(path, text, sizeof(text)) && read_held(text, held);
    }
    if (tasks)
        closedir(tasks);
}

/* Returns false if the first thread no longer has memory. */
static bool read_first_thread(int pid, struct held *held)
{
    char path[64], text[4096];
    *held = (struct held){0};
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    return read_text(path, text, sizeof(text)) && read_held(text, held);
}

static struct held read_process(int pid)
{
    struct held held;
    if (!read_first_thread(pid, &held))
        read_threads(pid, &held);
    return held;
}

/* Counts the files there as memory, mapped or not. Names count too: an empty file or a link takes no block, but more
 * than 1 kB of kernel memory. */
static unsigned long tmpfs_kb(void)
{
    unsigned long kb = 0;
    struct statfs fs;
    for (size_t i = 0; i < sizeof(now.tmpfs) / sizeof(*now.tmpfs); i++)
        if (now.tmpfs[i].path && statfs(now.tmpfs[i].path, &fs) == 0)
            kb += (unsigned long)(fs.f_blocks - fs.f_bfree) * ((unsigned long)fs.f_bsize / 1024) +
                  (unsigned long)(fs.f_files - fs.f_ffree) * NAME_BYTES / 1024;
    return kb;
}

static bool is_tmpfs(unsigned major_number, unsigned minor_number)
{
    for (size_t i = 0; i < sizeof(now.tmpfs) / sizeof(*now.tmpfs); i++)
        if (now.tmpfs[i].path && now.tmpfs[i].device == makedev(major_number, minor_number))
            return true;
    return false;
}

/* Returns the process's share of those files, which tmpfs_kb counted already. Private mappings count unless all their
 * pages are the file's. */
static unsigned long mapped_files_kb(int pid)
{
    char path[64], line[512], shared = 'p';
    unsigned major_number, minor_number;
    unsigned long kb = 0, pss = 0, number;
    bool ours = false, begins = true;
    snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        bool inside = !begins; /* the rest of a name that the program chose */
        begins = strchr(line, '\n') != NULL;
        if (inside)
            continue;
        if (sscanf(line, "%*x-%*x %*c%*c%*c%c %*x %x:%x", &shared, &major_number, &minor_number) == 3)
            ours = is_tmpfs(major_number, minor_number);
        else if (sscanf(line, "Pss: %lu", &number) == 1)
            pss = number;
        else if (ours && sscanf(line, "Anonymous: %lu", &number) == 1 && (shared == 's' || !number))
            kb += pss;
    }
    if (file)
        fclose(file);
    return kb;
}

/* A launcher that cannot read its own entry would count nothing at all. */
static bool sees(void)
{
    char text[4096];
    unsigned long kb;
    return read_text("/proc/self/status", text, sizeof(text)) && launch_memory_status(text, &kb);
}

/* ---- the second count ---- */

/* Returns true if the process uses its parent's memory, as a child of vfork does until exec. An ended first thread
 * shows no memory, and two empty values compare as equal. So a process without memory does not count as its
 * parent's. */
static bool is_its_parents(const struct process_entry *process)
{
    struct held held;
    return syscall(SYS_kcmp, process->pid, process->parent, KCMP_VM, 0, 0) == 0 &&
           read_first_thread(process->pid, &held);
}

/* Returns its own pages, its share of shared pages, and its page tables. If smaps_rollup cannot be read, counts
 * everything. */
static unsigned long share_kb(int pid, bool files)
{
    char path[64], text[4096];
    unsigned long kb = 0;
    struct held held = read_process(pid);
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
    if (!read_text(path, text, sizeof(text)) || !launch_memory_rollup(text, &kb))
        return held.all;
    unsigned long counted = files && held.shared ? mapped_files_kb(pid) : 0;
    return held.tables + (counted < kb ? kb - counted : 0);
}

/* Returns false if processes started or ended meanwhile. */
static bool count_shares(const struct processes *all, unsigned long *kb)
{
    long before = now.watch.newest ? now.watch.newest() : 0;
    unsigned long files = tmpfs_kb();
    *kb = files;
    for (size_t i = 0; i < all->count; i++) {
        if (is_its_parents(&all->items[i]))
            continue;
        unsigned long own = share_kb(all->items[i].pid, files > 0);
        if (kill(all->items[i].pid, 0) && errno == ESRCH)
            return false;
        *kb += own;
    }
    return !now.watch.newest || now.watch.newest() == before;
}

/* ---- the final count ---- */

static void forget_process(struct processes *before, int pid)
{
    for (size_t i = 0; i < before->count; i++)
        before->items[i].ours = before->items[i].pid != pid;
    processes_keep_ours(before);
}

static bool runs(const struct processes *all, int pid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].pid == pid)
            return !all->items[i].stopped && !all->items[i].waits;
    return false;
}

/* Stops a process only after its parent is stopped, so that no shell sees a stopped child. Leaves processes alone that
 * the program stopped itself, until another process continues them. Returns false if some still run. */
static bool stop_running(const struct processes *all, struct processes *before)
{
    bool none = true;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].stopped)
            continue;
        none = none && all->items[i].waits;
        if (runs(all, all->items[i].parent))
            continue;
        kill(all->items[i].pid, SIGSTOP);
        forget_process(before, all->items[i].pid);
    }
    return none;
}

static void continue_walk(const struct processes *all, const struct processes *before)
{
    for (size_t i = all->count; i-- > 0;)
        if (!processes_have(before, all->items[i].pid))
            kill(all->items[i].pid, SIGCONT);
}

/* The processes that are stopped already. */
static void copy_stopped(const struct processes *all, struct processes *stopped)
{
    stopped->items = calloc(all->count + 1, sizeof(*stopped->items));
    for (size_t i = 0; stopped->items && i < all->count; i++)
        if (all->items[i].stopped)
            stopped->items[stopped->count++] = all->items[i];
}

/* While all are stopped no process starts, and those about to end are soon gone. */
static unsigned long count_stopped(void)
{
    struct processes before = {0};
    unsigned long kb = 0;
    copy_stopped(now.watch.find(), &before);
    for (int round = 0; round < STOP_ROUNDS && !stop_running(now.watch.find(), &before); round++)
        poll(NULL, 0, 1);
    for (int round = 0; round < STOP_ROUNDS && !count_shares(now.watch.find(), &kb); round++)
        poll(NULL, 0, 1);
    continue_walk(now.watch.find(), &before);
    processes_release(&before);
    return kb;
}

/* ---- checking ---- */

static bool make_room(size_t count)
{
    if (count <= now.room)
        return true;
    struct seen *more = realloc(now.seen, 2 * count * sizeof(*more));
    if (!more)
        return false;
    now.seen = more;
    now.room = 2 * count;
    return true;
}

static bool is_quiet(void)
{
    struct timespec used;
    if (!now.count || !now.watch.newest || !now.newest || now.watch.newest() != now.newest)
        return false;
    for (size_t i = 0; i < now.count; i++)
        if (clock_gettime(now.seen[i].clock, &used) || used.tv_sec != now.seen[i].used.tv_sec ||
            used.tv_nsec != now.seen[i].used.tv_nsec)
            return false;
    return true;
}

/* Reads the clock before the memory: the next check sees pages touched in between. */
static void see(int pid, struct seen *seen)
{
    *seen = (struct seen){0};
    if (clock_getcpuclockid(pid, &seen->clock) || clock_gettime(seen->clock, &seen->used))
        seen->used.tv_sec = -1;
    seen->held = read_process(pid);
}

static long now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* The least that a program with this process and these files holds, whatever others share with it. Its shared pages may
 * be the files, so they count once. */
static unsigned long least_kb(const struct held *held, unsigned long files)
{
    return held->all - held->shared + (held->shared > files ? held->shared : files);
}

/* Returns what all processes hold, in kB. Returns a value above the limit only if it is certain. */
static unsigned long look_at_process(void)
{
    unsigned long limit = now.watch.limit_mb << 10, files = tmpfs_kb(), sum = files, least = files, exact;
    now.newest = now.watch.newest ? now.watch.newest() : 0;
    const struct processes *all = now.watch.find();
    now.count = make_room(all->count) ? all->count : 0;
    for (size_t i = 0; i < all->count; i++) {
        struct seen seen;
        see(all->items[i].pid, &seen);
        sum += seen.held.all;
        least = least_kb(&seen.held, files) > least ? least_kb(&seen.held, files) : least;
        if (now.count)
            now.seen[i] = seen;
    }
    if (sum <= limit || least > limit) {
        now.unsure_ms = 0;
        return sum <= limit ? sum : least;
    }
    if (count_shares(all, &exact)) {
        now.unsure_ms = 0;
        return exact;
    }
    now.count = 0; /* check again even if no clock advances */
    if (!now.unsure_ms)
        now.unsure_ms = now_ms();
    if (now_ms() - now.unsure_ms < UNSURE_MS)
        return limit;
    now.unsure_ms = 0;
    return count_stopped();
}

/* Waits less near the limit, so that a program that fills memory at full speed cannot get far beyond it. */
static int pause_for(unsigned long held_kb)
{
    unsigned long limit = now.watch.limit_mb << 10, left = held_kb < limit ? limit - held_kb : 0;
    unsigned long pause = (left >> 10) / MB_PER_MS;
    return pause < PAUSE_MIN_MS ? PAUSE_MIN_MS : pause > MEMORY_WATCH_MS ? MEMORY_WATCH_MS : (int)pause;
}

void launch_memory_begin(const struct memory_watch *watch)
{
    static const char *const usual[] = {"/tmp", "/dev/shm", "/dev"};
    struct statfs fs;
    struct stat st;
    free(now.seen);
    memset(&now, 0, sizeof(now));
    now.watch = *watch;
    now.pause_ms = PAUSE_MIN_MS;
    for (size_t i = 0; watch->own_tmpfs && i < sizeof(usual) / sizeof(*usual); i++)
        if (statfs(usual[i], &fs) == 0 && fs.f_type == TMPFS_MAGIC && fs.f_blocks == fs.f_bfree &&
            stat(usual[i], &st) == 0 && !is_tmpfs(major(st.st_dev), minor(st.st_dev)))
            now.tmpfs[i] = (struct tmpfs){usual[i], st.st_dev};
}

unsigned long launch_memory_over(int *wait_ms)
{
    unsigned long held = 0;
    bool blind = false;
    if (!now.watch.limit_mb)
        return 0;
    if (now_ms() >= now.next_ms) {
        if (is_quiet()) {
            now.pause_ms = now.pause_ms * 2 < MEMORY_WATCH_MS ? now.pause_ms * 2 : MEMORY_WATCH_MS;
        } else {
            held = look_at_process();
            blind = !sees(); /* after the check: whatever hides /proc before the check still does */
            now.pause_ms = pause_for(held);
        }
        now.next_ms = now_ms() + now.pause_ms;
    }
    long left = now.next_ms - now_ms();
    if (left < 0)
        left = 0;
    if (*wait_ms < 0 || left < *wait_ms)
        *wait_ms = (int)left;
    if (blind)
        return MEMORY_UNSEEN;
    return held > now.watch.limit_mb << 10 ? (held + 1023) >> 10 : 0;
}
