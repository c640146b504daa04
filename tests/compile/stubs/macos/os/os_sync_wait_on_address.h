#include <stddef.h>
#include <stdint.h>
#define STUB_SINCE __attribute__((availability(macos, introduced = 14.4)))
typedef enum { OS_SYNC_WAIT_ON_ADDRESS_NONE = 0, OS_SYNC_WAIT_ON_ADDRESS_SHARED = 1 } os_sync_wait_on_address_flags_t;
typedef enum { OS_SYNC_WAKE_BY_ADDRESS_NONE = 0, OS_SYNC_WAKE_BY_ADDRESS_SHARED = 1 } os_sync_wake_by_address_flags_t;
typedef enum { OS_CLOCK_MACH_ABSOLUTE_TIME = 32 } os_clockid_t;
int os_sync_wait_on_address(void *, uint64_t, size_t, os_sync_wait_on_address_flags_t) STUB_SINCE;
int os_sync_wait_on_address_with_timeout(void *, uint64_t, size_t, os_sync_wait_on_address_flags_t, os_clockid_t,
                                         uint64_t) STUB_SINCE;
int os_sync_wake_by_address_any(void *, size_t, os_sync_wake_by_address_flags_t) STUB_SINCE;
int os_sync_wake_by_address_all(void *, size_t, os_sync_wake_by_address_flags_t) STUB_SINCE;
