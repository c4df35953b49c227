#define NCURSES_WIDECHAR 1
#include "top/topscreen.h"

#include "base/systemclock.h"
#include "live/livefind.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_ESCAPE = 27, PAUSE_SHARE = 4, STATUS_LINES_LEAST = 8 };

struct screen {
    struct top_view *view;
    struct top_model *model;
    struct top_page page;
    size_t selected, first;  /* rows of the body: the chosen one, and the first visible one */
    uint64_t key[2];         /* of the chosen row: it stays chosen when rows move. 0, 0: none */
    enum top_view_kind back; /* where escape leads to, from the help, a rank or a communicator */
    enum { ASKS_NOTHING, ASKS_FILTER, ASKS_SIGNAL } asks;
    char word[32];    /* of a signal to the chosen rank */
    char answer[160]; /* instead of the keys, until the next key */
    bool quit;
};

static volatile sig_atomic_t ended_by;
static SCREEN *terminal;
static bool colours;

static void end_signal_take(int number)
{
    ended_by = number;
}

bool top_screen_open(void)
{
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || !(terminal = newterm(NULL, stdout, stdin)))
        return false;
    if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) { /* it cannot even move its cursor */
        top_screen_close();
        return false;
    }
    /* the handlers of curses for these signals end the tool at any point */
    struct sigaction action = {.sa_handler = end_signal_take};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGQUIT, &action, NULL);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    const char *no_colour = getenv("NO_COLOR");
    colours = has_colors() && !(no_colour && no_colour[0]);
    if (colours) {
        start_color();
        use_default_colors();
        init_pair(STYLE_BAD, COLOR_RED, -1);
        /* as in the figures of mpit-dump (report.md): stalled orange, at work in MPI blue (or cyan) */
        init_pair(STYLE_STALL, COLORS >= 256 ? 208 : COLOR_YELLOW, -1);
        init_pair(STYLE_WORK, COLORS >= 256 ? 33 : COLOR_CYAN, -1);
    }
    return true;
}

void top_screen_close(void)
{
    if (!terminal)
        return;
    endwin();
    delscreen(terminal);
    terminal = NULL;
}

/* ---- painting ---------------------------------------------------------------------------------------------------- */

static attr_t style_attributes(enum top_style style)
{
    switch (style) {
    case STYLE_TITLE:
        return A_BOLD;
    case STYLE_DIM:
        return A_DIM;
    case STYLE_HEAD:
        return A_BOLD | A_UNDERLINE;
    case STYLE_BAD:
        return A_BOLD | (colours ? (attr_t)COLOR_PAIR(STYLE_BAD) : 0);
    case STYLE_STALL:
    case STYLE_WORK:
        return colours ? (attr_t)COLOR_PAIR(style) : A_NORMAL;
    default:
        return A_NORMAL;
    }
}

/* Returns one character, or '?' if the terminal's character set lacks it, or if it would move the cursor. */
static const char *character_paint(const char *text)
{
    wchar_t wide[2] = {0};
    mbstate_t state = {0};
    size_t n = mbrtowc(wide, text, strlen(text), &state);
    if (n == 0 || n > 8 || wcwidth(wide[0]) < 0) {
        addch('?');
        return text + (n == 0 || n > 8 ? 1 : n);
    }
    addnwstr(wide, 1);
    return text + n;
}

/* The chosen row is reverse as a whole, without colors: yellow on white cannot be read. */
static void row_paint(int line, const char *text, bool chosen)
{
    attr_t extra = chosen ? A_REVERSE | A_BOLD : A_NORMAL, now = A_NORMAL;
    bool whole = false;
    move(line, 0);
    attrset((int)extra);
    while (*text) {
        if ((unsigned char)*text >= STYLE_END) {
            text = character_paint(text);
            continue;
        }
        now = style_attributes((enum top_style) * text++);
        whole = whole || now == style_attributes(STYLE_HEAD);
        attrset((int)(chosen ? extra : now));
    }
    int column = getcurx(stdscr);
    if (whole)
        attrset((int)(style_attributes(STYLE_HEAD) | extra));
    if (chosen || whole)
        for (; column < COLS && getcury(stdscr) == line; column++)
            addch(' ');
    attrset(A_NORMAL);
}

