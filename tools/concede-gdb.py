"""What gdb shows of concede: locks, events, parkers and channels as a person would say it, and `concede waiters`.

gdb loads it with the library if it is installed; else: source concede-gdb.py. Types come from the debug information of
the program; the library itself needs none, but says more with it. See concede_debug(7).
"""
import gdb
import gdb.printing
import gdb.types

# Bits of the words that the headers say as macros, which debug information leaves out; a test compares the two.
EVENT = {"CC_EVENT_LISTENING_": 0x00001fff, "CC_EVENT_CLAIM_": 0x00010000, "CC_EVENT_CLAIMS_": 0x1fff0000,
         "CC_EVENT_LOOKOUT_": 0x40000000}
# A thread asleep in the kernel: which call it is in, and the word that it sleeps on, by the machine's registers.
FUTEX = {"i386:x86-64": ("orig_rax", 202, "rdi"), "aarch64": ("x8", 98, "x0")}
# The functions in which a thread waits, which parameter says for what, and what that is.
WAITS = {"cc_lock_acquire_slow_": ("lock", "lock"), "cc_lock_acquire_spin_slow_": ("lock", "lock"),
         "cc_event_wait_slow_": ("event", "event"), "cc_event_await_slow_": ("await", "event"),
         "cc_parker_park_slow_": ("parker", "parker")}
PUBLIC = {"cc_lock_acquire_slow_": "cc_lock_acquire", "cc_lock_acquire_spin_slow_": "cc_lock_acquire_spin",
          "cc_event_wait_slow_": "cc_event_wait", "cc_event_await_slow_": "CC_EVENT_AWAIT",
          "cc_parker_park_slow_": "cc_parker_park"}


def constant(name, otherwise):
    """An enumerator of the headers or of a source of the library, by the debug information."""
    symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    try:
        return int(symbol.value()) if symbol else int(gdb.parse_and_eval(name))
    except gdb.error:
        return otherwise


# ---- Threads that wait --------------------------------------------------------------------------------------------


class Waiter:
    """A thread that waits: for what object, of which kind, and whether it is asleep."""

    def __init__(self, thread):
        self.thread, self.caller = thread, ""
        self.kind = self.address = self.function = None
        self.asleep_on = futex()
        frame = gdb.newest_frame()
        while frame:
            name = (frame.name() or "").split("[")[0]  # without debug information the cold half of f is "f[cold]"
            if name in WAITS and not self.kind:
                parameter, self.kind = WAITS[name]
                self.function = PUBLIC[name]
                self.address = self.asleep_on or argument(frame, parameter)
            elif self.kind and name.startswith("cc_select"):
                self.function = name.rstrip("_")
            elif self.kind and name and not name.endswith("_") and not name.startswith(("cc_", "pthread_")):
                self.caller = place(frame)
                break
            frame = frame.older()
        channel, function = channel_of(self.address) if self.kind == "event" and self.address else (None, None)
        if channel:
            self.kind, self.address = "channel", channel
            self.function = function if self.function.startswith("CC_EVENT") else self.function


def place(frame):
    line = frame.find_sal()
    where = " at %s:%d" % (line.symtab.filename, line.line) if line.symtab else ""
    return "; called by %s%s" % (frame.name() or "?", where)


def futex():
    """The word that the selected thread sleeps on in the kernel; None: it does not, or this machine is not known."""
    frame = gdb.newest_frame()
    known = FUTEX.get(frame.architecture().name())
    try:
        if known and int(frame.read_register(known[0])) == known[1]:
            return int(frame.read_register(known[2])) & (1 << 64) - 1
    except (ValueError, gdb.error):
        pass
    return None


def argument(frame, name):
    """The address that an argument of a frame is; None where the compiler or the stripper left no trace of it."""
    for form in name, name + "@entry":
        try:
            value = frame.read_var(form)
            if not value.is_optimized_out:
                return int(value["event"]) if name == "await" else int(value)
        except (ValueError, gdb.error):
            pass
    return None


def at(address, kind):
    return gdb.Value(address).cast(gdb.lookup_type("struct cc_" + kind).pointer()).dereference()


