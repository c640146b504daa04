//! Calls the channel from Rust through `extern "C"`: two threads, a thousand numbers, a close.
//!
//!     rustc -O examples/channel.rs -l static=concede -L build/release -o build/channel && build/channel
use std::os::raw::{c_int, c_void};

#[repr(C)]
struct Options {
    capacity: usize,
    message_size: usize,
    kind: u32,
    snooze_iters: u32,
}

#[link(name = "concede")]
extern "C" {
    fn cc_channel_create(channel: *mut *mut c_void, options: *const Options) -> c_int;
    fn cc_channel_send(channel: *mut c_void, message: *const c_void) -> c_int;
    fn cc_channel_recv(channel: *mut c_void, message: *mut c_void) -> c_int;
    fn cc_channel_close(channel: *mut c_void);
    fn cc_channel_destroy(channel: *mut c_void);
}

/// The channel itself may be used by any number of threads at the same time.
#[derive(Clone, Copy)]
struct Channel(*mut c_void);
unsafe impl Send for Channel {}

impl Channel {
    fn send(self, number: u64) -> c_int {
        unsafe { cc_channel_send(self.0, &number as *const u64 as *const c_void) }
    }
    fn recv(self) -> Option<u64> {
        let mut number = 0u64;
        let result = unsafe { cc_channel_recv(self.0, &mut number as *mut u64 as *mut c_void) };
        (result == 0).then_some(number)
    }
}

fn main() {
    let options = Options { capacity: 16, message_size: 8, kind: 0, snooze_iters: 0 };
    let mut raw = std::ptr::null_mut();
    assert_eq!(unsafe { cc_channel_create(&mut raw, &options) }, 0);
    let channel = Channel(raw);
    let producer = std::thread::spawn(move || {
        for number in 0..1000 {
            assert_eq!(channel.send(number), 0);
        }
        let Channel(raw) = channel;
        unsafe { cc_channel_close(raw) };
    });
    let mut total = 0;
    while let Some(number) = channel.recv() {
        total += number;
    }
    producer.join().unwrap();
    assert_eq!(total, (0..1000).sum::<u64>());
    unsafe { cc_channel_destroy(raw) };
    println!("received everything: {total}");
}
