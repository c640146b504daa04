//! The loops of loops/cas.h, lock.h, condition.h and channel.h once more, in Rust, for what Rust has.
//!
//! A call from C into a Rust library cannot be inlined, and these calls take nanoseconds; so the hot loop stands here,
//! of the same shape as the one in C, and is called once a slice. What it shares with C is laid out as in bench.h.
//!
//!   cas      crossbeam_utils::Backoff by spin(), a fresh one for each operation
//!   lock     std::sync::Mutex and parking_lot::Mutex by lock(), released by dropping the guard
//!   condition  std::sync::Condvar and parking_lot::Condvar by wait(), notified before unlocking
//!   channel  crossbeam_channel::bounded and std::sync::mpsc::sync_channel by send() and recv(), which block

#![allow(non_upper_case_globals)] // what C sees

use crossbeam_utils::Backoff;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Relaxed};

#[repr(C)]
pub struct Clock {
    tsc: u32,
}

#[repr(C)]
pub struct Setting {
    threads: u32,
    senders: u32,
    held_ns: u32,
    outside_ns: u32,
    work_ns: u32,
    interval_ns: u32,
    capacity: u32,
    message_size: u32,
    burst: u32,
    channels: u32,
}

const GAPS: u32 = 1024;
const BITS: u32 = 7;
const BUCKETS: usize = ((64 - BITS + 1) << BITS) as usize;

#[repr(C)]
pub struct Histogram {
    count: u64,
    max: u64,
    sum: u64,
    buckets: [u64; BUCKETS],
}

#[repr(C)]
pub struct Thread {
    object: *mut c_void,
    stop: *const AtomicU32,
    index: u32,
    threads: u32,
    senders: u32,
    work: u32,
    held: u32,
    burst: u32,
    gap: u32,
    gaps: *const u32,
    done: *const AtomicU32,
    histogram: *mut Histogram,
    ops: u64,
    retries: u64,
    sum: u64,
}

#[repr(C)]
pub struct Subject {
    family: u32,
    flags: u32,
    name: *const u8,
    uses: *const u8,
    create: extern "C" fn(&Setting) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    loops: [Option<extern "C" fn(*mut Thread)>; 5],
}
unsafe impl Sync for Subject {}

const CAS: u32 = 0;
const LOCK: u32 = 1;
const CONDITION: u32 = 2;
const CHANNEL: u32 = 4;
const SELECT: u32 = 5;
const CAN_SLEEP: u32 = 4;
const ONE_TO_ONE: u32 = 8;

extern "C" {
    static bench_time: Clock;
    static bench_rust_sizes: [usize; 4];
    fn bench_ticks_call() -> u64;
    fn bench_pace(due: *mut u64) -> u64;
    fn bench_offer(due: *mut u64, woke: *mut u64) -> u64;
    fn bench_work_turns(turns: u32);
}

/// Ends the program if C means something else by these names.
fn check_sizes() {
    use std::mem::size_of;
    let sizes = [size_of::<Setting>(), size_of::<Histogram>(), size_of::<Thread>(), size_of::<Subject>()];
    assert_eq!(sizes, unsafe { bench_rust_sizes }, "bench.h and lib.rs differ");
}

#[inline(always)]
fn ticks() -> u64 {
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if bench_time.tsc != 0 {
            return core::arch::x86_64::_rdtsc();
        }
        bench_ticks_call()
    }
}

/// The time when everything before it has ended: bench_ticks_after() of bench.h.
#[inline(always)]
fn ticks_after() -> u64 {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_lfence()
    };
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("isb", options(nostack, preserves_flags))
    };
    ticks()
}

#[inline(always)]
fn work(turns: u32) {
    if turns != 0 {
        unsafe { bench_work_turns(turns) }
    }
}

impl Thread {
    #[inline(always)]
    fn stopped(&self) -> bool {
        unsafe { (*self.stop).load(Relaxed) != 0 }
    }

