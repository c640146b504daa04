/* coroutine.h: functions that take turns in one thread. A switch is a few instructions on x86-64 and makes no system
 * call; elsewhere it is swapcontext().
 *
 *     static coroutine_t here, there;
 *     static void hello(void *name) { printf("hello, %s\n", (const char *)name); coroutine_switch(&there, &here); }
 *
 *     coroutine_make(&there, stack, sizeof stack, hello, "world");
 *     coroutine_switch(&here, &there);             // comes back when hello() switches to `here`
 *
 * A coroutine that nobody switches to any more needs no end: its stack may be used again at once. */
#ifndef CONCEDE_TESTS_COROUTINE_H
#define CONCEDE_TESTS_COROUTINE_H

#include <stddef.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef struct coroutine {
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
} coroutine_t;

/* The first switch to it calls function(argument), which must not return: it switches away for good. The stack is
 * aligned to 16 bytes. */
void coroutine_make(coroutine_t *coroutine, void *stack, size_t bytes, void (*function)(void *), void *argument);

/* Keeps where the caller is in `from` and goes on with `to`. */
void coroutine_switch(coroutine_t *from, coroutine_t *to);

#endif
