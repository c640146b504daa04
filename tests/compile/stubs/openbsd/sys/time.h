/* Only has to come before sys/futex.h. */