    #[inline(always)]
    fn next_gap(&self, i: u32) -> u32 {
        unsafe { *self.gaps.add((self.gap.wrapping_add(i) % GAPS) as usize) }
    }

    #[inline(always)]
    fn record(&mut self, value: u64) {
        let bits = 64 - (value | 1).leading_zeros();
        let shift = if bits > BITS + 1 { bits - BITS - 1 } else { 0 };
        let index = ((shift << BITS) as u64 + (value >> shift)) as usize;
        unsafe {
            let h = &mut *self.histogram;
            *h.buckets.get_unchecked_mut(index) += 1;
            h.count += 1;
            h.sum += value;
            if value > h.max {
                h.max = value;
            }
        }
    }
}

#[repr(align(4096))]
struct Aligned<T>(T);

unsafe extern "C" fn destroy<T>(object: *mut c_void) {
    drop(Box::from_raw(object as *mut T))
}

// ---- cas -----------------------------------------------------------------------------------------------------------

extern "C" fn backoff_create(_: &Setting) -> *mut c_void {
    check_sizes();
    Box::into_raw(Box::new(Aligned(AtomicU64::new(1)))) as *mut c_void
}

extern "C" fn backoff_rate(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let word = unsafe { &(*(t.object as *const Aligned<AtomicU64>)).0 };
    let (mut ops, mut retries) = (0, 0);
    while !t.stopped() {
        let backoff = Backoff::new();
        loop {
            let old = word.load(Relaxed);
            if word.compare_exchange_weak(old, old.wrapping_mul(3), Relaxed, Relaxed).is_ok() {
                break;
            }
            retries += 1;
            backoff.spin();
        }
        ops += 1;
    }
    t.ops = ops;
    t.retries = retries;
}

#[no_mangle]
pub static rust_backoff: Subject = Subject {
    family: CAS,
    flags: 0,
    name: "crossbeam Backoff\0".as_ptr(),
    uses: "Backoff::new() for each operation, spin(); the loop is in Rust\0".as_ptr(),
    create: backoff_create,
    destroy: destroy::<Aligned<AtomicU64>>,
    loops: [Some(backoff_rate), None, None, None, None],
};

// ---- lock ----------------------------------------------------------------------------------------------------------

/// What the lock protects: the counter, and for the hand-off when and by which thread, counted from 1, it was released.
#[derive(Default)]
struct Protected {
    counter: u64,
    released_at: u64,
    released_by: u32,
}

trait Lock {
    fn new() -> Self;
    fn with<R>(&self, section: impl FnOnce(&mut Protected) -> R) -> R;
}

impl Lock for std::sync::Mutex<Protected> {
    fn new() -> Self {
        std::sync::Mutex::new(Protected::default())
    }
    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce(&mut Protected) -> R) -> R {
        section(&mut self.lock().unwrap())
    }
}

impl Lock for parking_lot::Mutex<Protected> {
    fn new() -> Self {
        parking_lot::Mutex::new(Protected::default())
    }
    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce(&mut Protected) -> R) -> R {
        section(&mut self.lock())
    }
}

extern "C" fn lock_rate<L: Lock>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let lock = unsafe { &(*(t.object as *const Aligned<L>)).0 };
    let turns = t.work;
    let mut ops = 0;
    while !t.stopped() {
        lock.with(|p| p.counter += 1);
        ops += 1;
        work(turns);
    }
    t.ops = ops;
}

extern "C" fn lock_latency<L: Lock>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let lock = unsafe { &(*(t.object as *const Aligned<L>)).0 };
    let held = t.held;
    let (mut ops, mut gap) = (0, 0);
    while !t.stopped() {
        let before = ticks();
        let after = lock.with(|p| {
            let now = ticks_after();
            p.counter += 1;
            work(held);
            now
        });
        ops += 1;
        t.record(after - before);
        work(t.next_gap(gap));
        gap = gap.wrapping_add(1);
    }
    t.ops = ops;
}

