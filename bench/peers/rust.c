/* peers/rust.c: Rust's std, parking_lot and crossbeam; the loops and the calls that they use are in rust/lib.rs. */
#include "../bench.h"

void *rust_backoff_create(const bench_setting *);
void rust_backoff_destroy(void *);
bench_loop rust_backoff_rate;
static const bench_subject rust_backoff = { BENCH_CAS, 0, "crossbeam Backoff",
                                            "Backoff::new() for each operation, spin(); the loop is in Rust",
                                            rust_backoff_create, rust_backoff_destroy,
                                            { rust_backoff_rate, NULL, NULL, NULL } };

#define LOCKS(name)                                       \
    void *name##_create(const bench_setting *);           \
    void name##_destroy(void *);                          \
    bench_loop name##_rate, name##_latency;
#define LOCK_SUBJECT(name, title, uses)                                                      \
    static const bench_subject name = { BENCH_LOCK, BENCH_CAN_SLEEP, title, uses, name##_create, name##_destroy, \
                                        { name##_rate, name##_latency, NULL, NULL } };
#define CHANNELS(name)                                    \
    void *name##_create(const bench_setting *);           \
    void name##_destroy(void *);                          \
    bench_loop name##_pingpong, name##_stream, name##_paced;
#define CHANNEL_SUBJECT(name, flags, title, uses)                                            \
    static const bench_subject name = { BENCH_CHANNEL, BENCH_CAN_SLEEP | flags, title, uses, name##_create,      \
                                        name##_destroy, { name##_pingpong, name##_stream, NULL, name##_paced } };

LOCKS(rust_std_lock)
LOCKS(rust_parking_lot)
LOCK_SUBJECT(rust_std_lock, "Rust std Mutex", "lock(), dropping the guard; the loop is in Rust")
LOCK_SUBJECT(rust_parking_lot, "parking_lot Mutex", "lock(), dropping the guard; the loop is in Rust")

#define CROSSBEAM(size)                 \
    CHANNELS(rust_crossbeam_##size)     \
    CHANNEL_SUBJECT(rust_crossbeam_##size, 0, "crossbeam bounded", "send() and recv() of bounded(); the loop is in Rust")
CROSSBEAM(8)
CROSSBEAM(64)
CROSSBEAM(256)
#define STD(size)             \
    CHANNELS(rust_std_##size) \
    CHANNEL_SUBJECT(rust_std_##size, BENCH_ONE_TO_ONE, "Rust sync_channel", "send() and recv(); the loop is in Rust")
STD(8)
STD(64)
STD(256)

static const bench_subject *const subjects[] = {
    &rust_backoff, &rust_std_lock, &rust_parking_lot, &rust_crossbeam_8, &rust_crossbeam_64, &rust_crossbeam_256, &rust_std_8,
    &rust_std_64, &rust_std_256, NULL,
};
const bench_peer bench_peer_rust = { "rust", PEER_VERSION, subjects };
