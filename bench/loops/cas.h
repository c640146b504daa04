/* loops/cas.h: threads multiply one shared word by 3 with compare-and-swap, and wait in their own way after a failure.
 *
 * Before including it, define
 *   SUBJECT  NAME  USES  FLAGS             identifier, strings and BENCH_ flags of the subject
 *   CAS_LOCAL                              optional: declarations that each thread needs
 *   CAS_BEGIN                              optional: statement before each operation
 *   CAS_FAILED                             optional: statement after each failure
 *   CAS_DONE                               optional: statement after a success that failed before
 * The word is read again after each wait: what a failed compare-and-swap saw is old by then. The word stays odd, so it
 * never gets stuck at 0. No include guard: once for each subject. */
#include "../bench.h"
#include <stdlib.h>

#if !defined(CAS_LOCAL)
#define CAS_LOCAL
#endif
#if !defined(CAS_BEGIN)
#define CAS_BEGIN
#endif
#if !defined(CAS_FAILED)
#define CAS_FAILED
#endif
#if !defined(CAS_DONE)
#define CAS_DONE
#endif

static void *BENCH_NAME(SUBJECT, create)(const bench_setting *setting)
{
    uint64_t *word = (uint64_t *)bench_alloc(sizeof *word);
    (void)setting;
    *word = 1;
    return word;
}

static void BENCH_NAME(SUBJECT, rate)(bench_thread *t)
{
    uint64_t *word = (uint64_t *)t->object;
    uint64_t ops = 0, retries = 0;
    CAS_LOCAL
    while (!bench_stopped(t)) {
        CAS_BEGIN
        uint64_t old = cc_load_relaxed(word);
        if (CC_UNLIKELY_(!cc_cas_weak_relaxed(word, &old, old * 3))) {
            do {
                retries++;
                CAS_FAILED
                old = cc_load_relaxed(word);
            } while (!cc_cas_weak_relaxed(word, &old, old * 3));
            CAS_DONE
        }
        ops++;
    }
    t->ops = ops;
    t->retries = retries;
}

static const bench_subject SUBJECT = {
    BENCH_CAS, FLAGS, NAME, USES, BENCH_NAME(SUBJECT, create), free, { BENCH_NAME(SUBJECT, rate), NULL, NULL, NULL },
};

#undef SUBJECT
#undef NAME
#undef USES
#undef FLAGS
#undef CAS_LOCAL
#undef CAS_BEGIN
#undef CAS_FAILED
#undef CAS_DONE
