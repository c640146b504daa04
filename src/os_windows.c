/* os_windows.c: WaitOnAddress, SwitchToThread, QueryPerformanceCounter, FlushProcessWriteBuffers; Windows 8 and later.
 * Link with -lsynchronization. */
#if !defined(_WIN32_WINNT) || _WIN32_WINNT < 0x0602
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#endif
#define WIN32_LEAN_AND_MEAN
#include "os.h"
#include <concede/atomic.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define NS_PER_MS UINT64_C(1000000)

/* Whether this is Wine, two of whose calls do less than they say (8.0). Its FlushProcessWriteBuffers() does nothing.
 * And threads that a WakeByAddressAll() has woken stay in the queue until they run, where a WakeByAddressSingle() finds
 * them, and wakes nobody who sleeps: `stress.condition` lost a wake-up by that. */
static bool is_wine_(void)
{
    enum { UNKNOWN, WINDOWS, WINE };
    static uint32_t system; /* every thread finds the same */
    uint32_t known = cc_load_relaxed(&system);
    if (known == UNKNOWN) {
        HMODULE ntdll = GetModuleHandleA("ntdll.dll");
        known = ntdll && GetProcAddress(ntdll, "wine_get_version") ? WINE : WINDOWS;
        cc_store_relaxed(&system, known);
    }
    return known == WINE;
}

int cc_os_wait_(const uint32_t *word, uint32_t expected, uint64_t deadline)
{
    DWORD ms = INFINITE;
    if (cc_load_relaxed(word) != expected) return EAGAIN; /* WaitOnAddress would not tell this from a wake */
    if (deadline != CC_FOREVER) {
        uint64_t now = cc_os_now_();
        if (now >= deadline) return ETIMEDOUT;
        /* Rounded up, so that it does not end early. A time too long for a DWORD does, and the caller waits again. */
        uint64_t left = (deadline - now - 1) / NS_PER_MS + 1;
        ms = left < INFINITE ? (DWORD)left : INFINITE - 1;
    }
    if (WaitOnAddress((volatile void *)(uintptr_t)word, &expected, sizeof expected, ms)) return 0;
    return deadline != CC_FOREVER && cc_os_now_() >= deadline ? ETIMEDOUT : 0;
}

void cc_os_wake_(const uint32_t *word, uint32_t count)
{
    void *address = (void *)(uintptr_t)word;
    if (count == CC_OS_ALL_ || is_wine_()) {
        WakeByAddressAll(address);
        return;
    }
    for (; count > 0; count--) WakeByAddressSingle(address);
}

void cc_os_yield_(void)
{
    SwitchToThread();
}

uint64_t cc_os_now_(void)
{
    static uint64_t frequency; /* of the counter; fixed at boot, so every thread stores the same */
    LARGE_INTEGER value;
    uint64_t per_second = cc_load_relaxed(&frequency), ticks;
    if (per_second == 0) {
        QueryPerformanceFrequency(&value);
        per_second = (uint64_t)value.QuadPart;
        cc_store_relaxed(&frequency, per_second);
    }
    QueryPerformanceCounter(&value);
    ticks = (uint64_t)value.QuadPart;
    return ticks / per_second * CC_NS_PER_S_ + ticks % per_second * CC_NS_PER_S_ / per_second;
}

uint64_t cc_os_cpu_time_(void)
{
    FILETIME created, ended, times[2]; /* in the system and outside of it, in units of 100 ns */
    uint64_t used = 0;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &times[0], &times[1])) return 0;
    for (int i = 0; i < 2; i++) used += (uint64_t)times[i].dwHighDateTime << 32 | times[i].dwLowDateTime;
    return used * 100;
}

uint32_t cc_os_cpu_(void)
{
    return (uint32_t)GetCurrentProcessorNumber();
}

bool cc_os_membarrier_register_(void)
{
    return !is_wine_();
}

bool cc_os_membarrier_(void)
{
    FlushProcessWriteBuffers();
    return true;
}

/* Counts the affinity mask of the one processor group that a process usually lives in. A process that lives in several
 * has a mask of 0, and then the answer is what the machine has. */
uint32_t cc_os_cpus_(void)
{
    DWORD_PTR process = 0, machine = 0;
    uint32_t cpus = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &machine)) process = 0;
    for (; process != 0; process &= process - 1) cpus++;
    if (cpus == 0) cpus = (uint32_t)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return cpus > 1 ? cpus : 1;
}

uint32_t cc_os_quota_(void)
{
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate; /* a container's limit, in 1/10000 of the whole machine */
    const DWORD capped = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    memset(&rate, 0, sizeof rate);
    if (!QueryInformationJobObject(NULL, JobObjectCpuRateControlInformation, &rate, sizeof rate, NULL) ||
        (rate.ControlFlags & capped) != capped)
        return UINT32_MAX;
    uint64_t cpus = (uint64_t)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) * rate.CpuRate / 10000;
    return cpus > 1 ? (uint32_t)cpus : 1;
}

const char *cc_os_environment_(const char *name)
{
    return getenv(name);
}

uint32_t cc_os_forks_(void)
{
    return 0; /* there is no fork */
}

/* There is no bell, because there is nothing that a WSAPoll could wait for. */
#include "os_none.h"
