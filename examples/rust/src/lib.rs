//! concede for Rust: each layer of the C library as a safe type, over `extern "C"` and nothing else.
//!
//! | here | C |
//! |---|---|
//! | [`pause`], [`costs`], [`now`] | cc_pause(3), cc_costs(3), cc_deadline(3) |
//! | [`Backoff`] | cc_backoff(3) |
//! | [`Parker`] | cc_parker(3) |
//! | [`Event`] | cc_event(3) |
//! | [`Lock`] | cc_lock(3) |
//! | [`Channel`] | cc_channel(3) |
//! | [`receive_from_one`] | cc_select(3) |
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::abort;
use std::time::Duration;

/// The C names. Layouts are those that the headers assert: numbers of 32 bits, in this order, on every machine.
pub mod c {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Backoff {
        pub words: [u32; 5],
    }
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Costs {
        pub pause_ps: u32,
        pub yield_ns: u32,
        pub wake_ns: u32,
        pub cpus: u32,
    }
    #[repr(C)]
    pub struct ChannelOptions {
        pub capacity: usize,
        pub message_size: usize,
        pub kind: u32,
        pub snooze_iters: u32,
    }

    #[repr(C)]
    pub struct SelectCase {
        pub channel: *mut c_void,
        pub message: *mut c_void,
        pub operation: u32,
        pub result: c_int,
        pub of_the_library: [*mut c_void; 3],
    }

