/* registry.c: the list of peers, as found at build time. */
#include "bench.h"

#define PEER(name) extern const bench_peer bench_peer_##name;
#define MISSING(name)
#include "bench_peers.inc"
#undef PEER
#undef MISSING

#define PEER(name)
#define MISSING(name) static const bench_peer bench_missing_##name = { #name, "", NULL };
#include "bench_peers.inc"
#undef PEER
#undef MISSING

#define PEER(name)    &bench_peer_##name,
#define MISSING(name) &bench_missing_##name,
const bench_peer *const bench_peers[] = {
#include "bench_peers.inc"
    NULL,
};