extern "C" fn lock_handoff<L: Lock>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let lock = unsafe { &(*(t.object as *const Aligned<L>)).0 };
    let (held, me) = (t.held, t.index + 1);
    let (mut ops, mut gap) = (0, 0);
    while !t.stopped() {
        let before = ticks();
        let took = lock.with(|p| {
            let after = ticks_after();
            let handed_over = p.released_by != me && before < p.released_at;
            let took = after.saturating_sub(p.released_at);
            p.counter += 1;
            work(held);
            p.released_by = me;
            p.released_at = ticks();
            if handed_over { Some(took) } else { None }
        });
        ops += 1;
        if let Some(took) = took {
            t.record(took);
        }
        work(t.next_gap(gap));
        gap = gap.wrapping_add(1);
    }
    t.ops = ops;
}

extern "C" fn lock_create<L: Lock>(_: &Setting) -> *mut c_void {
    check_sizes();
    Box::into_raw(Box::new(Aligned(L::new()))) as *mut c_void
}

const fn lock<L: Lock>(name: &'static str) -> Subject {
    Subject {
        family: LOCK,
        flags: CAN_SLEEP,
        name: name.as_ptr(),
        uses: "lock(), dropping the guard; the loop is in Rust\0".as_ptr(),
        create: lock_create::<L>,
        destroy: destroy::<Aligned<L>>,
        loops: [Some(lock_rate::<L>), Some(lock_latency::<L>), Some(lock_handoff::<L>), None, None],
    }
}
#[no_mangle]
pub static rust_std_lock: Subject = lock::<std::sync::Mutex<Protected>>("Rust std Mutex\0");
#[no_mangle]
pub static rust_parking_lot: Subject = lock::<parking_lot::Mutex<Protected>>("parking_lot Mutex\0");

// ---- condition -----------------------------------------------------------------------------------------------------

#[derive(Default)]
struct State {
    round: u32,
    answers: u32,
    over: bool,
    capacity: usize,
    buffer: std::collections::VecDeque<u64>,
}

const BEGINS: usize = 0; // who waits on which condition: those who begin or send, and the others
const ANSWERS: usize = 1;

enum Wake {
    Nobody,
    One(usize),
    All(usize),
}

/// A lock with two conditions.
trait Monitor {
    fn new(state: State) -> Self;
    /// Takes the lock, waits on one of the conditions until it holds, does the section, which returns whom to wake
    /// besides its result, and releases.
    fn when<R>(
        &self,
        which: usize,
        holds: impl Fn(&State) -> bool,
        section: impl FnOnce(&mut State) -> (R, Wake),
    ) -> R;
}

struct StdMonitor(std::sync::Mutex<State>, [std::sync::Condvar; 2]);
impl Monitor for StdMonitor {
    fn new(state: State) -> Self {
        StdMonitor(std::sync::Mutex::new(state), Default::default())
    }
    #[inline(always)]
    fn when<R>(
        &self,
        which: usize,
        holds: impl Fn(&State) -> bool,
        section: impl FnOnce(&mut State) -> (R, Wake),
    ) -> R {
        let mut state = self.0.lock().unwrap();
        while !holds(&state) {
            state = self.1[which].wait(state).unwrap();
        }
        let (result, wake) = section(&mut state);
        match wake {
            Wake::Nobody => {}
            Wake::One(other) => self.1[other].notify_one(),
            Wake::All(other) => self.1[other].notify_all(),
        }
        result
    }
}

