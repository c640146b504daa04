/* Only has to come before the other headers of sys/. */
