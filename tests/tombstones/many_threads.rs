//! Threads that record, merge, sweep and look at one table at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use membrane_codec::Digest;
use membrane_codec::tombstone::TombstoneTable;

use crate::clock::{ManualClock, hash, until};

const ROUNDS: u64 = 30;
const EACH: u64 = 1500;

/// What lives is always seen, what was never recorded is never seen, and what is over goes, while the table grows and is
/// rebuilt under the readers.
#[test]
fn a_reader_never_misses_what_lives() {
    let clock = ManualClock::at(1000);
    let table = TombstoneTable::with_clock(clock.clone());
    let hashes: Vec<Digest> = (0..ROUNDS * EACH).map(hash).collect();
    let absent: Vec<Digest> = (ROUNDS * EACH..(ROUNDS + 1) * EACH).map(hash).collect();
    // These live throughout.
    let lasting: Vec<Digest> = (1_000_000..1_000_000 + EACH).map(hash).collect();
    lasting.iter().for_each(|hash| _ = table.record(*hash, Some(until(1e9)), "node-1"));
    let (done, recorded, looked) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for (number, hash) in hashes.iter().enumerate() {
                table.record(*hash, Some(until(1001.0 + (number as u64 / EACH) as f64)), "node-1");
                recorded.store(number as u64 + 1, Ordering::Release);
                if (number as u64 + 1).is_multiple_of(EACH) {
                    clock.set(1000 + (number as u64 + 1) / EACH);
                }
            }
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let mut dropped = 0;
            while !done.load(Ordering::Acquire) {
                dropped += table.sweep().len() as u64;
            }
            dropped += table.sweep().len() as u64;
            assert_eq!(dropped, ROUNDS * EACH, "each is dropped once");
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                for hash in &lasting {
                    assert!(table.is_active(hash));
                }
                let newest = recorded.load(Ordering::Acquire);
                for hash in &absent {
                    assert!(!table.is_active(hash));
                }
                // Not over yet, unless the clock has moved on since.
                if newest > 0 && newest < ROUNDS * EACH && !table.is_active(&hashes[newest as usize - 1]) {
                    assert!(recorded.load(Ordering::Acquire) / EACH > (newest - 1) / EACH);
                }
                looked.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
    assert!(looked.into_inner() > 0);
    assert_eq!(table.len() as u64, EACH);
    assert_eq!(table.active().len() as u64, EACH);
}

#[test]
fn of_deadlines_that_race_the_latest_wins() {
    const THREADS: u64 = 4;
    const HASHES: u64 = 500;
    let table = TombstoneTable::with_clock(ManualClock::at(1000));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let table = &table;
            scope.spawn(move || {
                let name = format!("node-{thread}");
                for number in 0..HASHES {
                    // Every thread has the latest for some.
                    let seconds = 2000 + (number * 7 + thread * 13) % 29;
                    if number.is_multiple_of(2) {
                        table.record(hash(number), Some(until(seconds as f64)), &name);
                    } else {
                        table.merge(&[(hash(number), until(seconds as f64))].into_iter().collect());
                    }
                }
            });
        }
    });
    assert_eq!(table.len() as u64, HASHES);
    for number in 0..HASHES {
        let latest = (0..THREADS).map(|thread| 2000 + (number * 7 + thread * 13) % 29).max().expect("threads");
        let tombstone = table.get(&hash(number)).expect("active");
        assert_eq!(tombstone.until, until(latest as f64));
        assert_eq!(tombstone.nodes.len() as u64, if number.is_multiple_of(2) { THREADS } else { 0 });
    }
}
