#ifndef STUB_PTHREAD_H
#define STUB_PTHREAD_H
#define PTHREAD_CANCEL_DISABLE 1
#define PTHREAD_ONCE_INIT \
    {                     \
        0                 \
    }
#define PTHREAD_MUTEX_INITIALIZER \
    {                             \
        0                         \
    }
typedef struct {
    int state;
} pthread_once_t, pthread_mutex_t;
int pthread_setcancelstate(int, int *);
int pthread_once(pthread_once_t *, void (*)(void));
int pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int pthread_mutex_init(pthread_mutex_t *, const void *);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
#endif
