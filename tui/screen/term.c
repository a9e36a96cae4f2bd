/* The terminal: ncurses handles modes, terminfo and keys; the bytes of a frame are our own.
 *
 * Why not draw with ncurses: it cannot send a 24-bit color to a terminal that terminfo does not describe as a
 * direct-color one (most are not, and set COLORTERM=truecolor instead) without rewriting the user's palette. And it
 * trusts its own table of widths, so one emoji that the terminal measures differently breaks the rest of the row. Here
 * frame.c compares each frame with the previous one, cell by cell, and moves the cursor with `cup` before every run and
 * after every character that terminals disagree about. A wrong guess costs one cell, never a row.
 *
 * Colors: with COLORTERM=truecolor or 24bit, or RGB or Tc in terminfo, colors are sent as the theme defines them.
 * Otherwise they are reduced to the number in terminfo (256, 16, 8) and sent with `setaf`. Without any color, only
 * bold, underline and reverse are sent.
 *
 * Restoring: one string, made when the terminal is taken over, undoes every mode that this file turns on. Normal exit,
 * the crash handler, Ctrl-Z and $EDITOR all send that string. The crash handler only writes it, copies what was
 * written to fd 2 (the message of an abort), calls tcsetattr and raises the signal again.
 *
 * A terminal without a description on this machine is treated like a known one of its family (termname_alike): newer
 * terminals install a description of their own, which is missing on the far side of an ssh, in a container or on a
 * small server. All of them understand what xterm does; inside tmux or screen, what screen does. An unknown name stays
 * unknown, because guessing would send control characters to a terminal that may not understand them. */

#include "term.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "frame.h"
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define ESC_WAIT_MS 25
#define COPY_MAX    (1u << 20)

struct term {
    SCREEN *screen;
    WINDOW *keys; /* a pad: reading from it draws nothing */
    int rows, cols;
    bool away;
    struct termios original;
    struct frame_caps caps;
    struct frame frame;
    struct strbuf out;
    struct keyread read;

    int real_stderr; /* where fd 2 was */
    int stray;       /* read end of the pipe behind fd 2 */
};

/* ---- restoring the terminal, whatever happens ---- */

static struct {
    char text[512];
    size_t len;
    struct termios termios;
    int real_stderr, stray;
    pid_t owner; /* a forked child before exec must not restore the terminal */
    volatile sig_atomic_t armed;
} rescue;

/* Signal handler. The signal, raised again, ends the program when this returns; until then all signals are blocked. */
static void rescue_terminal(int signum)
{
    if (rescue.armed && getpid() == rescue.owner) {
        rescue.armed = 0;
        char said[512];
        ssize_t got = write(STDOUT_FILENO, rescue.text, rescue.len);
        tcsetattr(STDIN_FILENO, TCSANOW, &rescue.termios);
        while ((got = read(rescue.stray, said, sizeof(said))) > 0)
            if (write(rescue.real_stderr, said, (size_t)got) < 0)
                break;
    }
    signal(signum, SIG_DFL);
    raise(signum);
}

/* A terminfo string without the padding ("$<5>") of printing terminals; NULL if there is none. The padding is removed
 * in ncurses' own copy, so the caller frees nothing. */