    extern "C" {
        pub fn cc_pause();
        pub fn cc_costs() -> *const Costs;
        pub fn cc_now_ns() -> u64;
        pub fn cc_deadline_in(ns: u64) -> u64;

        pub fn cc_backoff_init(backoff: *mut Backoff, min: u32, max: u32);
        pub fn cc_backoff_init_options(backoff: *mut Backoff, options: *const c_void);
        pub fn cc_backoff_spin(backoff: *mut Backoff);
        pub fn cc_backoff_snooze(backoff: *mut Backoff);
        pub fn cc_backoff_ease(backoff: *mut Backoff);
        pub fn cc_backoff_reset(backoff: *mut Backoff);
        pub fn cc_backoff_is_completed(backoff: *const Backoff) -> bool;
        pub fn cc_backoff_step(backoff: *const Backoff) -> u32;

        pub fn cc_parker_park(parker: *mut u32);
        pub fn cc_parker_try_park(parker: *mut u32) -> bool;
        pub fn cc_parker_park_timeout(parker: *mut u32, ns: u64) -> bool;
        pub fn cc_parker_unpark(parker: *mut u32);

        pub fn cc_event_await(
            event: *mut c_void,
            condition: unsafe extern "C" fn(*mut c_void) -> bool,
            argument: *mut c_void,
            deadline: u64,
        ) -> bool;
        pub fn cc_event_notify_one(event: *mut c_void);
        pub fn cc_event_notify_all(event: *mut c_void);

        pub fn cc_lock_acquire(lock: *mut u32);
        pub fn cc_lock_try_acquire(lock: *mut u32) -> bool;
        pub fn cc_lock_acquire_timeout(lock: *mut u32, ns: u64) -> bool;
        pub fn cc_lock_release(lock: *mut u32);
        pub fn cc_lock_wait_until(lock: *mut u32, event: *mut c_void, deadline: u64) -> bool;

        pub fn cc_channel_create(channel: *mut *mut c_void, options: *const ChannelOptions) -> c_int;
        pub fn cc_channel_destroy(channel: *mut c_void);
        pub fn cc_channel_send(channel: *mut c_void, message: *const c_void) -> c_int;
        pub fn cc_channel_try_send(channel: *mut c_void, message: *const c_void) -> c_int;
        pub fn cc_channel_send_timeout(channel: *mut c_void, message: *const c_void, ns: u64) -> c_int;
        pub fn cc_channel_recv(channel: *mut c_void, message: *mut c_void) -> c_int;
        pub fn cc_channel_try_recv(channel: *mut c_void, message: *mut c_void) -> c_int;
        pub fn cc_channel_recv_timeout(channel: *mut c_void, message: *mut c_void, ns: u64) -> c_int;
        pub fn cc_channel_close(channel: *mut c_void);
        pub fn cc_channel_len(channel: *const c_void) -> usize;
        pub fn cc_channel_capacity(channel: *const c_void) -> usize;

        pub fn cc_select_until(cases: *mut SelectCase, n: usize, order: u32, which: *mut usize, deadline: u64)
            -> c_int;
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// One spin-wait hint.
pub fn pause() {
    unsafe { c::cc_pause() }
}

/// What waiting costs here.
pub fn costs() -> c::Costs {
    unsafe { *c::cc_costs() }
}

/// Nanoseconds on the monotonic clock.
pub fn now() -> u64 {
    unsafe { c::cc_now_ns() }
}

/// How long to wait before trying again; one for each thread.
pub struct Backoff(c::Backoff);

impl Backoff {
    /// For a retry: pauses from `min`, doubling up to `max`.
    pub fn new(min: u32, max: u32) -> Self {
        let mut backoff = c::Backoff { words: [0; 5] };
        unsafe { c::cc_backoff_init(&mut backoff, min, max) };
        Backoff(backoff)
    }
    /// For a wait: spins, yields, then is completed.
    pub fn for_a_wait() -> Self {
        let mut backoff = c::Backoff { words: [0; 5] };
        unsafe { c::cc_backoff_init_options(&mut backoff, std::ptr::null()) };
        Backoff(backoff)
    }
    pub fn spin(&mut self) {
        unsafe { c::cc_backoff_spin(&mut self.0) }
    }
    pub fn snooze(&mut self) {
        unsafe { c::cc_backoff_snooze(&mut self.0) }
    }
    pub fn ease(&mut self) {
        unsafe { c::cc_backoff_ease(&mut self.0) }
    }
    pub fn reset(&mut self) {
        unsafe { c::cc_backoff_reset(&mut self.0) }
    }
    pub fn is_completed(&self) -> bool {
        unsafe { c::cc_backoff_is_completed(&self.0) }
    }
    pub fn step(&self) -> u32 {
        unsafe { c::cc_backoff_step(&self.0) }
    }
}

/// One token, one waiting thread.
#[derive(Default)]
pub struct Parker(UnsafeCell<u32>);

unsafe impl Send for Parker {}
unsafe impl Sync for Parker {}

impl Parker {
    pub const fn new() -> Self {
        Parker(UnsafeCell::new(0))
    }
    /// One thread at a time.
    pub fn park(&self) {
        unsafe { c::cc_parker_park(self.0.get()) }
    }
    pub fn try_park(&self) -> bool {
        unsafe { c::cc_parker_try_park(self.0.get()) }
    }
    pub fn park_timeout(&self, duration: Duration) -> bool {
        unsafe { c::cc_parker_park_timeout(self.0.get(), nanoseconds(duration)) }
    }
    pub fn unpark(&self) {
        unsafe { c::cc_parker_unpark(self.0.get()) }
    }
}

/// Waits for any condition. All zero is valid; the room is for what a later version of the C type may add.
#[derive(Default)]
pub struct Event(UnsafeCell<[u32; 16]>);

unsafe impl Send for Event {}
unsafe impl Sync for Event {}

impl Event {
    pub const fn new() -> Self {
        Event(UnsafeCell::new([0; 16]))
    }
    fn raw(&self) -> *mut c_void {
        self.0.get().cast()
    }
    /// Waits until the condition holds: spins for as long as it has learned to, then sleeps until notified. A condition
    /// that panics ends the program: C cannot be unwound.
    pub fn wait_for(&self, condition: impl FnMut() -> bool) {
        self.wait_until(condition, u64::MAX);
    }
    /// The same for at most so long; whether it holds.
    pub fn wait_timeout(&self, condition: impl FnMut() -> bool, duration: Duration) -> bool {
        self.wait_until(condition, unsafe { c::cc_deadline_in(nanoseconds(duration)) })
    }
    fn wait_until<F: FnMut() -> bool>(&self, mut condition: F, deadline: u64) -> bool {
        unsafe extern "C" fn call<F: FnMut() -> bool>(condition: *mut c_void) -> bool {
            let condition = &mut *condition.cast::<F>();
            catch_unwind(AssertUnwindSafe(condition)).unwrap_or_else(|_| abort())
        }
        unsafe { c::cc_event_await(self.raw(), call::<F>, (&mut condition as *mut F).cast(), deadline) }
    }
    /// After the write that may have made the condition hold.
    pub fn notify_one(&self) {
        unsafe { c::cc_event_notify_one(self.raw()) }
    }
    pub fn notify_all(&self) {
        unsafe { c::cc_event_notify_all(self.raw()) }
    }
}

/// A value behind a lock of four bytes.
#[derive(Default)]
pub struct Lock<T> {
    word: UnsafeCell<u32>,
    value: UnsafeCell<T>,
}

unsafe impl<T: Send> Send for Lock<T> {}
unsafe impl<T: Send> Sync for Lock<T> {}

/// Releases the lock when it goes out of scope.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    stays_in_its_thread: PhantomData<*mut T>,
}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Lock { word: UnsafeCell::new(0), value: UnsafeCell::new(value) }
    }
    fn guard(&self) -> Guard<'_, T> {
        Guard { lock: self, stays_in_its_thread: PhantomData }
    }
    pub fn lock(&self) -> Guard<'_, T> {
        unsafe { c::cc_lock_acquire(self.word.get()) };
        self.guard()
    }
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        unsafe { c::cc_lock_try_acquire(self.word.get()) }.then(|| self.guard())
    }
    pub fn lock_timeout(&self, duration: Duration) -> Option<Guard<'_, T>> {
        unsafe { c::cc_lock_acquire_timeout(self.word.get(), nanoseconds(duration)) }.then(|| self.guard())
    }
}

