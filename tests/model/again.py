"""Every run of the checker does the same: in another process, at other addresses, after other clients."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from checks import case, main, need, run  # noqa: E402

CLIENTS = os.environ["CONCEDE_MODEL_CLIENTS"]
SOME = ["costs_asked_by_two", "parker_ping_pong", "event_changing_condition", "event_membarrier_lost_fenced",
        "lock_three_threads",
        "spsc_try", "mpmc_one", "mpmc_8_one"]


def counts(*names):
    """Client -> executions, cut short and states."""
    return {line.split()[0]: line.split()[3:6] for line in run(CLIENTS, *names).splitlines() if line.endswith("  ok")}


@case
def a_client_explores_the_same_alone_as_after_others():
    together = counts(*SOME)
    need(len(together) >= len(SOME), "too few clients ran: %s" % together)
    for name in together:
        alone = counts(name)
        need(alone[name] == together[name], "%s: %s alone, %s after others" % (name, alone[name], together[name]))


@case
def an_unfinished_exploration_ends_at_the_same_execution():
    limited = ["--steps", "200000", "mpmc_two_receivers"]
    first = re.findall(r"^(\S+ +.*) \d+\.\d+  ok(.*)$", run(CLIENTS, *limited), re.M)
    need(first and all("not finished" in end for _, end in first), "it should not finish: %s" % first)
    need(re.findall(r"^(\S+ +.*) \d+\.\d+  ok(.*)$", run(CLIENTS, *limited), re.M) == first, "two runs differ")


def found(text):
    """What a run found, without addresses."""
    what = re.search(r"^  => (.*)$", text, re.M)
    need(what, "nothing was found:\n" + text)
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", what[1])


# A line of the sources whose order is weakened, how, and the client that fails then.
WEAKENED = ["include/concede/park.h | cc_exchange_release(&parker->state | exchange:relaxed | parker",
            "include/concede/fence.h | cc_fence_full(); /* [fence.sides] | fence:removed | event/symmetric",
            "include/concede/channel_spsc.h | cc_store_release(cc_slot_stamp_(slot | store:relaxed | spsc_one",
            "src/channel_mpmc.h | (cc_index_)(position + 1)); | store:relaxed | mpmc_one"]


@case(each=WEAKENED)
def a_failure_is_replayed_in_another_process(weakened):
    path, text, mutation, client = weakened.split(" | ")
    lines = (SOURCE / path).read_text().splitlines()
    line = next((i + 1 for i, line in enumerate(lines) if text in line), None)
    need(line, "no such line")
    failed = run(CLIENTS, "--weaken", "%s:%d:%s" % (pathlib.Path(path).name, line, mutation), client, fails=True)
    again = re.search(r"^  again: \S+ (--weaken \S+ --replay \S+)$", failed, re.M)
    need(again, "nothing to replay:\n" + failed)
    need(found(run(CLIENTS, *again[1].split(), fails=True)) == found(failed), "the replay finds something else")


@case
def a_walk_that_failed_is_had_again_by_its_seed():
    lines = (SOURCE / "include/concede/lock.h").read_text().splitlines()
    line = next(i + 1 for i, line in enumerate(lines) if "cc_fetch_add_release(" in line)
    weakened = ["--weaken", "lock.h:%d:fetch:relaxed" % line]
    failed = run(CLIENTS, *weakened, "--walk", "20000", "world_lock", fails=True)
    again = re.search(r"^  again: \S+ (--weaken \S+ --draw \S+ \S+)$", failed, re.M)
    need(again, "nothing to draw again:\n" + failed)
    need(found(run(CLIENTS, *again[1].split(), fails=True)) == found(failed), "the seed finds something else")


main()
