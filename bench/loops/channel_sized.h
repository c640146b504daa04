/* loops/channel_sized.h: the part of loops/channel.h that is there once for each message size. */

typedef struct BENCH_NAME(SIZED, object) {
    CC_ALIGNED_(CC_CACHE_LINE) CHANNEL there;
    CC_ALIGNED_(CC_CACHE_LINE) CHANNEL back;
} BENCH_NAME(SIZED, object);

static void *BENCH_NAME(SIZED, create)(const bench_setting *setting)
{
    if (setting->message_size != MESSAGE_SIZE) return NULL;
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)bench_alloc(sizeof *object);
    if (!(OPEN(&object->there, setting->capacity))) {
        free(object);
        return NULL;
    }
    if (!(OPEN(&object->back, setting->capacity))) {
        CLOSE(&object->there);
        free(object);
        return NULL;
    }
    return object;
}

static void BENCH_NAME(SIZED, destroy)(void *memory)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)memory;
    CLOSE(&object->there);
    CLOSE(&object->back);
    free(memory);
}

#if !defined(STREAM_AS_BURST)
/* Thread 0 measures from its send to the answer. */
static void BENCH_NAME(SIZED, pingpong)(bench_thread *t)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)t->object;
    CHANNEL *there = t->index == 0 ? &object->there : &object->back;
    CHANNEL *back = t->index == 0 ? &object->back : &object->there;
    uint64_t ops = 0;
    MESSAGE m;
    memset(&m, 0, sizeof m);
    SEND_LOCAL(there)
    RECEIVE_LOCAL(back)
    if (t->index == 0) {
        uint64_t before = bench_ticks();
        do {
            m.value = bench_stopped(t) ? 0 : ops + 1;
            SEND(there, m);
            RECEIVE(back, m);
            uint64_t after = bench_ticks();
            bench_histogram_add(t->histogram, after - before);
            before = after;
            ops++;
        } while (m.value != 0);
        t->ops = ops;
    } else {
        do {
            RECEIVE(back, m);
            SEND(there, m);
        } while (m.value != 0);
    }
}
#endif

#if !defined(PINGPONG_ONLY) && !defined(ONE_SLOT)
/* The last sender sends a last message to each receiver. */
static void BENCH_NAME(SIZED, finish)(bench_thread *t, uint64_t ops, uint64_t sum)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)t->object;
    CHANNEL *c = &object->there;
    if (cc_fetch_add_acq_rel(t->done, 1) + 1 == t->senders) {
        SEND_LOCAL(c)
        MESSAGE m;
        memset(&m, 0, sizeof m);
        for (uint32_t i = t->senders; i < t->threads; i++) {
            SEND(c, m);
        }
    }
    t->retries = ops; /* sent; ops is what was received */
    t->sum = sum;
}

static void BENCH_NAME(SIZED, stream)(bench_thread *t)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)t->object;
    CHANNEL *c = &object->there;
    uint64_t ops = 0, sum = 0;
    MESSAGE m;
    memset(&m, 0, sizeof m);
    if (t->index < t->senders) {
        {
            SEND_LOCAL(c)
            while (!bench_stopped(t)) {
                m.value = ++ops;
                sum += ops;
                SEND(c, m);
            }
        }
        BENCH_NAME(SIZED, finish)(t, ops, sum);
    } else {
        RECEIVE_LOCAL(c)
        for (;;) {
            RECEIVE(c, m);
            if (CC_UNLIKELY_(m.value == 0)) break;
            sum += m.value;
            ops++;
        }
        t->ops = ops;
        t->sum = sum;
    }
}
#endif

#if defined(SEND_MANY)
static void BENCH_NAME(SIZED, burst)(bench_thread *t)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)t->object;
    CHANNEL *c = &object->there;
    uint64_t ops = 0, sum = 0;
    MESSAGE ms[BENCH_BURST];
    size_t burst = t->burst < (uint32_t)BENCH_BURST ? t->burst : (uint32_t)BENCH_BURST;
    memset(ms, 0, sizeof ms);
    if (t->index < t->senders) {
        {
            SEND_LOCAL(c)
            while (!bench_stopped(t)) {
                for (size_t i = 0; i < burst; i++) {
                    ms[i].value = ++ops;
                    sum += ops;
                }
                for (size_t sent = 0; sent < burst;) {
                    size_t n = SEND_MANY(c, ms + sent, burst - sent);
                    if (n == 0) {
                        SEND(c, ms[sent]);
                        n = 1;
                    }
                    sent += n;
                }
            }
        }
        BENCH_NAME(SIZED, finish)(t, ops, sum);
    } else {
        RECEIVE_LOCAL(c)
        for (bool over = false; !over;) {
            size_t n = RECEIVE_MANY(c, ms, burst);
            if (n == 0) {
                RECEIVE(c, ms[0]);
                n = 1;
            }
            for (size_t i = 0; i < n; i++) {
                sum += ms[i].value;
                ops += ms[i].value != 0;
                over |= ms[i].value == 0;
            }
        }
        t->ops = ops;
        t->sum = sum;
    }
}
#endif