struct ParkingLotMonitor(parking_lot::Mutex<State>, [parking_lot::Condvar; 2]);
impl Monitor for ParkingLotMonitor {
    fn new(state: State) -> Self {
        ParkingLotMonitor(parking_lot::Mutex::new(state), Default::default())
    }
    #[inline(always)]
    fn when<R>(
        &self,
        which: usize,
        holds: impl Fn(&State) -> bool,
        section: impl FnOnce(&mut State) -> (R, Wake),
    ) -> R {
        let mut state = self.0.lock();
        while !holds(&state) {
            self.1[which].wait(&mut state);
        }
        let (result, wake) = section(&mut state);
        match wake {
            Wake::Nobody => {}
            Wake::One(other) => drop(self.1[other].notify_one()),
            Wake::All(other) => drop(self.1[other].notify_all()),
        }
        result
    }
}

extern "C" fn condition_rounds<M: Monitor>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let monitor = unsafe { &(*(t.object as *const Aligned<M>)).0 };
    let others = t.threads - 1;
    let mut over = false;
    if t.index == 0 {
        let mut ops = 0;
        let mut before = ticks();
        while !over {
            over = t.stopped();
            monitor.when(
                BEGINS,
                |_| true,
                |s| {
                    s.round = s.round.wrapping_add(1);
                    s.answers = 0;
                    s.over = over;
                    ((), if others == 1 { Wake::One(ANSWERS) } else { Wake::All(ANSWERS) })
                },
            );
            monitor.when(BEGINS, |s| s.answers == others, |_| ((), Wake::Nobody));
            let after = ticks();
            t.record(after - before);
            before = after;
            ops += 1;
        }
        t.ops = ops;
    } else {
        let mut round = 0u32;
        while !over {
            round = round.wrapping_add(1);
            over = monitor.when(
                ANSWERS,
                |s| s.round == round,
                |s| {
                    s.answers += 1;
                    (s.over, if s.answers == others { Wake::One(BEGINS) } else { Wake::Nobody })
                },
            );
        }
    }
}

extern "C" fn condition_buffer<M: Monitor>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let monitor = unsafe { &(*(t.object as *const Aligned<M>)).0 };
    let send = |value| {
        monitor.when(
            BEGINS,
            |s| s.buffer.len() < s.capacity,
            |s| {
                s.buffer.push_back(value);
                ((), Wake::One(ANSWERS))
            },
        )
    };
    let receive = || {
        monitor.when(ANSWERS, |s| !s.buffer.is_empty(), |s| (s.buffer.pop_front().unwrap(), Wake::One(BEGINS)))
    };
    let (mut ops, mut sum) = (0u64, 0u64);
    if t.index < t.senders {
        while !t.stopped() {
            ops += 1;
            sum = sum.wrapping_add(ops);
            send(ops);
        }
        if unsafe { (*t.done).fetch_add(1, AcqRel) } + 1 == t.senders {
            for _ in t.senders..t.threads {
                send(0);
            }
        }
        t.retries = ops; // sent; ops is what was received
    } else {
        let turns = t.work;
        loop {
            let value = receive();
            if value == 0 {
                break;
            }
            sum = sum.wrapping_add(value);
            ops += 1;
            work(turns);
        }
        t.ops = ops;
    }
    t.sum = sum;
}

extern "C" fn condition_create<M: Monitor>(s: &Setting) -> *mut c_void {
    check_sizes();
    let capacity = s.capacity as usize;
    let state =
        State { capacity, buffer: std::collections::VecDeque::with_capacity(capacity), ..Default::default() };
    Box::into_raw(Box::new(Aligned(M::new(state)))) as *mut c_void
}

const fn condition<M: Monitor>(name: &'static str) -> Subject {
    Subject {
        family: CONDITION,
        flags: CAN_SLEEP,
        name: name.as_ptr(),
        uses: "wait(); notify_one(), notify_all() before unlocking; the loop is in Rust\0".as_ptr(),
        create: condition_create::<M>,
        destroy: destroy::<Aligned<M>>,
        loops: [Some(condition_rounds::<M>), Some(condition_buffer::<M>), None, None, None],
    }
}
#[no_mangle]
pub static rust_std_condition: Subject = condition::<StdMonitor>("Rust std Condvar\0");
#[no_mangle]
pub static rust_parking_lot_condition: Subject = condition::<ParkingLotMonitor>("parking_lot Condvar\0");

