/* counter: the lock, around a few lines.
 *
 * Four bytes beside what it protects, all zero is valid, nothing to destroy. */
#include <concede/lock.h>
#include <pthread.h>
#include <stdio.h>

typedef struct account {
    cc_lock_t lock;
    long euros, cents; /* 0 to 99 cents */
    long payments;
} account;

static void account_pay_in(account *a, long cents)
{
    cc_lock_acquire(&a->lock);
    a->cents += cents;
    a->euros += a->cents / 100;
    a->cents %= 100;
    a->payments++;
    cc_lock_release(&a->lock);
}

/* For a thread that has something better to do than to wait. */
static int account_try_read(account *a, long *euros, long *cents)
{
    if (!cc_lock_acquire_timeout(&a->lock, 1000000)) return 0;
    *euros = a->euros;
    *cents = a->cents;
    cc_lock_release(&a->lock);
    return 1;
}

enum { THREADS = 8, PAYMENTS = 100000 };
static account shared; /* static: all zero */

static void *payer(void *unused)
{
    for (int i = 0; i < PAYMENTS; i++) account_pay_in(&shared, 7);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    long euros = 0, cents = 0, expected = (long)THREADS * PAYMENTS * 7;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, payer, NULL);
    for (int looks = 0; looks < 100; looks++)
        if (account_try_read(&shared, &euros, &cents) && cents >= 100) return 1; /* half a payment */
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    while (!account_try_read(&shared, &euros, &cents)) {}
    printf("%ld payments, %ld.%02ld euros, expected %ld.%02ld\n", shared.payments, euros, cents, expected / 100,
           expected % 100);
    return euros * 100 + cents == expected ? 0 : 1;
}
