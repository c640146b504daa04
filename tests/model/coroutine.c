/* coroutine.c: see coroutine.h. */
#include "coroutine.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__)
/* Keeps what a call must keep on the one stack, changes to the other, and takes it from there. A new coroutine starts
 * in coroutine_begin_, which finds its function in rbx and the argument in r12. */
void coroutine_switch_(void **from, void *to);
void coroutine_begin_(void);
__asm__(".text\n.globl coroutine_switch_\n.type coroutine_switch_,@function\ncoroutine_switch_:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size coroutine_switch_,.-coroutine_switch_\n"
        ".globl coroutine_begin_\n.type coroutine_begin_,@function\ncoroutine_begin_:\n"
        "mov %r12,%rdi\ncall *%rbx\nhlt\n"
        ".size coroutine_begin_,.-coroutine_begin_\n");

void coroutine_make(coroutine_t *coroutine, void *stack, size_t bytes, void (*function)(void *), void *argument)
{
    void **top = (void **)(void *)((char *)stack + bytes);
    *--top = NULL; /* so that the stack is aligned where coroutine_begin_ calls */
    *--top = NULL;
    *--top = (void *)(uintptr_t)coroutine_begin_;
    *--top = NULL; /* rbp */
    *--top = (void *)(uintptr_t)function;
    *--top = argument;
    for (int i = 0; i < 3; i++) *--top = NULL; /* r13, r14, r15 */
    coroutine->stack_pointer = top;
}

void coroutine_switch(coroutine_t *from, coroutine_t *to)
{
    coroutine_switch_(&from->stack_pointer, to->stack_pointer);
}
#else
/* makecontext() passes on numbers of int's size only: two halves of each pointer. */
static void begin(unsigned function_high, unsigned function_low, unsigned argument_high, unsigned argument_low)
{
    uintptr_t function = (uintptr_t)((uint64_t)function_high << 32 | function_low);
    uintptr_t argument = (uintptr_t)((uint64_t)argument_high << 32 | argument_low);
    ((void (*)(void *))function)((void *)argument);
    abort();
}

void coroutine_make(coroutine_t *coroutine, void *stack, size_t bytes, void (*function)(void *), void *argument)
{
    uint64_t f = (uint64_t)(uintptr_t)function, a = (uint64_t)(uintptr_t)argument;
    getcontext(&coroutine->context);
    coroutine->context.uc_stack.ss_sp = stack;
    coroutine->context.uc_stack.ss_size = bytes;
    coroutine->context.uc_link = NULL;
    makecontext(&coroutine->context, (void (*)(void))begin, 4, (unsigned)(f >> 32), (unsigned)f, (unsigned)(a >> 32),
                (unsigned)a);
}

void coroutine_switch(coroutine_t *from, coroutine_t *to)
{
    swapcontext(&from->context, &to->context);
}
#endif