// ---- channel -------------------------------------------------------------------------------------------------------

/// A value and N more words.
#[derive(Clone, Copy)]
#[repr(C)]
struct Message<const N: usize> {
    value: u64,
    rest: [u64; N],
}

trait Channel<T> {
    fn new(capacity: usize) -> Self;
    fn send(&self, message: T);
    fn receive(&self) -> T;
}

struct Crossbeam<T>(crossbeam_channel::Sender<T>, crossbeam_channel::Receiver<T>);
impl<T> Channel<T> for Crossbeam<T> {
    fn new(capacity: usize) -> Self {
        let (sender, receiver) = crossbeam_channel::bounded(capacity);
        Crossbeam(sender, receiver)
    }
    #[inline(always)]
    fn send(&self, message: T) {
        let _ = self.0.send(message);
    }
    #[inline(always)]
    fn receive(&self) -> T {
        self.1.recv().unwrap()
    }
}

struct Std<T>(std::sync::mpsc::SyncSender<T>, std::sync::mpsc::Receiver<T>);
impl<T> Channel<T> for Std<T> {
    fn new(capacity: usize) -> Self {
        let (sender, receiver) = std::sync::mpsc::sync_channel(capacity);
        Std(sender, receiver)
    }
    #[inline(always)]
    fn send(&self, message: T) {
        let _ = self.0.send(message);
    }
    #[inline(always)]
    fn receive(&self) -> T {
        self.1.recv().unwrap()
    }
}

struct Pair<C> {
    there: Aligned<C>,
    back: Aligned<C>,
}

extern "C" fn pingpong<C: Channel<Message<N>>, const N: usize>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let pair = unsafe { &*(t.object as *const Pair<C>) };
    let mut message = Message { value: 0, rest: [0; N] };
    if t.index == 0 {
        let mut ops = 0;
        let mut before = ticks();
        loop {
            message.value = if t.stopped() { 0 } else { ops + 1 };
            pair.there.0.send(message);
            message = pair.back.0.receive();
            let after = ticks();
            t.record(after - before);
            before = after;
            ops += 1;
            if message.value == 0 {
                break;
            }
        }
        t.ops = ops;
    } else {
        loop {
            message = pair.there.0.receive();
            pair.back.0.send(message);
            if message.value == 0 {
                break;
            }
        }
    }
}

/// The last sender sends a last message to each receiver.
fn finish<C: Channel<Message<N>>, const N: usize>(t: &mut Thread, channel: &C, ops: u64) {
    if unsafe { (*t.done).fetch_add(1, AcqRel) } + 1 == t.senders {
        for _ in t.senders..t.threads {
            channel.send(Message { value: 0, rest: [0; N] });
        }
    }
    t.retries = ops; // sent; ops is what was received
}

extern "C" fn stream<C: Channel<Message<N>>, const N: usize>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let channel = unsafe { &(*(t.object as *const Pair<C>)).there.0 };
    let mut message = Message { value: 0, rest: [0; N] };
    let (mut ops, mut sum) = (0u64, 0u64);
    if t.index < t.senders {
        while !t.stopped() {
            ops += 1;
            sum = sum.wrapping_add(ops);
            message.value = ops;
            channel.send(message);
        }
        finish(t, channel, ops);
    } else {
        loop {
            message = channel.receive();
            if message.value == 0 {
                break;
            }
            sum = sum.wrapping_add(message.value);
            ops += 1;
        }
        t.ops = ops;
    }
    t.sum = sum;
}

