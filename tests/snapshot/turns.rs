//! Threads and processes at one state directory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use membrane_codec::snapshot::{EpochGuard, Restored, SnapshotStore};

use crate::support::{names_in, node, snapshot, state_dir};

/// Each thread opens the directory for itself, as a process does: the locks are the system's.
#[test]
fn checkpoints_of_one_node_are_whole_and_none_is_lost() {
    const THREADS: u64 = 4;
    const CHECKPOINTS: u64 = 50;

    let (directory, _) = state_dir();
    let node = node("node-1");
    let number = AtomicU64::new(1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let store = SnapshotStore::open(directory.path()).expect("it is there");
                    for _ in 0..CHECKPOINTS {
                        let number = number.fetch_add(1, Ordering::Relaxed);
                        store.checkpoint(&node, &snapshot(number, (number % 300) as usize)).expect("it goes");
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let store = SnapshotStore::open(directory.path()).expect("it is there");
            while !done.load(Ordering::Relaxed) {
                if let Some(found) = store.load(&node).expect("the old one or the new one") {
                    let number = found.cluster_epoch;
                    assert_eq!(found, snapshot(number, (number % 300) as usize));
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("it holds"));
        done.store(true, Ordering::Relaxed);
    });
    let store = SnapshotStore::open(directory.path()).expect("it is there");
    let last = store.load(&node).expect("a snapshot").expect("it is there").cluster_epoch;
    // At most the other threads' last ones came before it.
    assert!(last > THREADS * CHECKPOINTS - THREADS, "{last}");
    assert_eq!(names_in(directory.path()), ["node-1.json"]);
}

/// What is captured in the turn is newer than all that was written before, whoever wrote it.
#[test]
fn an_older_snapshot_never_replaces_a_newer_one_that_was_captured_in_turn() {
    const THREADS: u64 = 4;
    const CHECKPOINTS: u64 = 25;

    let (directory, store) = state_dir();
    let node = node("node-1");
    let captured = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let store = SnapshotStore::open(directory.path()).expect("it is there");
                for _ in 0..CHECKPOINTS {
                    let capture = || {
                        let before = captured.fetch_add(1, Ordering::SeqCst);
                        let there = store.load(&node).expect("a snapshot").map_or(0, |found| found.cluster_epoch);
                        assert_eq!(there, before, "the last that was captured is there");
                        snapshot(before + 1, 3)
                    };
                    store.checkpoint_with(&node, capture).expect("it goes");
                }
            });
        }
    });
    let last = store.load(&node).expect("a snapshot").expect("it is there").cluster_epoch;
    assert_eq!(last, THREADS * CHECKPOINTS);
    // A capture that panics leaves the turn to others.
    let panics = std::panic::AssertUnwindSafe(|| store.checkpoint_with(&node, || panic!("a bug")));
    assert!(std::panic::catch_unwind(panics).is_err());
    store.checkpoint(&node, &snapshot(1, 1)).expect("it goes");
    assert_eq!(names_in(directory.path()), ["node-1.json"]);
}

/// A restore that finds a stale snapshot must not delete the fresh one that a checkpoint has put there meanwhile.
#[test]
fn a_restore_deletes_no_fresh_snapshot() {
    const ROUNDS: u64 = 40;

    let (directory, store) = state_dir();
    let node = node("node-1");
    let (mut deleted, mut accepted) = (0, 0);
    for _ in 0..ROUNDS {
        store.checkpoint(&node, &snapshot(1, 200)).expect("it goes");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let store = SnapshotStore::open(directory.path()).expect("it is there");
                store.checkpoint(&node, &snapshot(9, 200)).expect("it goes");
            });
            match store.restore(&node, EpochGuard::new(9)).expect("a snapshot") {
                Restored::Stale { cluster_epoch: 1 } => deleted += 1,
                Restored::Accepted(found) => {
                    assert_eq!(found.cluster_epoch, 9);
                    accepted += 1;
                }
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(store.load(&node).expect("a snapshot"), Some(snapshot(9, 200)), "the fresh one is there");
    }
    println!("{deleted} stale snapshots deleted, {accepted} fresh ones restored");
    assert_eq!(names_in(directory.path()), ["node-1.json"]);
}

#[test]
fn who_has_the_turn_is_waited_for_and_other_nodes_are_not() {
    let (directory, store) = state_dir();
    let temporary = directory.path().join(".held.tmp");
    let held = std::fs::File::create(&temporary).expect("room");
    held.lock().expect("nobody else has it");
    let (held_node, other) = (node("held"), node("other"));
    let started = Instant::now();
    let waited = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            SnapshotStore::open(directory.path())
                .and_then(|store| store.checkpoint(&held_node, &snapshot(1, 1)))
                .expect("it goes");
            started.elapsed()
        });
        // Not held up, while the other waits.
        store.checkpoint(&other, &snapshot(1, 1)).expect("it goes");
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        assert_eq!(names_in(directory.path()), [".held.tmp", "other.json"]);
        drop(held);
        waiting.join().expect("it holds")
    });
    assert!(waited >= Duration::from_millis(200));
    assert_eq!(names_in(directory.path()), ["held.json", "other.json"]);
}