#if !defined(PINGPONG_ONLY) && !defined(STREAM_AS_BURST)
/* Thread 0 sends the time at intervals; thread 1 measures how late it gets it. */
static void BENCH_NAME(SIZED, paced)(bench_thread *t)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)t->object;
    CHANNEL *c = &object->there;
    uint64_t ops = 0;
    uint32_t gap = 0;
    MESSAGE m;
    memset(&m, 0, sizeof m);
    if (t->index == 0) {
        uint64_t due = bench_ticks();
        SEND_LOCAL(c)
        do {
            due += bench_gap(t, gap++);
            bench_pace(&due);
            m.value = bench_stopped(t) ? 0 : bench_ticks();
            SEND(c, m);
        } while (m.value != 0);
    } else {
        RECEIVE_LOCAL(c)
        for (;;) {
            RECEIVE(c, m);
            if (CC_UNLIKELY_(m.value == 0)) break;
            uint64_t now = bench_ticks();
            bench_histogram_add(t->histogram, now > m.value ? now - m.value : 0);
            ops++;
        }
        t->ops = ops;
    }
}
#endif

#if !defined(PINGPONG_ONLY) && !defined(ONE_SLOT) && !defined(STREAM_AS_BURST)
/* Senders that offer messages at a rate, or as fast as it goes; receivers that measure how late each one is, and work
 * on it. */
static void BENCH_NAME(SIZED, offered)(bench_thread *t)
{
    BENCH_NAME(SIZED, object) *object = (BENCH_NAME(SIZED, object) *)t->object;
    CHANNEL *c = &object->there;
    uint64_t ops = 0, sum = 0;
    MESSAGE m;
    memset(&m, 0, sizeof m);
    if (t->index < t->senders) {
        {
            uint64_t due = bench_ticks(), woke = 0;
            uint32_t gap = 0;
            SEND_LOCAL(c)
            while (!bench_stopped(t)) {
                uint32_t next = bench_gap(t, gap++);
                due += next;
                m.value = next ? bench_offer(&due, &woke) : bench_ticks();
                for (uint32_t i = 0; i < t->burst; i++) {
                    sum += m.value;
                    ops++;
                    SEND(c, m);
                }
            }
        }
        BENCH_NAME(SIZED, finish)(t, ops, sum);
    } else {
        uint32_t work = t->work;
        RECEIVE_LOCAL(c)
        for (;;) {
            RECEIVE(c, m);
            if (CC_UNLIKELY_(m.value == 0)) break;
            uint64_t now = bench_ticks();
            bench_histogram_add(t->histogram, now > m.value ? now - m.value : 0);
            sum += m.value;
            ops++;
            bench_work(work);
        }
        t->ops = ops;
        t->sum = sum;
    }
}
#endif

static const bench_subject SIZED = {
    BENCH_CHANNEL,
    FLAGS,
    NAME,
    USES,
    BENCH_NAME(SIZED, create),
    BENCH_NAME(SIZED, destroy),
#if defined(PINGPONG_ONLY)
    { BENCH_NAME(SIZED, pingpong), NULL, NULL, NULL, NULL },
#elif defined(ONE_SLOT)
    { BENCH_NAME(SIZED, pingpong), NULL, NULL, BENCH_NAME(SIZED, paced), NULL },
#elif defined(STREAM_AS_BURST)
    { NULL, NULL, BENCH_NAME(SIZED, stream), NULL, NULL },
#elif defined(SEND_MANY)
    { BENCH_NAME(SIZED, pingpong), BENCH_NAME(SIZED, stream), BENCH_NAME(SIZED, burst), BENCH_NAME(SIZED, paced),
      BENCH_NAME(SIZED, offered) },
#else
    { BENCH_NAME(SIZED, pingpong), BENCH_NAME(SIZED, stream), NULL, BENCH_NAME(SIZED, paced),
      BENCH_NAME(SIZED, offered) },
#endif
};

#undef SIZED
#undef MESSAGE
#undef MESSAGE_SIZE