impl<T> Guard<'_, T> {
    /// Waits until the condition holds. The lock is held at every look at it and afterwards. Whoever changes the value
    /// notifies the event, under the lock or after it.
    pub fn wait_for(&mut self, event: &Event, condition: impl FnMut(&mut T) -> bool) {
        self.wait_until(event, condition, u64::MAX);
    }
    /// The same for at most so long; whether it holds.
    pub fn wait_timeout(&mut self, event: &Event, condition: impl FnMut(&mut T) -> bool, duration: Duration) -> bool {
        self.wait_until(event, condition, unsafe { c::cc_deadline_in(nanoseconds(duration)) })
    }
    fn wait_until(&mut self, event: &Event, mut condition: impl FnMut(&mut T) -> bool, deadline: u64) -> bool {
        while !condition(self) {
            if !unsafe { c::cc_lock_wait_until(self.lock.word.get(), event.raw(), deadline) } {
                return condition(self);
            }
        }
        true
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        unsafe { c::cc_lock_release(self.lock.word.get()) }
    }
}

/// Why a message did not go through; a send gives the message back.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Refused {
    /// Full, or empty: for now.
    NotNow,
    /// The time is up.
    TimedOut,
    /// Closed, and to receive: drained.
    Closed,
}

/// A message with a byte behind it, so that one of no bytes has something to send.
#[repr(C)]
struct Padded<T>(T, u8);

/// A bounded queue between any number of threads. A message is moved in and out as its bytes, which is what a move is
/// in Rust; so it is for every type that may go to another thread.
pub struct Channel<T> {
    raw: *mut c_void,
    messages: PhantomData<T>,
}

unsafe impl<T: Send> Send for Channel<T> {}
unsafe impl<T: Send> Sync for Channel<T> {}

