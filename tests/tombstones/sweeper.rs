//! The thread that sweeps: it tells what it dropped, outlives panics, and stops when it is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use membrane_codec::tombstone::{SweepObserver, Sweeper, Tombstone, TombstoneTable};

use crate::clock::{hash, table_and_clock, until};

const SOON: Duration = Duration::from_millis(1);
/// Longer than any machine needs.
const LONG: Duration = Duration::from_secs(60);

/// Waits for something that another thread does.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LONG, "{what}");
        std::thread::sleep(SOON);
    }
}

#[test]
fn it_drops_what_is_over_and_tells() {
    let (table, clock) = table_and_clock();
    let table = Arc::new(table);
    table.record(hash(1), Some(until(1010.0)), "node-1");
    let (tell, told) = mpsc::channel();
    let sweeper = Sweeper::start(Arc::clone(&table), SOON, move |dropped: Vec<Tombstone>| {
        dropped.into_iter().for_each(|dropped| tell.send(dropped.content_hash).expect("the test listens"));
    })
    .expect("a thread");
    wait_for("some passes", || sweeper.passes() > 3);
    assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty));
    clock.set(1010);
    assert_eq!(told.recv_timeout(LONG), Ok(hash(1)));
    sweeper.stop();
    // Its thread is gone, and the observer with it.
    assert_eq!(told.recv_timeout(LONG), Err(mpsc::RecvTimeoutError::Disconnected));
    assert_eq!(Arc::strong_count(&table), 1);
    assert!(table.is_empty());
}

#[test]
fn stopping_and_dropping_do_not_wait_for_the_interval() {
    let table = Arc::new(TombstoneTable::new());
    for stop in [Sweeper::stop, drop] {
        let sweeper = Sweeper::start(Arc::clone(&table), Duration::MAX, |_: Vec<Tombstone>| {}).expect("a thread");
        stop(sweeper);
        assert_eq!(Arc::strong_count(&table), 1);
    }
}

#[test]
fn a_pass_that_panics_is_reported_and_the_next_one_comes() {
    struct Clumsy(Arc<Mutex<Vec<String>>>, usize);
    impl SweepObserver for Clumsy {
        fn swept(&mut self, _dropped: Vec<Tombstone>) {
            self.1 += 1;
            match self.1 {
                1 => panic!("a word"),
                2 => panic!("pass {}", self.1),
                3 => std::panic::panic_any(3_u8),
                4 => std::panic::panic_any(Thorny),
                _ => {}
            }
        }
        fn panicked(&mut self, message: &str) {
            self.0.lock().expect("nobody panics with it").push(message.into());
            assert_ne!(self.1, 2, "telling panics too");
        }
    }
    /// What panics when it is dropped.
    struct Thorny;
    impl Drop for Thorny {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let (table, clock) = table_and_clock();
    let table = Arc::new(table);
    let told = Arc::new(Mutex::new(Vec::new()));
    let sweeper = Sweeper::start(Arc::clone(&table), SOON, Clumsy(Arc::clone(&told), 0)).expect("a thread");
    wait_for("ten passes", || sweeper.passes() >= 10);
    assert_eq!(*told.lock().expect("nobody panics with it"), ["a word", "pass 2", "no message", "no message"]);
    assert_eq!(sweeper.panics(), 5);
    // The table and the thread are in order.
    table.record(hash(1), Some(until(1010.0)), "node-1");
    clock.set(1010);
    wait_for("a sweep", || table.is_empty());
}

#[test]
fn an_observer_may_own_its_sweeper() {
    let owner: Arc<Mutex<Option<Sweeper>>> = Arc::default();
    let (passes, owned) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&owner));
    let counted = Arc::clone(&passes);
    let observer = move |_: Vec<Tombstone>| {
        // Dropped on its own thread, once it is there.
        if owned.lock().expect("nobody panics with it").take().is_some() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    };
    let sweeper = Sweeper::start(Arc::new(TombstoneTable::new()), SOON, observer).expect("a thread");
    *owner.lock().expect("nobody panics with it") = Some(sweeper);
    wait_for("its end", || Arc::strong_count(&owner) == 1);
    assert_eq!(passes.load(Ordering::Relaxed), 1);
}