extern "C" fn paced<C: Channel<Message<N>>, const N: usize>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let channel = unsafe { &(*(t.object as *const Pair<C>)).there.0 };
    let mut message = Message { value: 0, rest: [0; N] };
    if t.index == 0 {
        let mut due = ticks();
        let mut gap = 0u32;
        loop {
            due += t.next_gap(gap) as u64;
            gap = gap.wrapping_add(1);
            unsafe { bench_pace(&mut due) };
            message.value = if t.stopped() { 0 } else { ticks() };
            channel.send(message);
            if message.value == 0 {
                break;
            }
        }
    } else {
        let mut ops = 0;
        loop {
            message = channel.receive();
            if message.value == 0 {
                break;
            }
            let now = ticks();
            t.record(now.saturating_sub(message.value));
            ops += 1;
        }
        t.ops = ops;
    }
}

extern "C" fn offered<C: Channel<Message<N>>, const N: usize>(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let channel = unsafe { &(*(t.object as *const Pair<C>)).there.0 };
    let mut message = Message { value: 0, rest: [0; N] };
    let (mut ops, mut sum) = (0u64, 0u64);
    if t.index < t.senders {
        let (mut due, mut woke) = (ticks(), 0u64);
        let mut gap = 0u32;
        while !t.stopped() {
            let next = t.next_gap(gap);
            gap = gap.wrapping_add(1);
            due += next as u64;
            message.value = if next != 0 { unsafe { bench_offer(&mut due, &mut woke) } } else { ticks() };
            for _ in 0..t.burst {
                sum = sum.wrapping_add(message.value);
                ops += 1;
                channel.send(message);
            }
        }
        finish(t, channel, ops);
    } else {
        let turns = t.work;
        loop {
            message = channel.receive();
            if message.value == 0 {
                break;
            }
            t.record(ticks().saturating_sub(message.value));
            sum = sum.wrapping_add(message.value);
            ops += 1;
            work(turns);
        }
        t.ops = ops;
    }
    t.sum = sum;
}

extern "C" fn channel_create<C: Channel<Message<N>>, const N: usize>(s: &Setting) -> *mut c_void {
    check_sizes();
    if s.message_size as usize != std::mem::size_of::<Message<N>>() {
        return std::ptr::null_mut();
    }
    let new = || Aligned(C::new(s.capacity as usize));
    Box::into_raw(Box::new(Pair { there: new(), back: new() })) as *mut c_void
}

const fn channel<C: Channel<Message<N>>, const N: usize>(
    flags: u32,
    name: &'static str,
    uses: &'static str,
) -> Subject {
    Subject {
        family: CHANNEL,
        flags: CAN_SLEEP | flags,
        name: name.as_ptr(),
        uses: uses.as_ptr(),
        create: channel_create::<C, N>,
        destroy: destroy::<Pair<C>>,
        loops: [Some(pingpong::<C, N>), Some(stream::<C, N>), None, Some(paced::<C, N>), Some(offered::<C, N>)],
    }
}

const fn crossbeam<const N: usize>() -> Subject {
    let uses = "send() and recv() of bounded(); the loop is in Rust\0";
    channel::<Crossbeam<Message<N>>, N>(0, "crossbeam bounded\0", uses)
}
#[no_mangle]
pub static rust_crossbeam_8: Subject = crossbeam::<0>();
#[no_mangle]
pub static rust_crossbeam_64: Subject = crossbeam::<7>();
#[no_mangle]
pub static rust_crossbeam_256: Subject = crossbeam::<31>();

const fn sync_channel<const N: usize>() -> Subject {
    channel::<Std<Message<N>>, N>(ONE_TO_ONE, "Rust sync_channel\0", "send() and recv(); the loop is in Rust\0")
}
#[no_mangle]
pub static rust_std_8: Subject = sync_channel::<0>();
#[no_mangle]
pub static rust_std_64: Subject = sync_channel::<7>();
#[no_mangle]
pub static rust_std_256: Subject = sync_channel::<31>();

// ---- select --------------------------------------------------------------------------------------------------------