/* The keys that matter most in this view, as far as they fit. */
static void status_keys(const struct screen *screen, char *text, size_t bytes)
{
    char sorted[64], interval[32];
    bool job = top_view_job(screen->view, screen->model), table = screen->page.column_count > 0;
    snprintf(sorted, sizeof sorted, "< > sort%s%s", screen->page.sorted[0] ? ": " : "", screen->page.sorted);
    snprintf(interval, sizeof interval, "every %.3g s", screen->view->interval);
    const struct top_part parts[] = {
        {job ? "j jobs" : "enter opens a job", 3},
        {job ? "r ranks" : "", 4},
        {job ? "w where" : "", 5},
        {job ? "c communicators" : "", 6},
        {job ? "s sizes" : "", 7},
        {job ? "v variables" : "", 8},
        {table ? "/ filter" : "", 9},
        {table ? sorted : "", 5},
        {"h help", 2},
        {"q quit", 1},
        {interval, 10},
    };
    top_parts_join(text, bytes, COLS - 1, parts, sizeof parts / sizeof *parts);
}

static const struct top_rank *rank_chosen(const struct screen *screen)
{
    const struct top_job *job = top_view_job(screen->view, screen->model);
    for (size_t i = 0; job && screen->view->kind == VIEW_RANKS && i < job->rank_count; i++)
        if (memcmp(job->ranks[i]->keyed.key, screen->key, sizeof screen->key) == 0)
            return job->ranks[i];
    return NULL;
}

static void status_paint(const struct screen *screen)
{
    char text[512], dots[4] = "";
    if (screen->asks == ASKS_FILTER)
        snprintf(text, sizeof text, "only: %s_   (ranks such as 0,4-7, or a part of the text)", screen->view->filter);
    else if (screen->asks == ASKS_SIGNAL && rank_chosen(screen))
        snprintf(text, sizeof text,
                 "signal to rank %" PRId32 " (process %d): %s_   (TERM, KILL, STOP, 10, ...; escape: none)",
                 rank_chosen(screen)->rank, (int)rank_chosen(screen)->process->pid, screen->word);
    else if (screen->answer[0])
        snprintf(text, sizeof text, "%s", screen->answer);
    else
        status_keys(screen, text, sizeof text);
    text[top_text_cut(text, COLS - 1, dots)] = '\0';
    strcat(text, dots);
    move(LINES - 1, 0);
    attrset(A_DIM);
    for (const char *at = text; *at;)
        at = character_paint(at);
    attrset(A_NORMAL);
}

/* Finds the chosen row where it is now. */
static void selection_follow(struct screen *screen)
{
    const struct top_page *page = &screen->page;
    for (size_t i = page->head; i < page->count && (screen->key[0] || screen->key[1]); i++)
        if (memcmp(page->rows[i].key, screen->key, sizeof screen->key) == 0) {
            screen->selected = i - page->head;
            return;
        }
}

static void selection_clip(struct screen *screen, size_t body, size_t lines)
{
    if (screen->selected >= body)
        screen->selected = body ? body - 1 : 0;
    if (screen->first > screen->selected)
        screen->first = screen->selected;
    if (lines && screen->selected >= screen->first + lines)
        screen->first = screen->selected - lines + 1;
    if (body)
        memcpy(screen->key, screen->page.rows[screen->page.head + screen->selected].key, sizeof screen->key);
}