static char *capability(const char *name)
{
    char *text = tigetstr(name);
    if (text == (char *)-1 || !text || !*text)
        return NULL;
    for (char *at = text; (at = strstr(at, "$<"));) {
        char *end = strchr(at, '>');
        if (!end)
            break;
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
    return text;
}

static void add_capability(struct strbuf *out, const char *text)
{
    if (text)
        strbuf_addstr(out, text);
}

static bool plain_terminal(void)
{
    const char *name = getenv("TERM");
    return !name || strncmp(name, "linux", 5) == 0 || strncmp(name, "vt", 2) == 0 || strncmp(name, "dumb", 4) == 0;
}

/* Adds the sequences for all modes that this file turns on and endwin does not know. Without an alternate screen it
 * also clears the screen, because the shell would write over the remains. */
static void add_modes_off(struct strbuf *out)
{
    if (!plain_terminal())
        strbuf_addstr(out, "\033[?2026l\033[?2004l\033[?1006l\033[?1000l");
    add_capability(out, capability("sgr0"));
    add_capability(out, capability("cnorm"));
    if (!capability("rmcup"))
        add_capability(out, capability("clear"));
}

static bool is_crash(int signum)
{
    return signum == SIGSEGV || signum == SIGABRT || signum == SIGBUS || signum == SIGFPE || signum == SIGILL;
}

/* True if the signal ends a program by default and can be handled. */
static bool ends_program(int signum)
{
    switch (signum) {
    case SIGKILL:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGCONT:
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
        return false;
    default:
        return true;
    }
}

/* Handles crash signals always, and other signals only if no handler is set and they are not ignored: the loop watches
 * some. */
static void arm_rescue(struct term *term)
{
    static char stack[64 << 10];
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    add_modes_off(&text);
    add_capability(&text, capability("rmkx"));
    add_capability(&text, capability("rmcup"));
    rescue.len = text.len < sizeof(rescue.text) ? text.len : sizeof(rescue.text);
    memcpy(rescue.text, text.buf, rescue.len);
    rescue.termios = term->original;
    rescue.real_stderr = term->real_stderr;
    rescue.stray = term->stray;
    rescue.owner = getpid();
    rescue.armed = 1;
    stack_t place = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&place, NULL); /* so that a stack overflow is handled too */
    struct sigaction action = {.sa_handler = rescue_terminal, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
    sigfillset(&action.sa_mask);
    for (int signum = 1; signum < NSIG; signum++) {
        struct sigaction now;
        if (ends_program(signum) && sigaction(signum, NULL, &now) == 0 &&
            (is_crash(signum) || now.sa_handler == SIG_DFL))
            sigaction(signum, &action, NULL);
    }
}

static void disarm_rescue(void)
{
    rescue.armed = 0;
    for (int signum = 1; signum < NSIG; signum++) {
        struct sigaction now;
        if (sigaction(signum, NULL, &now) == 0 && now.sa_handler == rescue_terminal)
            signal(signum, SIG_DFL);
    }
}

/* ---- sending ---- */

static void flush(struct term *term)
{
    const char *at = term->out.buf;
    size_t left = term->out.len;
    while (left) {
        ssize_t sent = write(STDOUT_FILENO, at, left);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&ready, 1, 1000);
            continue;
        }
        if (sent < 0 && errno != EINTR)
            break; /* the terminal is gone; SIGHUP or the end of its input reports it */
        if (sent > 0) {
            at += sent;
            left -= (size_t)sent;
        }
    }
    strbuf_reset(&term->out);
}

static void modes_on(struct term *term)
{
    if (!plain_terminal())
        strbuf_addstr(&term->out, "\033[?2004h\033[?1000h\033[?1006h");
    add_capability(&term->out, capability("civis"));
    term->frame.cursor_shown = false;
    flush(term);
}

/* ---- fd 2 ---- */

static void take_stderr(struct term *term)
{
    int ends[2];
    if (term->stray >= 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return;
    fflush(stderr);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    term->stray = ends[0];
}

static void point_stderr(struct term *term, bool at_pipe, int pipe_write)
{
    fflush(stderr);
    dup2(at_pipe ? pipe_write : term->real_stderr, STDERR_FILENO);
}

int term_stray_fd(const struct term *term)
{
    return term->stray;
}

/* ---- starting and stopping ---- */

static int decide_colors(void)
{
    const char *named = getenv("COLORTERM");
    if ((named && (strcmp(named, "truecolor") == 0 || strcmp(named, "24bit") == 0)) || tigetflag("RGB") > 0 ||
        tigetflag("Tc") > 0)
        return FRAME_RGB;
    int count = tigetnum("colors");
    return count >= 256 ? 256 : count >= 16 ? 16 : count >= 8 ? 8 : 0;
}

/* Removes ncurses' definitions for mouse and paste: keyread parses them in the forms that all modern terminals send. */
static void undefine_keys(void)
{
    static const char *const names[] = {"kmous", "kxIN", "kxOUT", "PS", "PE"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *text = capability(names[i]);
        if (text)
            define_key(text, 0);
    }
}

/* Used for every run of cells, so look them up only once. */
static char *move_text, *fg_text, *bg_text;

static void add_position(struct strbuf *out, int row, int col)
{
    add_capability(out, tparm(move_text, row, col, 0, 0, 0, 0, 0, 0, 0));
}

static void add_color(struct strbuf *out, int color, bool background)
{
    char *text = background ? bg_text : fg_text;
    if (text)
        add_capability(out, tparm(text, color, 0, 0, 0, 0, 0, 0, 0, 0));
}

static struct frame_caps read_caps(void)
{
    move_text = capability("cup");
    fg_text = capability("setaf");
    bg_text = capability("setab");
    return (struct frame_caps){
        .colors = decide_colors(),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .last_scrolls = tigetflag("am") > 0 && tigetflag("xenl") <= 0,
        .sync = !plain_terminal(),
        .reset = capability("sgr0"),
        .bold = capability("bold"),
        .dim = capability("dim"),
        .italic = capability("sitm"),
        .underline = capability("smul"),
        .reverse = capability("rev"),
        .clear = capability("clear"),
        .hide_cursor = capability("civis"),
        .show_cursor = capability("cnorm"),
        .position = add_position,
        .color = add_color,
    };
}

static void read_size(struct term *term)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
        term->rows = size.ws_row;
        term->cols = size.ws_col;
    } else {
        term->rows = LINES;
        term->cols = COLS;
    }
}

