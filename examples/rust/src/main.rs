//! Every layer once. `cargo run --offline` in this folder builds the C library too.
use concede::{costs, now, pause, receive_from_one, Backoff, Channel, Event, Lock, Order, Parker, Refused};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

static WORD: AtomicU64 = AtomicU64::new(1);
static READY: AtomicBool = AtomicBool::new(false);
static CHANGED: Event = Event::new();
static PARKER: Parker = Parker::new();
static COUNTER: Lock<u64> = Lock::new(0);

/// An atomic operation that no CPU has. The backoff is the thread's own, and kept.
fn fetch_mul(word: &AtomicU64, factor: u64, kept: &mut Backoff) {
    let mut old = word.load(Ordering::Relaxed);
    let mut tries = 0;
    while word.compare_exchange_weak(old, old.wrapping_mul(factor), Ordering::Relaxed, Ordering::Relaxed).is_err() {
        tries += 1;
        kept.spin();
        old = word.load(Ordering::Relaxed);
    }
    if tries > 0 {
        kept.ease();
    }
}

fn main() {
    let before = now();
    pause();
    let here = costs();
    assert!(now() >= before && here.pause_ps > 0 && here.cpus > 0);

    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut kept = Backoff::new(16, 64);
                for _ in 0..1000 {
                    fetch_mul(&WORD, 3, &mut kept);
                    *COUNTER.lock() += 1;
                }
            });
        }
    });
    assert_eq!(WORD.load(Ordering::Relaxed), 3u64.wrapping_pow(4000));
    assert_eq!(*COUNTER.lock(), 4000);
    let held = COUNTER.lock();
    assert!(COUNTER.try_lock().is_none());
    assert!(COUNTER.lock_timeout(Duration::from_millis(1)).is_none());
    drop(held);

    let mut wait = Backoff::for_a_wait();
    while !wait.is_completed() {
        wait.snooze();
    }
    assert_eq!(wait.step(), 11);

    assert!(!PARKER.park_timeout(Duration::from_millis(1)));
    assert!(!CHANGED.wait_timeout(|| READY.load(Ordering::Acquire), Duration::from_millis(1)));
    let other = thread::spawn(|| {
        READY.store(true, Ordering::Release);
        CHANGED.notify_all();
        PARKER.unpark();
    });
    CHANGED.wait_for(|| READY.load(Ordering::Acquire));
    PARKER.park();
    other.join().unwrap();

    let (jobs, added) = (Lock::new(Vec::new()), Event::new());
    assert!(!jobs.lock().wait_timeout(&added, |jobs| !jobs.is_empty(), Duration::from_millis(1)));
    thread::scope(|scope| {
        scope.spawn(|| {
            for job in 0..3 {
                jobs.lock().push(job);
                added.notify_one();
            }
        });
        let mut held = jobs.lock();
        held.wait_for(&added, |jobs| jobs.len() == 3);
        assert_eq!(*held, [0, 1, 2]);
    });

    let words = Channel::<String>::new(16).expect("memory");
    assert_eq!(words.try_recv(), Err(Refused::NotNow));
    assert_eq!(words.recv_timeout(Duration::from_millis(1)), Err(Refused::TimedOut));
    let total: usize = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..1000 {
                words.send(number.to_string()).unwrap();
            }
            words.close();
        });
        std::iter::from_fn(|| words.recv().ok()).map(|word| word.parse::<usize>().unwrap()).sum()
    });
    assert_eq!(words.send("late".to_string()), Err((Refused::Closed, "late".to_string())));
    let left = Channel::<String>::new(1).expect("memory");
    left.send("dropped with the channel".to_string()).unwrap();
    assert_eq!(left.try_send("full".to_string()), Err((Refused::NotNow, "full".to_string())));
    let units = Channel::<()>::new(2).expect("memory");
    units.send(()).unwrap();
    assert_eq!(units.recv(), Ok(()));

    let (urgent, ordinary) = (Channel::<String>::new(4).expect("memory"), Channel::new(4).expect("memory"));
    let both = [&urgent, &ordinary];
    assert_eq!(receive_from_one(&both, Order::Fair, Some(Duration::from_millis(1))), None);
    thread::scope(|scope| {
        scope.spawn(|| ordinary.send("later".to_string()).unwrap());
        assert_eq!(receive_from_one(&both, Order::Fair, None), Some((1, Ok("later".to_string()))));
    });
    ordinary.send("last".to_string()).unwrap();
    urgent.send("first".to_string()).unwrap();
    assert_eq!(receive_from_one(&both, Order::InOrder, None), Some((0, Ok("first".to_string()))));
    urgent.close();
    assert_eq!(receive_from_one(&both, Order::InOrder, None), Some((0, Err(Refused::Closed))));
    println!("received everything: {total}");
}
