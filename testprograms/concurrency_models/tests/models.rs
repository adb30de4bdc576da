//! Models of what threads share: loom runs each in every order in which the threads' steps can follow one another with at
//! most three changes of thread that no thread waited for, and with every value that a read may see.
#![cfg(loom)]

use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use membrane_codec::Digest;
use membrane_codec::refcount::{FragmentTable, NotStored, RefCount, Release};
use membrane_codec::tombstone::{Clock, TombstoneTable, Until};

/// Shows 1000 seconds until it is told that they are over.
#[derive(Clone)]
struct Standing(u64);

impl Clock for Standing {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

/// A clock that one thread moves.
struct Moving(Arc<AtomicUsize>);

impl Clock for Moving {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst) as u64)
    }
}

fn hash(number: u8) -> Digest {
    Digest::from_bytes([number; Digest::LEN])
}

fn until(seconds: f64) -> Until {
    Until::from_unix_seconds(seconds).expect("finite")
}

fn table() -> Arc<TombstoneTable<Standing>> {
    Arc::new(TombstoneTable::with_clock(Standing(1000)))
}

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

#[test]
fn of_two_records_the_later_deadline_wins() {
    model(|| {
        let table = table();
        let other = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.record(hash(1), Some(until(2000.0)), "node-2"))
        };
        let own = table.record(hash(1), Some(until(1500.0)), "node-1");
        assert_eq!(other.join().expect("no panic"), until(2000.0));
        assert!([until(1500.0), until(2000.0)].contains(&own));
        let tombstone = table.get(&hash(1)).expect("active");
        assert_eq!((tombstone.until, tombstone.nodes.len(), table.len()), (until(2000.0), 2, 1));
    });
}

/// A sweep that finds the first deadline over drops it before or after it was extended, never instead.
#[test]
fn a_record_that_races_a_sweep_loses_no_later_deadline() {
    model(|| {
        let table = table();
        table.record(hash(1), Some(until(999.0)), "node-1");
        let sweeper = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.sweep().len())
        };
        assert_eq!(table.record(hash(1), Some(until(2000.0)), "node-2"), until(2000.0));
        assert_eq!(table.active_until(&hash(1)), Some(until(2000.0)));
        let dropped = sweeper.join().expect("no panic");
        assert_eq!(table.active_until(&hash(1)), Some(until(2000.0)));
        let nodes = table.get(&hash(1)).expect("active").nodes.len();
        assert_eq!(nodes, 1, "the first was over: swept or not, this is another deletion");
        assert_eq!((dropped <= 1, table.len()), (true, 1));
    });
}

#[test]
fn a_merge_that_races_a_sweep_loses_no_later_deadline() {
    model(|| {
        let table = table();
        table.record(hash(1), Some(until(999.0)), "node-1");
        let sweeper = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.sweep().len())
        };
        let merged = table.merge(&[(hash(1), until(2000.0))].into_iter().collect());
        let dropped = sweeper.join().expect("no panic");
        assert_eq!((merged.learned, merged.extended), (dropped, 1 - dropped));
        assert_eq!(table.active_until(&hash(1)), Some(until(2000.0)));
    });
}

/// The table grows from two slots to four, and to eight, while a reader looks.
#[test]
fn a_reader_sees_what_lives_while_the_table_grows() {
    model(|| {
        let table = table();
        table.record(hash(1), Some(until(2000.0)), "node-1");
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || {
                table.record(hash(2), Some(until(2000.0)), "node-1");
                table.record(hash(3), Some(until(2000.0)), "node-1");
            })
        };
        assert!(table.is_active(&hash(1)));
        let third = table.is_active(&hash(3));
        assert!(table.is_active(&hash(2)) || !third, "the second was recorded before the third");
        assert!(!table.is_active(&hash(4)));
        writer.join().expect("no panic");
        assert!([1, 2, 3].iter().all(|number| table.is_active(&hash(*number))));
    });
}

/// Slots of what was dropped are emptied and filled with others while a reader looks: it never takes one for the other.
#[test]
fn a_reader_is_not_deceived_while_the_table_is_rebuilt() {
    model(|| {
        let table = table();
        // Two slots, of which one may be filled: the record of another rebuilds them.
        table.record(hash(1), Some(until(999.0)), "node-1");
        assert_eq!(table.sweep().len(), 1);
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.record(hash(2), Some(until(2000.0)), "node-1"))
        };
        assert!(!table.is_active(&hash(1)));
        let seen = table.active_until(&hash(2));
        assert!(seen.is_none_or(|seen| seen == until(2000.0)));
        writer.join().expect("no panic");
        assert!(!table.is_active(&hash(1)));
        assert_eq!(table.active_until(&hash(2)), Some(until(2000.0)));
    });
}

/// What was recorded before stays visible throughout a rebuild.
#[test]
fn a_reader_sees_what_lives_while_the_table_is_rebuilt() {
    model(|| {
        let table = Arc::new(TombstoneTable::with_clock(Standing(1000)));
        // Four slots by now, two of which may be filled.
        table.record(hash(1), Some(until(2000.0)), "node-1");
        table.record(hash(2), Some(until(999.0)), "node-1");
        assert_eq!((table.sweep().len(), table.len()), (1, 1));
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.record(hash(3), Some(until(2000.0)), "node-1"))
        };
        assert_eq!(table.active_until(&hash(1)), Some(until(2000.0)));
        writer.join().expect("no panic");
        assert_eq!([1, 2, 3].map(|number| table.is_active(&hash(number))), [true, false, true]);
    });
}