static void set_modes(struct term *term)
{
    raw(); /* Ctrl-C and Ctrl-Z arrive as keys */
    noecho();
    nonl();
    nodelay(term->keys, TRUE);
    keypad(term->keys, TRUE);
    meta(term->keys, TRUE);
}

static void term_flush_input(struct term *term);

struct term *term_start(struct err *err)
{
    setlocale(LC_CTYPE, "");
    const char *name = getenv("TERM");
    struct term *term = xcalloc(1, sizeof(*term));
    strbuf_init(&term->out);
    term->stray = term->real_stderr = -1;
    if (tcgetattr(STDIN_FILENO, &term->original)) {
        err_set_errno(err, errno, "no reply from the terminal");
        free(term);
        return NULL;
    }
    if (name && *name)
        term->screen = newterm(name, stdout, stdin);
    const char *alike;
    for (unsigned tried = 0; !term->screen && (alike = termname_alike(name, tried)); tried++)
        term->screen = newterm(alike, stdout, stdin);
    if (!term->screen || !capability("cup")) {
        if (term->screen) {
            endwin();
            delscreen(term->screen);
        }
        err_set(err, "the terminal \"%.60s\" cannot move its cursor, or is not known here (set TERM)",
                name ? name : "");
        free(term);
        return NULL;
    }
    set_escdelay(ESC_WAIT_MS);
    signal(SIGTSTP, SIG_DFL); /* the program handles suspending itself */
    term->keys = newpad(1, 1);
    set_modes(term);
    undefine_keys();
    term->caps = read_caps();
    frame_init(&term->frame);
    term->real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    take_stderr(term);
    arm_rescue(term);
    read_size(term);
    fflush(stdout);
    modes_on(term);
    term_flush_input(term);
    return term;
}

/* Restores the terminal; for ncurses the screen is suspended. */
static void give_back(struct term *term)
{
    endwin();
    fflush(stdout);
    strbuf_reset(&term->out);
    add_modes_off(&term->out);
    flush(term);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &term->original);
    frame_forget(&term->frame);
}

void term_stop(struct term *term)
{
    if (!term)
        return;
    if (!term->away)
        give_back(term);
    disarm_rescue();
    if (term->real_stderr >= 0) {
        fflush(stderr);
        dup2(term->real_stderr, STDERR_FILENO);
        close(term->real_stderr);
    }
    if (term->stray >= 0)
        close(term->stray);
    delwin(term->keys);
    delscreen(term->screen);
    strbuf_release(&term->out);
    frame_release(&term->frame);
    free(term);
}

/* fd 2 is the write end of the pipe. It is kept here while another program has the screen. */
static int parked_pipe = -1;

void term_leave(struct term *term)
{
    if (term->away)
        return;
    give_back(term);
    parked_pipe = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    point_stderr(term, false, -1);
    rescue.armed = 0;
    term->away = true;
}

void term_return(struct term *term)
{
    if (!term->away)
        return;
    term->away = false;
    if (parked_pipe >= 0) {
        point_stderr(term, true, parked_pipe);
        close(parked_pipe);
        parked_pipe = -1;
    }
    rescue.armed = 1;
    doupdate(); /* takes the screen back */
    set_modes(term);
    fflush(stdout);
    modes_on(term);
    term_resized(term);
    term_flush_input(term);
}

int term_fd(const struct term *term)
{
    (void)term;
    return STDIN_FILENO;
}

void term_size(const struct term *term, int *rows, int *cols)
{
    *rows = term->rows;
    *cols = term->cols;
}

bool term_utf8(const struct term *term)
{
    return term->caps.utf8;
}

void term_resized(struct term *term)
{
    read_size(term);
    resizeterm(term->rows, term->cols);
    term_redraw(term);
}

bool term_gone(const struct term *term)
{
    (void)term;
    int waiting = 0;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&in, 1, 0) <= 0)
        return false;
    return (in.revents & (POLLERR | POLLHUP | POLLNVAL)) || ioctl(STDIN_FILENO, FIONREAD, &waiting) < 0 || waiting == 0;
}

/* ---- keys ---- */

