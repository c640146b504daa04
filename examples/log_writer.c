/* log_writer: many threads log, one writes, in batches, and flushes when nothing more comes.
 *
 * A thread that logs copies its line into the channel and goes on. The writer takes as many lines as there are with one
 * call, so a busy log is written in large pieces; when none has come for a while it flushes once, and then sleeps
 * without a deadline: an idle log costs nothing. */
#include <concede/channel.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

typedef struct line {
    char text[56];
} line;
CC_CHANNEL_TYPED(lines, line)

enum { BATCH = 64, QUIET_NS = 2000000 };
typedef struct log_writer {
    cc_channel_t *lines;
    FILE *file;
    pthread_t thread;
    unsigned long written, batches, flushes;
} log_writer;

static void *write_lines(void *argument)
{
    log_writer *log = (log_writer *)argument;
    line batch[BATCH];
    size_t n;
    int result = 0;
    for (bool dirty = false; result != EPIPE;) {
        result = lines_recv_some_until(log->lines, batch, BATCH, &n, dirty ? cc_deadline_in(QUIET_NS) : CC_FOREVER);
        for (size_t i = 0; i < n; i++) fputs(batch[i].text, log->file);
        log->written += (unsigned long)n;
        log->batches += n > 0;
        if (result != 0 && dirty) { /* quiet, or the end */
            fflush(log->file);
            log->flushes++;
        }
        dirty = result == 0;
    }
    return NULL;
}

static bool log_start(log_writer *log, FILE *file)
{
    log->file = file;
    cc_channel_options_t options = CC_CHANNEL_OPTIONS_INIT(1024, 0); /* the size is the type's */
    if (lines_create(&log->lines, &options) != 0) return false;
    pthread_create(&log->thread, NULL, write_lines, log);
    return true;
}

/* Everything that was logged before is in the file when this returns. */
static void log_stop(log_writer *log)
{
    cc_channel_close(log->lines);
    pthread_join(log->thread, NULL);
    cc_channel_destroy(log->lines);
}

/* ---- Using it --------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 5000 };
static log_writer shared;

static void *chatter(void *name)
{
    line l;
    for (int i = 0; i < EACH; i++) {
        snprintf(l.text, sizeof l.text, "%s: line %d\n", (const char *)name, i);
        lines_send(shared.lines, l); /* or try_send: drops the line where the disk is too slow, and never waits */
    }
    return NULL;
}

int main(void)
{
    static char names[THREADS][8] = { "one", "two", "three", "four" };
    pthread_t threads[THREADS];
    FILE *file = tmpfile();
    if (!file || !log_start(&shared, file)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, chatter, names[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    log_stop(&shared);
    unsigned long in_file = 0;
    rewind(file);
    for (int c; (c = fgetc(file)) != EOF;) in_file += c == '\n';
    fclose(file);
    printf("%lu lines in %lu batches, flushed %lu times\n", in_file, shared.batches, shared.flushes);
    return in_file == shared.written && in_file == THREADS * EACH && shared.flushes > 0 ? 0 : 1;
}