#[test]
fn a_release_that_races_an_acquire_says_last_once_for_each_life() {
    model(|| {
        let held = Arc::new(RefCount::<u8, u8>::new());
        held.acquire(1, 1);
        let other = {
            let held = Arc::clone(&held);
            thread::spawn(move || {
                assert!(held.acquire(1, 2));
                held.release_outcome(&1, &2)
            })
        };
        let own = held.release_outcome(&1, &1);
        let other = other.join().expect("no panic");
        // One life, with one end; or two, and each ended.
        match (own, other) {
            (Release::Last, Release::Last)
            | (Release::StillHeld, Release::Last)
            | (Release::Last, Release::StillHeld) => {}
            outcomes => panic!("{outcomes:?}"),
        }
        assert!(held.is_empty());
        assert_eq!(held.release_outcome(&1, &1), Release::AlreadyGone);
    });
}

#[test]
fn of_two_last_holders_one_is_last() {
    model(|| {
        let held = Arc::new(RefCount::<u8, u8>::new());
        held.acquire(1, 1);
        held.acquire(1, 2);
        let other = {
            let held = Arc::clone(&held);
            thread::spawn(move || held.release_outcome(&1, &2))
        };
        let outcomes = [held.release_outcome(&1, &1), other.join().expect("no panic")];
        assert!(outcomes.contains(&Release::Last) && outcomes.contains(&Release::StillHeld), "{outcomes:?}");
    });
}

#[test]
fn no_blob_is_erased_under_a_store_and_none_returns_after_a_delete() {
    model(|| {
        let fragments =
            Arc::new(FragmentTable::<u8, Standing>::with_tombstones(TombstoneTable::with_clock(Standing(1000))));
        let blobs = Arc::new(AtomicUsize::new(0));
        let write = |blobs: &AtomicUsize| {
            assert_eq!(blobs.fetch_add(1, Ordering::SeqCst), 0, "written twice");
            Ok::<(), ()>(())
        };
        fragments.store(hash(1), 1, || write(&blobs)).expect("no tombstone");
        let storing = {
            let (fragments, blobs) = (Arc::clone(&fragments), Arc::clone(&blobs));
            thread::spawn(move || {
                let stored = fragments.store(hash(1), 2, || write(&blobs));
                if stored.is_ok() {
                    assert_eq!(blobs.load(Ordering::SeqCst), 1, "a blob is gone that is held");
                }
                stored
            })
        };
        let erase = || {
            assert_eq!(blobs.fetch_sub(1, Ordering::SeqCst), 1, "erased twice");
            Ok::<(), ()>(())
        };
        fragments.delete(hash(1), &1, None, "node-1", erase).expect("erased");
        match storing.join().expect("no panic") {
            Ok(_) => assert_eq!((fragments.copies(&hash(1)), blobs.load(Ordering::SeqCst)), (vec![2], 1)),
            Err(NotStored::Tombstone(refused)) => {
                assert_eq!(refused, until(1060.0));
                assert_eq!((fragments.copies(&hash(1)), blobs.load(Ordering::SeqCst)), (vec![], 0));
            }
            Err(NotStored::Write(())) => panic!("no write failed"),
        }
    });
}

/// Gossip that comes while a blob is written waits for it: the fragment is not held while the tombstone lives.
#[test]
fn no_store_survives_the_gossip_that_overtakes_it() {
    model(|| {
        let tombstones = TombstoneTable::with_clock(Standing(1000));
        let fragments = Arc::new(FragmentTable::<u8, Standing>::with_tombstones(tombstones));
        let blobs = Arc::new(AtomicUsize::new(0));
        let storing = {
            let (fragments, blobs) = (Arc::clone(&fragments), Arc::clone(&blobs));
            thread::spawn(move || {
                let write = || {
                    blobs.fetch_add(1, Ordering::SeqCst);
                    Ok::<(), ()>(())
                };
                fragments.store(hash(1), 2, write).is_ok()
            })
        };
        let merged = fragments.merge(&[(hash(1), until(2000.0))].into_iter().collect(), |_| {
            assert_eq!(blobs.fetch_sub(1, Ordering::SeqCst), 1, "erased what is not there");
            Ok::<(), ()>(())
        });
        let stored = storing.join().expect("no panic");
        assert_eq!((merged.tombstones.learned, merged.erased.len()), (1, usize::from(stored)));
        assert_eq!((fragments.copies(&hash(1)), blobs.load(Ordering::SeqCst)), (vec![], 0));
    });
}

/// The clock moves between a look-up and a sweep: nothing is dropped that is not over by it.
#[test]
fn a_sweep_drops_only_what_is_over() {
    model(|| {
        let time = Arc::new(AtomicUsize::new(1000));
        let table = Arc::new(TombstoneTable::with_clock(Moving(Arc::clone(&time))));
        table.record(hash(1), Some(until(1001.0)), "node-1");
        let sweeper = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.sweep().len())
        };
        let before = table.is_active(&hash(1));
        time.store(1001, Ordering::SeqCst);
        assert!(before, "the clock had not moved");
        assert!(!table.is_active(&hash(1)));
        let dropped = sweeper.join().expect("no panic");
        assert_eq!(table.len(), 1 - dropped);
    });
}
