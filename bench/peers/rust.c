/* peers/rust.c: Rust's std, parking_lot and crossbeam; all but this list is in rust/lib.rs. */
#include "../bench.h"

const size_t bench_rust_sizes[] = { sizeof(bench_setting), sizeof(bench_histogram), sizeof(bench_thread),
                                    sizeof(bench_subject) };

extern const bench_subject rust_backoff, rust_std_lock, rust_parking_lot, rust_std_condition,
    rust_parking_lot_condition, rust_crossbeam_8, rust_crossbeam_64, rust_crossbeam_256, rust_std_8, rust_std_64,
    rust_std_256, rust_crossbeam_select;
static const bench_subject *const subjects[] = {
    &rust_backoff,
    &rust_std_lock,
    &rust_parking_lot,
    &rust_std_condition,
    &rust_parking_lot_condition,
    &rust_crossbeam_8,
    &rust_crossbeam_64,
    &rust_crossbeam_256,
    &rust_std_8,
    &rust_std_64,
    &rust_std_256,
    &rust_crossbeam_select,
    NULL,
};
const bench_peer bench_peer_rust = { "rust", PEER_VERSION, subjects };
