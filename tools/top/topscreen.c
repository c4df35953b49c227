#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#include "top/topscreen.h"

#include "job/livefind.h"

#include <curses.h>
#include <errno.h>
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
    enum top_view_kind back; /* where escape leads to */
    bool editing, quit;
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

/* ---- painting -----------------------------------------------------------------------------------------------------
 */

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

static void row_paint(int line, const char *text, bool chosen)
{
    attr_t extra = chosen ? A_REVERSE : A_NORMAL, now = A_NORMAL;
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
        attrset((int)(now | extra));
    }
    int column = getcurx(stdscr);
    if (whole)
        attrset((int)(style_attributes(STYLE_HEAD) | extra));
    if (chosen || whole)
        for (; column < COLS && getcury(stdscr) == line; column++)
            addch(' ');
    attrset(A_NORMAL);
}

static void status_paint(const struct screen *screen)
{
    char text[256];
    const char *sorted = top_column_title(screen->view->kind, screen->view->sort);
    if (screen->editing)
        snprintf(text, sizeof text, "only: %s_   (ranks such as 0,4-7, or a part of the text)", screen->view->filter);
    else
        snprintf(
            text, sizeof text,
            "r ranks  c communicators  s sizes  v variables  / filter  < > sort%s%s  h help  q quit   every %.3g s",
            sorted[0] ? ": " : "", sorted, screen->view->interval);
    text[top_text_fitting(text, COLS - 1)] = '\0';
    move(LINES - 1, 0);
    attrset(A_DIM);
    for (const char *at = text; *at;)
        at = character_paint(at);
    attrset(A_NORMAL);
}

static void selection_clip(struct screen *screen, size_t body, size_t lines)
{
    if (screen->selected >= body)
        screen->selected = body ? body - 1 : 0;
    if (screen->first > screen->selected)
        screen->first = screen->selected;
    if (lines && screen->selected >= screen->first + lines)
        screen->first = screen->selected - lines + 1;
}

static void screen_paint(struct screen *screen)
{
    struct top_page *page = &screen->page;
    page->width = COLS > 10 ? COLS : 10;
    top_page_make(page, screen->view, screen->model);
    bool status = LINES >= STATUS_LINES_LEAST || screen->editing;
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

/* ---- keys ---------------------------------------------------------------------------------------------------------
 */

static void view_enter(struct screen *screen, enum top_view_kind kind)
{
    if (screen->view->kind == kind)
        return;
    screen->view->kind = kind;
    screen->view->sort = -1;
    screen->view->reverse = false;
    screen->selected = screen->first = 0;
}

/* Enters the object of the chosen row. */
static void row_enter(struct screen *screen)
{
    const struct top_page *page = &screen->page;
    size_t at = page->head + screen->selected;
    if (at >= page->count || (!page->rows[at].key[0] && !page->rows[at].key[1]))
        return;
    enum top_view_kind kind = screen->view->kind;
    screen->back = kind;
    if (kind == VIEW_COMMS) {
        memcpy(screen->view->comm, page->rows[at].key, sizeof screen->view->comm);
        view_enter(screen, VIEW_COMM);
    } else if (kind == VIEW_RANKS || kind == VIEW_COMM) {
        screen->view->focus.known = false;
        memcpy(screen->view->focus.key, page->rows[at].key, sizeof screen->view->focus.key);
        top_focus_update(screen->view, screen->model);
        view_enter(screen, VIEW_RANK);
    }
}

static void job_next(struct screen *screen)
{
    const struct top_job *job = top_view_job(screen->view, screen->model);
    if (!job)
        return;
    size_t next = ((size_t)(job - screen->model->jobs) + 1) % screen->model->job_count;
    screen->view->job = screen->model->jobs[next].job;
    screen->selected = screen->first = 0;
    if (screen->view->kind == VIEW_RANK || screen->view->kind == VIEW_COMM)
        view_enter(screen, VIEW_RANKS);
}

/* Sorts by the next shown column. After the last one, and before the first one, is the default order. */
static void sort_change(struct screen *screen, int by)
{
    int count = (int)top_columns_count(screen->view->kind), sort = screen->view->sort;
    do {
        sort += by;
        sort = sort < -1 ? count - 1 : sort >= count ? -1 : sort;
    } while (sort >= 0 && !(screen->page.shown >> sort & 1));
    screen->view->sort = sort;
}

static void filter_edit(struct screen *screen, int key)
{
    char *filter = screen->view->filter;
    size_t length = strlen(filter);
    if (key == '\n' || key == '\r' || key == KEY_ENTER)
        screen->editing = false;
    else if (key == KEY_ESCAPE) {
        filter[0] = '\0';
        screen->editing = false;
    } else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length)
        filter[length - 1] = '\0';
    else if (key >= ' ' && key < 127 && length + 1 < TOP_FILTER_BYTES) {
        filter[length] = (char)key;
        filter[length + 1] = '\0';
    }
}

/* Moves through rows. Returns false for other keys. */
static bool key_move(struct screen *screen, int key)
{
    size_t page = (size_t)(LINES > 8 ? LINES - 7 : 1), *at = &screen->selected;
    switch (key) {
    case KEY_UP:
        *at -= *at > 0;
        return true;
    case KEY_DOWN:
        ++*at;
        return true;
    case KEY_PPAGE:
        *at -= *at > page ? page : *at;
        return true;
    case KEY_NPAGE:
        *at += page;
        return true;
    case KEY_HOME:
        *at = 0;
        return true;
    case KEY_END:
        *at = SIZE_MAX / 2;
        return true;
    default:
        return false;
    }
}

static bool key_view(struct screen *screen, int key)
{
    switch (key) {
    case 'r':
        view_enter(screen, VIEW_RANKS);
        return true;
    case 'c':
        view_enter(screen, VIEW_COMMS);
        return true;
    case 's':
        view_enter(screen, VIEW_SIZES);
        return true;
    case 'v':
        view_enter(screen, VIEW_VALUES);
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
        view_enter(screen, screen->view->kind >= VIEW_HELP ? screen->back : VIEW_RANKS);
        return true;
    default:
        return false;
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
    case 'j':
    case '\t':
        job_next(screen);
        break;
    case '<':
    case '>':
        sort_change(screen, key == '>' ? 1 : -1);
        break;
    case 'R':
        view->reverse = !view->reverse;
        break;
    case '/':
        screen->editing = true;
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
        if (screen->editing)
            filter_edit(screen, key);
        else if (!key_move(screen, key) && !key_view(screen, key))
            key_other(screen, key);
    }
}

/* ---- the loop -----------------------------------------------------------------------------------------------------
 */

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
        uint64_t now = live_monotonic_ns();
        if (now >= due && !view->paused) {
            if (!look(context, view, model))
                break;
            uint64_t cost = live_monotonic_ns() - now, pause = (uint64_t)(view->interval * 1e9);
            due = now + (pause > PAUSE_SHARE * cost ? pause : PAUSE_SHARE * cost);
        }
        screen_paint(&screen);
        now = live_monotonic_ns();
        int ms = view->paused ? 1000 : due > now ? (int)((due - now) / 1000000 + 1) : 0;
        if (!keys_await(ms))
            ended_by = SIGHUP;
        keys_take(&screen);
    }
    top_page_clear(&screen.page);
    return ended_by;
}