static void screen_paint(struct screen *screen)
{
    struct top_page *page = &screen->page;
    page->width = COLS > 10 ? COLS : 10;
    page->height = LINES;
    top_page_make(page, screen->view, screen->model);
    selection_follow(screen);
    bool status = LINES >= STATUS_LINES_LEAST || screen->asks;
    size_t lines = (size_t)(LINES - status > 0 ? LINES - status : 0);
    size_t head = page->head < lines ? page->head : lines ? lines - 1 : 0;
    size_t body = page->count - (page->head < page->count ? page->head : page->count);
    selection_clip(screen, body, lines - head);
    erase();
    for (size_t i = 0; i < head; i++)
        row_paint((int)i, page->rows[i].text, false);
    for (size_t i = 0; head + i < lines && screen->first + i < body; i++) {
        const struct top_row *row = &page->rows[page->head + screen->first + i];
        bool chosen = screen->first + i == screen->selected && (row->key[0] || row->key[1]);
        row_paint((int)(head + i), row->text, chosen);
    }
    if (status)
        status_paint(screen);
    refresh();
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void view_enter(struct screen *screen, enum top_view_kind kind)
{
    if (screen->view->kind == kind)
        return;
    screen->view->kind = kind;
    screen->view->sort = -1;
    screen->view->reverse = false;
    screen->selected = screen->first = 0;
    memset(screen->key, 0, sizeof screen->key);
}

/* The job that was shown is the chosen row. */
static void jobs_enter(struct screen *screen)
{
    const struct top_job *job = top_view_job(screen->view, screen->model);
    uint64_t key[2] = {job ? job->job : 0, job != NULL};
    screen->view->chosen = screen->view->direct = false;
    screen->view->filter[0] = '\0';
    view_enter(screen, VIEW_JOBS);
    memcpy(screen->key, key, sizeof key);
}

/* Enters the object of the chosen row. */
static void row_enter(struct screen *screen)
{
    const struct top_page *page = &screen->page;
    size_t at = page->head + screen->selected;
    if (at >= page->count || (!page->rows[at].key[0] && !page->rows[at].key[1]))
        return;
    enum top_view_kind kind = screen->view->kind;
    const struct top_job *job = kind == VIEW_JOBS ? top_job_of_key(screen->model, page->rows[at].key) : NULL;
    if (job) {
        screen->view->filter[0] = '\0';
        top_view_choose(screen->view, job);
        view_enter(screen, VIEW_RANKS);
    } else if (kind == VIEW_COMMS) {
        screen->back = kind;
        memcpy(screen->view->comm, page->rows[at].key, sizeof screen->view->comm);
        view_enter(screen, VIEW_COMM);
    } else if (kind == VIEW_RANKS || kind == VIEW_COMM) {
        screen->back = kind;
        screen->view->focus.known = false;
        memcpy(screen->view->focus.key, page->rows[at].key, sizeof screen->view->focus.key);
        top_focus_update(screen->view, screen->model);
        view_enter(screen, VIEW_RANK);
    }
}

/* Back to where the view was entered from. */
static void view_leave(struct screen *screen)
{
    enum top_view_kind kind = screen->view->kind;
    if (kind == VIEW_RANKS)
        jobs_enter(screen);
    else if (kind >= VIEW_HELP)
        view_enter(screen, screen->back != kind ? screen->back : VIEW_RANKS);
    else if (kind != VIEW_JOBS)
        view_enter(screen, VIEW_RANKS);
}

/* Sorts by the next shown column. After the last one, and before the first one, is the default order. */
static void sort_change(struct screen *screen, int by)
{
    int count = (int)screen->page.column_count, sort = screen->view->sort;
    do {
        sort += by;
        sort = sort < -1 ? count - 1 : sort >= count ? -1 : sort;
    } while (sort >= 0 && !(screen->page.shown >> sort & 1));
    screen->view->sort = sort;
}

/* Returns whether the line is done, by enter or by escape, which makes it empty. */
static bool line_edit(char *text, size_t bytes, int key)
{
    size_t length = strlen(text);
    if (key == '\n' || key == '\r' || key == KEY_ENTER)
        return true;
    if (key == KEY_ESCAPE) {
        text[0] = '\0';
        return true;
    }
    if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length)
        text[length - 1] = '\0';
    else if (key >= ' ' && key < 127 && length + 1 < bytes) {
        text[length] = (char)key;
        text[length + 1] = '\0';
    }
    return false;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void signal_ask(struct screen *screen)
{
    const struct top_rank *rank = rank_chosen(screen);
    if (!rank)
        return;
    if (!rank->process->pid || !rank->process->alive) {
        snprintf(screen->answer, sizeof screen->answer, "rank %" PRId32 " is not on this node, or has ended",
                 rank->rank);
        return;
    }
    screen->asks = ASKS_SIGNAL;
    screen->word[0] = '\0';
}

/* "TERM", "SIGTERM", "15". 0: none has this name. */
static int signal_named(const char *word)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"TERM", SIGTERM}, {"KILL", SIGKILL}, {"INT", SIGINT},   {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
                 {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ABRT", SIGABRT}};
    const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word;
    char *end;
    long number = strtol(word, &end, 10);
    if (end != word && !*end)
        return number > 0 && number < NSIG ? (int)number : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i].name, name) == 0)
            return names[i].number;
    return 0;
}

static void signal_send(struct screen *screen)
{
    const struct top_rank *rank = rank_chosen(screen);
    int number = signal_named(screen->word);
    screen->asks = ASKS_NOTHING;
    if (!screen->word[0] || !rank)
        return;
    const char *why = number ? live_signal(rank->process, number) : NULL;
    if (!number)
        snprintf(screen->answer, sizeof screen->answer,
                 "'%s' is no signal; allowed are TERM, KILL, INT, HUP, QUIT, STOP, CONT, USR1, USR2, ABRT, and numbers",
                 screen->word);
    else if (why)
        snprintf(screen->answer, sizeof screen->answer, "rank %" PRId32 " gets no signal: %s", rank->rank, why);
    else
        snprintf(screen->answer, sizeof screen->answer, "sent %s to rank %" PRId32, screen->word, rank->rank);
}