static const struct {
    int from;
    struct key to;
} known_keys[] = {
    {KEY_UP, {.code = KEYSYM_UP}},
    {KEY_DOWN, {.code = KEYSYM_DOWN}},
    {KEY_LEFT, {.code = KEYSYM_LEFT}},
    {KEY_RIGHT, {.code = KEYSYM_RIGHT}},
    {KEY_SLEFT, {.code = KEYSYM_LEFT, .shift = true}},
    {KEY_SRIGHT, {.code = KEYSYM_RIGHT, .shift = true}},
    {KEY_SR, {.code = KEYSYM_UP, .shift = true}},
    {KEY_SF, {.code = KEYSYM_DOWN, .shift = true}},
    {KEY_PPAGE, {.code = KEYSYM_PGUP}},
    {KEY_NPAGE, {.code = KEYSYM_PGDN}},
    {KEY_HOME, {.code = KEYSYM_HOME}},
    {KEY_FIND, {.code = KEYSYM_HOME}},
    {KEY_END, {.code = KEYSYM_END}},
    {KEY_SELECT, {.code = KEYSYM_END}},
    {KEY_BTAB, {.code = KEYSYM_BACKTAB}},
    {KEY_ENTER, {.code = KEYSYM_ENTER}},
    {KEY_BACKSPACE, {.code = KEYSYM_BACKSPACE}},
    {KEY_DC, {.code = KEYSYM_DELETE}},
};

static bool known_key(int code, struct key *key)
{
    for (size_t i = 0; i < COUNT_OF(known_keys); i++)
        if (known_keys[i].from == code) {
            *key = known_keys[i].to;
            return true;
        }
    if (code >= KEY_F(1) && code <= KEY_F(12)) {
        *key = (struct key){.code = KEYSYM_F1 + (uint32_t)(code - KEY_F(1))};
        return true;
    }
    return false;
}

/* keyread assembles UTF-8, because ncurses loses bytes of a character that arrives in pieces. */
bool term_key(struct term *term, struct key *key)
{
    bool utf8 = term->caps.utf8, whole = false;
    term->read.now_us = clock_system()->now_us(clock_system());
    while (!whole) {
        wint_t c = 0;
        struct key known;
        int got = utf8 ? wgetch(term->keys) : wget_wch(term->keys, &c);
        if (got == ERR)
            return keyread_idle(&term->read, key);
        if (utf8)
            c = (wint_t)got;
        if (utf8 ? got >= KEY_MIN : got == KEY_CODE_YES)
            whole = known_key((int)c, &known) && keyread_known(&term->read, &known, key);
        else if (utf8)
            whole = keyread_byte(&term->read, (unsigned char)c, key);
        else
            whole = keyread_char(&term->read, (uint32_t)c, key);
    }
    return true;
}

/* Drops keys that were typed and not read. */
static void term_flush_input(struct term *term)
{
    flushinp();
    term->read = (struct keyread){0};
}

/* ---- frames ---- */

void term_present(struct term *term, const struct canvas *canvas, const struct theme *theme)
{
    if (term->away)
        return;
    frame_diff(&term->frame, &term->caps, term->rows, term->cols, canvas, theme, &term->out);
    flush(term);
}

void term_redraw(struct term *term)
{
    frame_forget(&term->frame);
}

void term_copy(struct term *term, const char *text, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (len > COPY_MAX)
        len = COPY_MAX;
    strbuf_addstr(&term->out, "\033]52;c;");
    for (size_t i = 0; i < len; i += 3) {
        unsigned char a = (unsigned char)text[i], b = i + 1 < len ? (unsigned char)text[i + 1] : 0,
                      c = i + 2 < len ? (unsigned char)text[i + 2] : 0;
        strbuf_addch(&term->out, digits[a >> 2]);
        strbuf_addch(&term->out, digits[(a & 3) << 4 | b >> 4]);
        strbuf_addch(&term->out, i + 1 < len ? digits[(b & 15) << 2 | c >> 6] : '=');
        strbuf_addch(&term->out, i + 2 < len ? digits[c & 63] : '=');
    }
    strbuf_addstr(&term->out, "\a");
    flush(term);
}

/* ---- names of unknown terminals ---- */

static const char *const like_xterm[] = {"xterm-256color", "xterm", NULL};
static const char *const like_screen[] = {"screen-256color", "screen", NULL};

/* The first part of a name: up to its end, a dash, a dot or a plus. */
static const struct {
    const char *first;
    const char *const *alike;
} families[] = {
    {"alacritty", like_xterm}, {"contour", like_xterm}, {"foot", like_xterm},    {"ghostty", like_xterm},
    {"gnome", like_xterm},     {"iterm2", like_xterm},  {"kitty", like_xterm},   {"konsole", like_xterm},
    {"mintty", like_xterm},    {"ms", like_xterm},      {"rio", like_xterm},     {"st", like_xterm},
    {"vscode", like_xterm},    {"vte", like_xterm},     {"wezterm", like_xterm}, {"xterm", like_xterm},
    {"screen", like_screen},   {"tmux", like_screen},
};

static bool begins(const char *name, const char *first)
{
    size_t len = strlen(first);
    return strncmp(name, first, len) == 0 && strchr("-.+", name[len]); /* strchr also finds the terminator */
}

const char *termname_alike(const char *name, unsigned tried)
{
    for (size_t i = 0; name && i < COUNT_OF(families); i++)
        if (begins(name, families[i].first))
            return tried < 2 ? families[i].alike[tried] : NULL;
    return NULL;
}