struct Channels {
    senders: Vec<crossbeam_channel::Sender<u64>>,
    receivers: Vec<crossbeam_channel::Receiver<u64>>,
    capacity: u32,
}

impl Channels {
    fn select(&self) -> crossbeam_channel::Select {
        let mut select = crossbeam_channel::Select::new();
        for receiver in &self.receivers {
            select.recv(receiver);
        }
        select
    }

    #[inline(always)]
    fn receive(&self, select: &mut crossbeam_channel::Select) -> u64 {
        let operation = select.select();
        let index = operation.index();
        operation.recv(&self.receivers[index]).unwrap()
    }

    #[inline(always)]
    fn send(&self, i: usize, value: u64) {
        let _ = self.senders[i].send(value);
    }
}

extern "C" fn select_ready(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let channels = unsafe { &*(t.object as *const Channels) };
    let n = channels.senders.len();
    let count = n * std::cmp::min(channels.capacity, 64) as usize;
    let mut select = channels.select();
    let (mut ops, mut sum) = (0, 0u64);
    while !t.stopped() {
        for i in 0..count {
            channels.send(i % n, i as u64 + 1);
        }
        let before = ticks();
        for _ in 0..count {
            sum = sum.wrapping_add(channels.receive(&mut select));
        }
        t.record((ticks() - before) / count as u64);
        sum = sum.wrapping_sub((count * (count + 1) / 2) as u64);
        ops += count as u64;
    }
    t.ops = ops;
    t.sum = sum; // 0, if what was received is what was sent
}

extern "C" fn select_asleep(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let channels = unsafe { &*(t.object as *const Channels) };
    if t.index == 0 {
        let mut due = ticks();
        let mut sent = 0u32;
        loop {
            due += t.next_gap(sent) as u64;
            unsafe { bench_pace(&mut due) };
            let value = if t.stopped() { 0 } else { ticks() };
            channels.send(sent as usize % channels.senders.len(), value);
            sent = sent.wrapping_add(1);
            if value == 0 {
                break;
            }
        }
    } else {
        let mut select = channels.select();
        let mut ops = 0;
        loop {
            let value = channels.receive(&mut select);
            if value == 0 {
                break;
            }
            t.record(ticks().saturating_sub(value));
            ops += 1;
        }
        t.ops = ops;
    }
}

extern "C" fn select_stream(t: *mut Thread) {
    let t = unsafe { &mut *t };
    let channels = unsafe { &*(t.object as *const Channels) };
    let n = channels.senders.len();
    let (mut ops, mut sum) = (0u64, 0u64);
    if t.index == 0 {
        let mut value = 0u64;
        while !t.stopped() {
            value += 1;
            sum = sum.wrapping_add(value);
            channels.send(value as usize % n, value);
        }
        for i in 0..n {
            channels.send(i, 0);
        }
    } else {
        let mut select = channels.select();
        let mut ended = 0;
        while ended < n {
            let value = channels.receive(&mut select);
            if value == 0 {
                ended += 1;
            } else {
                ops += 1;
            }
            sum = sum.wrapping_add(value);
        }
        t.ops = ops;
    }
    t.sum = sum;
}

extern "C" fn select_create(s: &Setting) -> *mut c_void {
    check_sizes();
    let (senders, receivers) = (0..s.channels).map(|_| crossbeam_channel::bounded(s.capacity as usize)).unzip();
    Box::into_raw(Box::new(Channels { senders, receivers, capacity: s.capacity })) as *mut c_void
}

#[no_mangle]
pub static rust_crossbeam_select: Subject = Subject {
    family: SELECT,
    flags: CAN_SLEEP,
    name: "crossbeam Select\0".as_ptr(),
    uses: "Select, built once by the receiving thread, select(), recv() of bounded(); the loop is in Rust\0".as_ptr(),
    create: select_create,
    destroy: destroy::<Channels>,
    loops: [Some(select_ready), Some(select_asleep), Some(select_stream), None, None],
};