impl<T> Channel<T> {
    /// None: a capacity of 0, or no memory.
    pub fn new(capacity: usize) -> Option<Self> {
        // A message of no bytes still takes one.
        let options = c::ChannelOptions {
            capacity,
            message_size: std::mem::size_of::<T>().max(1),
            kind: 0,
            snooze_iters: 0,
        };
        let mut raw = std::ptr::null_mut();
        let result = unsafe { c::cc_channel_create(&mut raw, &options) };
        (result == 0).then_some(Channel { raw, messages: PhantomData })
    }
    fn refused(result: c_int) -> Refused {
        // The numbers of the system's errno.h; what is neither of the two is ETIMEDOUT.
        match result {
            32 => Refused::Closed,
            11 | 35 => Refused::NotNow,
            _ => Refused::TimedOut,
        }
    }
    fn sending(message: T, send: impl FnOnce(*const c_void) -> c_int) -> Result<(), (Refused, T)> {
        let padded = MaybeUninit::new(Padded(message, 0));
        match send(padded.as_ptr().cast()) {
            0 => Ok(()), // the receiver has it now
            result => Err((Self::refused(result), unsafe { padded.assume_init() }.0)),
        }
    }
    fn receiving(recv: impl FnOnce(*mut c_void) -> c_int) -> Result<T, Refused> {
        let mut padded = MaybeUninit::<Padded<T>>::uninit();
        match recv(padded.as_mut_ptr().cast()) {
            0 => Ok(unsafe { std::ptr::addr_of!((*padded.as_ptr()).0).read() }),
            result => Err(Self::refused(result)),
        }
    }
    pub fn send(&self, message: T) -> Result<(), (Refused, T)> {
        Self::sending(message, |at| unsafe { c::cc_channel_send(self.raw, at) })
    }
    pub fn try_send(&self, message: T) -> Result<(), (Refused, T)> {
        Self::sending(message, |at| unsafe { c::cc_channel_try_send(self.raw, at) })
    }
    pub fn send_timeout(&self, message: T, duration: Duration) -> Result<(), (Refused, T)> {
        Self::sending(message, |at| unsafe { c::cc_channel_send_timeout(self.raw, at, nanoseconds(duration)) })
    }
    pub fn recv(&self) -> Result<T, Refused> {
        Self::receiving(|at| unsafe { c::cc_channel_recv(self.raw, at) })
    }
    pub fn try_recv(&self) -> Result<T, Refused> {
        Self::receiving(|at| unsafe { c::cc_channel_try_recv(self.raw, at) })
    }
    pub fn recv_timeout(&self, duration: Duration) -> Result<T, Refused> {
        Self::receiving(|at| unsafe { c::cc_channel_recv_timeout(self.raw, at, nanoseconds(duration)) })
    }
    pub fn close(&self) {
        unsafe { c::cc_channel_close(self.raw) }
    }
    pub fn len(&self) -> usize {
        unsafe { c::cc_channel_len(self.raw) }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn capacity(&self) -> usize {
        unsafe { c::cc_channel_capacity(self.raw) }
    }
}

impl<T> Drop for Channel<T> {
    fn drop(&mut self) {
        while let Ok(message) = self.try_recv() {
            drop(message);
        }
        unsafe { c::cc_channel_destroy(self.raw) }
    }
}

/// Which of several channels that are ready a select takes.
#[derive(Clone, Copy)]
pub enum Order {
    /// Any of them, so that none starves.
    Fair = 0,
    /// The first one.
    InOrder = 1,
}

/// Receives from the first of several channels that has something, or is closed: which one, and what. None: the time is
/// up; without a duration it waits as long as it takes. At least one channel.
pub fn receive_from_one<T>(
    channels: &[&Channel<T>],
    order: Order,
    duration: Option<Duration>,
) -> Option<(usize, Result<T, Refused>)> {
    let mut message = MaybeUninit::<Padded<T>>::uninit();
    let mut cases: Vec<c::SelectCase> = channels
        .iter()
        .map(|channel| c::SelectCase {
            channel: channel.raw,
            message: message.as_mut_ptr().cast(),
            operation: 0,
            result: 0,
            of_the_library: [std::ptr::null_mut(); 3],
        })
        .collect();
    let deadline = duration.map_or(u64::MAX, |some| unsafe { c::cc_deadline_in(nanoseconds(some)) });
    let mut which = 0;
    if unsafe { c::cc_select_until(cases.as_mut_ptr(), cases.len(), order as u32, &mut which, deadline) } != 0 {
        return None;
    }
    let received = match cases[which].result {
        0 => Ok(unsafe { std::ptr::addr_of!((*message.as_ptr()).0).read() }),
        result => Err(Channel::<T>::refused(result)),
    };
    Some((which, received))
}
