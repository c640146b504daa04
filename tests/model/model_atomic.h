/* model_atomic.h: what include/concede/atomic.h becomes under CC_MODEL: every access is a call into memory.c, which
 * decides what it reads. Each place in the source has a record of its own, so that a run can weaken one order. */
#ifndef CONCEDE_TESTS_MODEL_ATOMIC_H
#define CONCEDE_TESTS_MODEL_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELEASE, MODEL_ACQ_REL }; /* bits: 1 acquires, 2 releases */
enum { MODEL_LOAD, MODEL_STORE, MODEL_EXCHANGE, MODEL_CAS, MODEL_FETCH, MODEL_FENCE, MODEL_HEAVY };
enum { MODEL_OP_add, MODEL_OP_sub, MODEL_OP_or, MODEL_OP_and };

typedef struct model_site {
    const char *file;
    int line;
    uint8_t kind, order; /* as written in the source */
    uint8_t used;        /* 0: never executed; else order + 1, possibly weakened */
    uint64_t clients[4]; /* that executed it, as bits */
} model_site_t;

/* All of them are in one section, so that those that nothing executes are known too. */
#define MODEL_SITE_(kind, order)                                                                           \
    static model_site_t model_site_here_ = { __FILE__, __LINE__, kind, MODEL_##order, 0, { 0, 0, 0, 0 } }; \
    static model_site_t *model_site_listed_ __attribute__((section("model_sites"), used)) = &model_site_here_

#define cc_atomic_load_(p, order)                                                      \
    __extension__({                                                                    \
        MODEL_SITE_(MODEL_LOAD, order);                                                \
        (__typeof__(*(p)))(uintptr_t)model_load_(&model_site_here_, (p), sizeof *(p)); \
    })

#define cc_atomic_store_(p, v, order)                                                \
    __extension__({                                                                  \
        MODEL_SITE_(MODEL_STORE, order);                                             \
        model_store_(&model_site_here_, (p), sizeof *(p), (uint64_t)(uintptr_t)(v)); \
    })

#define cc_atomic_exchange_(p, v, order)                                                                             \
    __extension__({                                                                                                  \
        MODEL_SITE_(MODEL_EXCHANGE, order);                                                                          \
        (__typeof__(*(p)))(uintptr_t)model_exchange_(&model_site_here_, (p), sizeof *(p), (uint64_t)(uintptr_t)(v)); \
    })

#define cc_atomic_cas_(p, e, v, weak, order)                                                    \
    __extension__({                                                                             \
        MODEL_SITE_(MODEL_CAS, order);                                                          \
        model_cas_(&model_site_here_, (p), sizeof *(p), (e), (uint64_t)(uintptr_t)(v), (weak)); \
    })

#define cc_atomic_fetch_(op, p, v, order)                                                             \
    __extension__({                                                                                   \
        MODEL_SITE_(MODEL_FETCH, order);                                                              \
        (__typeof__(*(p)))(uintptr_t)model_fetch_(&model_site_here_, MODEL_OP_##op, (p), sizeof *(p), \
                                                  (uint64_t)(uintptr_t)(v));                          \
    })

#define cc_atomic_fence_full_()            \
    __extension__({                        \
        MODEL_SITE_(MODEL_FENCE, ACQ_REL); \
        model_fence_(&model_site_here_);   \
    })

/* A store that a barrier calls off if it comes between the look at the word and the store. */
#define cc_atomic_sequence_store_(p, e, v, area, now, failed)                                   \
    do {                                                                                        \
        MODEL_SITE_(MODEL_STORE, RELEASE);                                                      \
        model_sequence_begin_();                                                                \
        if (cc_load_relaxed(now) != (area)) goto failed;                                        \
        if (!model_sequence_store_(&model_site_here_, (p), sizeof *(p), (e), (v))) goto failed; \
    } while (0)

#define cc_atomic_copy_(to, from, bytes) ((void)model_copy((to), (from), (bytes)))

uint64_t model_load_(model_site_t *, const void *p, size_t size);
void model_store_(model_site_t *, void *p, size_t size, uint64_t value);
uint64_t model_exchange_(model_site_t *, void *p, size_t size, uint64_t value);
bool model_cas_(model_site_t *, void *p, size_t size, void *expected, uint64_t value, bool weak);
uint64_t model_fetch_(model_site_t *, int op, void *p, size_t size, uint64_t value);
void model_sequence_begin_(void);
bool model_sequence_store_(model_site_t *, void *p, size_t size, uint64_t expected, uint64_t value);
void model_fence_(model_site_t *);
bool model_heavy_(model_site_t *);
void model_pause_(void);
uint32_t model_random_(void);
bool model_shares_cpu_(void);
void *model_copy(void *to, const void *from, size_t bytes);

#endif