/* Moves through rows. Returns false for other keys. */
static bool selection_move(struct screen *screen, int key)
{
    size_t page = (size_t)(LINES > 8 ? LINES - 7 : 1), *at = &screen->selected;
    switch (key) {
    case KEY_UP:
        *at -= *at > 0;
        break;
    case KEY_DOWN:
        ++*at;
        break;
    case KEY_PPAGE:
        *at -= *at > page ? page : *at;
        break;
    case KEY_NPAGE:
        *at += page;
        break;
    case KEY_HOME:
        *at = 0;
        break;
    case KEY_END:
        *at = SIZE_MAX / 2;
        break;
    default:
        return false;
    }
    memset(screen->key, 0, sizeof screen->key); /* the next painting finds the new one */
    return true;
}

/* Views of one job need a job. */
static bool key_job_view(struct screen *screen, int key)
{
    static const struct {
        int key;
        enum top_view_kind kind;
    } views[] = {{'r', VIEW_RANKS}, {'c', VIEW_COMMS}, {'s', VIEW_SIZES}, {'v', VIEW_VALUES}, {'w', VIEW_SITES}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (views[i].key == key) {
            if (top_view_job(screen->view, screen->model))
                view_enter(screen, views[i].kind);
            return true;
        }
    return false;
}

static bool key_view(struct screen *screen, int key)
{
    switch (key) {
    case 'j':
        jobs_enter(screen);
        return true;
    case 'h':
    case '?':
        screen->back = screen->view->kind == VIEW_HELP ? screen->back : screen->view->kind;
        view_enter(screen, VIEW_HELP);
        return true;
    case KEY_ESCAPE:
    case KEY_BACKSPACE:
    case KEY_LEFT:
    case 127:
        view_leave(screen);
        return true;
    default:
        return key_job_view(screen, key);
    }
}

static void key_other(struct screen *screen, int key)
{
    struct top_view *view = screen->view;
    switch (key) {
    case 'q':
    case 'Q':
        screen->quit = true;
        break;
    case '\n':
    case '\r':
    case KEY_ENTER:
    case KEY_RIGHT:
        row_enter(screen);
        break;
    case '<':
    case '>':
        sort_change(screen, key == '>' ? 1 : -1);
        break;
    case 'R':
        view->reverse = !view->reverse;
        break;
    case 'k':
        signal_ask(screen);
        break;
    case '/':
        screen->asks = ASKS_FILTER;
        view->filter[0] = '\0';
        break;
    case 'p':
    case ' ':
        view->paused = !view->paused;
        break;
    case '+':
        view->interval = view->interval > 0.2 ? view->interval / 2 : 0.1;
        break;
    case '-':
        view->interval = view->interval < 30 ? view->interval * 2 : 60;
        break;
    default:
        break;
    }
}

/* Handles all pending keys. */
static void keys_take(struct screen *screen)
{
    for (int key; !screen->quit && (key = getch()) != ERR;) {
        if (key == KEY_RESIZE)
            continue;
        screen->answer[0] = '\0';
        if (screen->asks == ASKS_FILTER) {
            if (line_edit(screen->view->filter, TOP_FILTER_BYTES, key))
                screen->asks = ASKS_NOTHING;
        } else if (screen->asks == ASKS_SIGNAL) {
            if (line_edit(screen->word, sizeof screen->word, key))
                signal_send(screen);
        } else if (!selection_move(screen, key) && !key_view(screen, key))
            key_other(screen, key);
    }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Waits for a key, a signal, or this long. Returns false if the terminal is gone. */
static bool keys_await(int ms)
{
    struct pollfd terminal_in = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&terminal_in, 1, ms);
    return ready <= 0 || !(terminal_in.revents & (POLLHUP | POLLERR | POLLNVAL));
}

int top_screen_run(struct top_view *view, struct top_model *model, top_look *look, void *context)
{
    struct screen screen = {.view = view, .model = model};
    uint64_t due = 0;
    while (!screen.quit && !ended_by) {
        uint64_t now = monotonic_ns();
        if (now >= due && !view->paused) {
            if (!look(context, view, model))
                break;
            uint64_t cost = monotonic_ns() - now, pause = (uint64_t)(view->interval * 1e9);
            due = now + (pause > PAUSE_SHARE * cost ? pause : PAUSE_SHARE * cost);
        }
        screen_paint(&screen);
        now = monotonic_ns();
        int ms = view->paused ? 1000 : due > now ? (int)((due - now) / 1000000 + 1) : 0;
        if (!keys_await(ms))
            ended_by = SIGHUP;
        keys_take(&screen);
    }
    top_page_clear(&screen.page);
    return ended_by;
}
