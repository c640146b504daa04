#define PTHREAD_CANCEL_DISABLE 1
int pthread_setcancelstate(int, int *);