def channel_of(event):
    """The channel that an event is within, by its looks, and the call that waits for that event; or nothing."""
    for field, function in ("not_full", "cc_channel_send"), ("not_empty", "cc_channel_recv"):
        try:
            kind = gdb.lookup_type("struct cc_channel")
            address = event - next(f.bitpos // 8 for f in kind.fields() if f.name == field)
            channel = at(address, "channel")
            size, mask = int(channel["layout"]["message_size"]), int(channel["mask"])
            if size and int(channel["shape"]) & (1 << 62) - 1 == size and mask & mask + 1 == 0 and address % 64 == 0:
                return address, function
        except gdb.error:
            pass
    return None, None


def waiters():
    """All threads that wait in the library; the selected thread and frame stay as they are."""
    thread, found = gdb.selected_thread(), []
    if not thread:
        return found
    frame = gdb.selected_frame()
    try:
        for other in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            other.switch()
            waiter = Waiter(other)
            if waiter.kind:
                found.append(waiter)
    finally:
        thread.switch()
        frame.select()
    return found


def asleep_on(address):
    return sum(1 for w in waiters() if w.asleep_on == address)


# ---- Objects as words ---------------------------------------------------------------------------------------------


def address_of(value):
    return int(value.address) if value.address is not None else None


def waiting(count, listening, what="asleep"):
    """`listening` threads wait, of which `count` were found asleep."""
    if count:
        return "%d %s" % (count, what)
    return "%d waiting" % listening if listening else None


def joined(*parts):
    return ", ".join(p for p in parts if p)


def say_lock(value):
    word = int(value["word"])
    held = word & constant("CC_LOCK_HELD_", 1)
    owed = word & constant("CC_LOCK_OWED_", 16)
    count = asleep_on(address_of(value))
    return joined("held" if held else "handed over" if owed else "free", "%d asleep" % count if count else None,
                  "1 owed" if owed else None)


def event_counts(event):
    """(asleep, listening, woken but not yet running) of an event."""
    word = int(event["waiters"])
    claimed = (word & EVENT["CC_EVENT_CLAIMS_"]) // EVENT["CC_EVENT_CLAIM_"]
    return asleep_on(address_of(event)), word & EVENT["CC_EVENT_LISTENING_"], claimed


def say_event(value):
    count, listening, claimed = event_counts(value)
    lookout = int(value["waiters"]) & EVENT["CC_EVENT_LOOKOUT_"]
    return joined(waiting(count, listening), "%d woken" % claimed if claimed else None,
                  "1 on the lookout" if lookout else None) or "nobody waits"


def say_parker(value):
    state = int(value["state"])
    if state == constant("CC_PARKER_TOKEN_", 1):
        return "a token"
    return "asleep" if state == constant("CC_PARKER_PARKED_", 2) else "no token"


def side(event, one):
    count, listening, _ = event_counts(event)
    number = count or listening
    if not number:
        return None
    return "%s %s" % (one if number == 1 else "%d %ss" % (number, one), "asleep" if count else "waiting")


def say_channel(value):
    spsc = int(value["shape"]) >> 63
    capacity = int(value["mask"]) + 1
    if spsc:
        tail, head = value["spsc"]["tail"], value["spsc"]["head"]
    else:
        tail, head = value["mpmc"]["tail"]["position"], value["mpmc"]["head"]["position"]
    length = min((int(tail) - int(head)) % (1 << 8 * tail.type.sizeof) >> 1, capacity)
    return joined("SPSC" if spsc else "MPMC", "%d of %d" % (length, capacity),
                  "closed" if int(value["closed"]) else None, side(value["not_full"], "sender"),
                  side(value["not_empty"], "receiver"))


SAY = {"lock": say_lock, "event": say_event, "parker": say_parker, "channel": say_channel}


class Printer:
    def __init__(self, say, value):
        self.say, self.value = say, value

    def to_string(self):
        try:
            return self.say(self.value)
        except gdb.MemoryError:
            return "not readable"


def concede(value):
    kind = gdb.types.get_basic_type(value.type)
    if kind.code == gdb.TYPE_CODE_STRUCT and kind.tag and kind.tag.startswith("cc_") and kind.tag[3:] in SAY:
        return Printer(SAY[kind.tag[3:]], value)
    return None


# ---- Commands -----------------------------------------------------------------------------------------------------


class Concede(gdb.Command):
    """What concede knows of this program: concede waiters."""

    def __init__(self):
        super().__init__("concede", gdb.COMMAND_STATUS, prefix=True)


class Waiters(gdb.Command):
    """The threads that wait in concede: where, for what, and how that stands."""

    def __init__(self):
        super().__init__("concede waiters", gdb.COMMAND_STATUS)

    def invoke(self, arguments, from_tty):
        found = waiters()
        for w in found:
            print("Thread %d (%s) %s in %s: %s%s" % (w.thread.num, w.thread.ptid[1] or w.thread.ptid[2],
                                                     "sleeps" if w.asleep_on else "looks", w.function,
                                                     self.object(w), w.caller))
        if not found:
            print("No thread waits in concede.")

    def object(self, w):
        if w.address is None:
            return w.kind
        symbol = gdb.execute("info symbol %d" % w.address, to_string=True).split(" in section")[0].strip()
        text = "%s 0x%x" % (w.kind, w.address)
        if symbol and not symbol.startswith("No symbol"):
            text += " <%s>" % symbol.replace(" ", "")
        try:
            return "%s, %s" % (text, SAY[w.kind](at(w.address, w.kind)))
        except gdb.error:
            return text


gdb.printing.register_pretty_printer(None, concede, replace=True)
Concede()
Waiters()
