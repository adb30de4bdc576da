//! Reference counts, and the blobs that they keep.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use membrane_codec::refcount::{Deleted, FragmentTable, RefCount, Release, StoreError, Stored};
use membrane_codec::tombstone::{Clock, TombstoneTable, Until};
use membrane_codec::{Digest, sha256};
use proptest::prelude::*;

#[test]
fn a_hash_is_held_until_the_last_holder_lets_go() {
    let held = RefCount::<String, String>::new();
    assert!(held.is_empty());
    assert!(held.acquire("h".into(), "a".into()));
    assert!(!held.acquire("h".into(), "a".into()), "once for each holder");
    assert!(held.acquire("h".into(), "b".into()));
    assert!(held.acquire("other".into(), "a".into()));
    let mut holders = held.holders("h");
    holders.sort();
    assert_eq!((holders, held.len()), (vec!["a".to_owned(), "b".to_owned()], 2));
    assert!(!held.release("h", "nobody"), "others hold it");
    assert!(!held.release("h", "a"));
    assert!(!held.release("h", "a"), "no longer a holder, and b is");
    assert!(held.is_active("h"));
    assert!(held.release("h", "b"));
    assert!(!held.is_active("h"));
    assert!(held.release("h", "b"), "already gone");
    assert!(held.release("never", "a"), "already gone");
    assert_eq!((held.holders("h"), held.len(), held.is_empty()), (Vec::new(), 1, false));
}

#[test]
fn a_release_says_what_it_found() {
    let held = RefCount::<u64, u8>::new();
    for life in 0..3 {
        assert_eq!(held.release_outcome(&1, &1), Release::AlreadyGone, "life {life}");
        held.acquire(1, 1);
        held.acquire(1, 2);
        assert_eq!(held.release_outcome(&1, &3), Release::NotHolder, "life {life}");
        assert_eq!(held.release_outcome(&1, &1), Release::StillHeld, "life {life}");
        assert_eq!(held.release_outcome(&1, &2), Release::Last, "life {life}");
    }
    let gone = [Release::Last, Release::AlreadyGone, Release::StillHeld, Release::NotHolder].map(Release::is_gone);
    assert_eq!(gone, [true, true, false, false]);
}

#[test]
fn forgetting_lets_all_go() {
    let held = RefCount::<u64, u8>::new();
    held.acquire(1, 1);
    held.acquire(1, 2);
    held.acquire(2, 1);
    let mut holders = held.forget(&1);
    holders.sort();
    assert_eq!(holders, [1, 2]);
    assert_eq!(held.forget(&1), Vec::<u8>::new());
    assert_eq!((held.is_active(&1), held.is_active(&2), held.len()), (false, true, 1));
}

proptest! {
    #[test]
    fn a_count_is_a_map_of_sets(calls in prop::collection::vec((0..4_u8, 0..5_u8, 0..4_u8), 0..200)) {
        let held = RefCount::<u8, u8>::new();
        let mut naive = BTreeMap::<u8, BTreeSet<u8>>::new();
        for (call, hash, holder) in calls {
            let holders = naive.entry(hash).or_default();
            match call {
                0 | 1 => prop_assert_eq!(held.acquire(hash, holder), holders.insert(holder)),
                2 => {
                    holders.remove(&holder);
                    prop_assert_eq!(held.release(&hash, &holder), holders.is_empty());
                }
                _ => {
                    let forgotten: BTreeSet<_> = held.forget(&hash).into_iter().collect();
                    prop_assert_eq!(forgotten, std::mem::take(holders));
                }
            }
            naive.retain(|_, holders| !holders.is_empty());
            prop_assert_eq!(held.len(), naive.len());
            for hash in 0..5 {
                let holders: BTreeSet<_> = held.holders(&hash).into_iter().collect();
                prop_assert_eq!(held.is_active(&hash), !holders.is_empty());
                prop_assert_eq!(holders, naive.get(&hash).cloned().unwrap_or_default());
            }
        }
    }
}

/// Each time that hashes come to be held, exactly one release is the last, whoever races whom.
#[test]
fn each_life_ends_once() {
    const HASHES: u64 = 16;
    const ROUNDS: u64 = 3000;
    let held = RefCount::<u64, usize>::new();
    let (began, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let lives: Vec<Mutex<i64>> = (0..HASHES).map(|_| Mutex::new(0)).collect();
    thread::scope(|scope| {
        for holder in 0..4_usize {
            let (held, began, ended, lives) = (&held, &began, &ended, &lives);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let hash = (round * 7 + holder as u64 * 3) % HASHES;
                    assert!(held.acquire(hash, holder));
                    began.fetch_add(1, Ordering::Relaxed);
                    assert!(held.is_active(&hash), "while this one holds it");
                    match held.release_outcome(&hash, &holder) {
                        Release::Last => *lives[hash as usize].lock().expect("no panics") += 1,
                        Release::StillHeld => {}
                        outcome => panic!("{outcome:?} while this one held it"),
                    }
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!((began.into_inner(), ended.into_inner()), (4 * ROUNDS, 4 * ROUNDS));
    assert!(held.is_empty());
    assert!(lives.iter().all(|lives| *lives.lock().expect("no panics") > 0));
}

/// Two holders let go at the same moment: one of them is the last.
#[test]
fn of_two_that_let_go_at_once_one_is_last() {
    for _ in 0..500 {
        let held = RefCount::<u64, usize>::new();
        held.acquire(1, 0);
        held.acquire(1, 1);
        let start = Barrier::new(2);
        let outcomes = thread::scope(|scope| {
            let release = |holder| {
                let (held, start) = (&held, &start);
                scope.spawn(move || {
                    start.wait();
                    held.release_outcome(&1, &holder)
                })
            };
            [release(0), release(1)].map(|thread| thread.join().expect("no panics"))
        });
        assert!(outcomes.contains(&Release::Last) && outcomes.contains(&Release::StillHeld), "{outcomes:?}");
    }
}

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Duration {
        Duration::from_secs(1000)
    }
}

fn until(seconds: f64) -> Until {
    Until::from_unix_seconds(seconds).expect("finite")
}

fn fragments() -> FragmentTable<(&'static str, u8), Standing> {
    FragmentTable::with_tombstones(TombstoneTable::with_clock(Standing))
}

fn hash() -> Digest {
    sha256(b"kv")
}

#[test]
fn a_blob_is_written_for_the_first_copy_and_erased_with_the_last() {
    let fragments = fragments();
    let calls = RefCell::new(Vec::new());
    let write = || {
        calls.borrow_mut().push("write");
        Ok::<(), String>(())
    };
    let erase = || {
        // First the tombstone, then the reference, then the blob.
        assert!(fragments.tombstones().is_active(&hash()));
        assert_eq!(fragments.copies(&hash()), []);
        calls.borrow_mut().push("erase");
        Ok::<(), String>(())
    };
    assert_eq!(fragments.store(hash(), ("t1", 0), write), Ok(Stored::Written));
    assert_eq!(fragments.store(hash(), ("t1", 0), write), Ok(Stored::Known));
    assert_eq!(fragments.store(hash(), ("t2", 0), write), Ok(Stored::Shared));
    assert_eq!((fragments.len(), fragments.holds(&hash())), (1, true));
    let mut copies = fragments.copies(&hash());
    copies.sort();
    assert_eq!(copies, [("t1", 0), ("t2", 0)]);
    let delete = |copy| fragments.delete(hash(), &copy, None, "node-1", erase);
    assert_eq!(delete(("t1", 0)), Ok(Deleted::StillHeld));
    assert_eq!(delete(("t1", 0)), Ok(Deleted::NotHolder));
    assert_eq!(fragments.store(hash(), ("t3", 0), write), Err(StoreError::Tombstone(until(1060.0))));
    assert_eq!(delete(("t2", 0)), Ok(Deleted::Erased));
    assert_eq!(delete(("t2", 0)), Ok(Deleted::AlreadyGone));
    assert_eq!(*calls.borrow(), ["write", "erase"]);
    assert!(fragments.is_empty());
    let tombstone = fragments.tombstones().get(&hash()).expect("active");
    assert_eq!((tombstone.until, tombstone.nodes.contains("node-1")), (until(1060.0), true));
}

#[test]
fn a_write_that_fails_leaves_no_reference() {
    let fragments = fragments();
    let failed = fragments.store(hash(), ("t1", 0), || Err("disk full".to_owned()));
    assert_eq!(failed, Err(StoreError::Write("disk full".to_owned())));
    assert!(!fragments.holds(&hash()));
    assert_eq!(fragments.store(hash(), ("t1", 0), || Ok::<(), String>(())), Ok(Stored::Written));
}

#[test]
fn an_erase_that_fails_or_panics_can_be_repeated() {
    let fragments = fragments();
    assert_eq!(fragments.store(hash(), ("t1", 0), || Ok::<(), String>(())), Ok(Stored::Written));
    let delete = |erase: &dyn Fn() -> Result<(), String>| fragments.delete(hash(), &("t1", 0), None, "node-1", erase);
    assert_eq!(delete(&|| Err("busy".into())), Err("busy".into()));
    assert_eq!(fragments.copies(&hash()), [("t1", 0)]);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| delete(&|| panic!("a bug"))));
    assert!(panicked.is_err());
    assert_eq!(fragments.copies(&hash()), [("t1", 0)]);
    assert!(fragments.tombstones().is_active(&hash()));
    assert_eq!(delete(&|| Ok(())), Ok(Deleted::Erased));
}

#[test]
fn errors_say_what_happened() {
    let refused = StoreError::<std::io::Error>::Tombstone(until(1060.5));
    assert_eq!(refused.to_string(), "the fragment was deleted: stores are refused until 1060.5");
    let failed = StoreError::Write(std::io::Error::other("disk full"));
    assert_eq!(failed.to_string(), "the blob could not be written: disk full");
}

/// A store of blobs that notices what must not happen: reading what is not there, writing twice, erasing what is not there.
#[derive(Default)]
struct Blobs(Vec<AtomicBool>);

impl Blobs {
    fn write(&self, number: usize) -> Result<(), String> {
        // A while, so that others come in between if they can.
        thread::yield_now();
        if self.0[number].swap(true, Ordering::SeqCst) { Err("written twice".into()) } else { Ok(()) }
    }

    fn erase(&self, number: usize) -> Result<(), String> {
        thread::yield_now();
        if self.0[number].swap(false, Ordering::SeqCst) { Ok(()) } else { Err("erased twice".into()) }
    }
}

/// Threads store and delete copies of few blobs. Tombstones are over as soon as they are recorded, so that blobs come back:
/// what a thread stored is there until it deletes it.
#[test]
fn no_blob_is_erased_that_somebody_holds() {
    const BLOBS: usize = 3;
    let fragments = FragmentTable::<usize, Standing>::with_tombstones(TombstoneTable::with_clock(Standing));
    let blobs = Blobs((0..BLOBS).map(|_| AtomicBool::new(false)).collect());
    let [written, shared, erased, held] = [const { AtomicU64::new(0) }; 4];
    thread::scope(|scope| {
        for holder in 0..4_usize {
            let (fragments, blobs) = (&fragments, &blobs);
            let (written, shared, erased, held) = (&written, &shared, &erased, &held);
            scope.spawn(move || {
                for round in 0..4000_usize {
                    let number = (round * 5 + holder) % BLOBS;
                    let hash = sha256(&[number as u8]);
                    match fragments.store(hash, holder, || blobs.write(number)) {
                        Ok(Stored::Written) => written.fetch_add(1, Ordering::Relaxed),
                        Ok(Stored::Shared) => shared.fetch_add(1, Ordering::Relaxed),
                        outcome => panic!("{outcome:?}"),
                    };
                    assert!(blobs.0[number].load(Ordering::SeqCst), "a blob is gone that is held");
                    match fragments.delete(hash, &holder, Some(until(999.0)), "node-1", || blobs.erase(number)) {
                        Ok(Deleted::Erased) => erased.fetch_add(1, Ordering::Relaxed),
                        Ok(Deleted::StillHeld) => held.fetch_add(1, Ordering::Relaxed),
                        outcome => panic!("{outcome:?}"),
                    };
                }
            });
        }
    });
    let counts = [written, shared, erased, held].map(AtomicU64::into_inner);
    assert_eq!(counts[0], counts[2], "each blob that was written was erased: {counts:?}");
    assert_eq!(counts[1], counts[3], "{counts:?}");
    assert!(fragments.is_empty());
}

/// A delete that races stores of the same hash: whatever the order, no copy is there afterwards.
#[test]
fn what_is_deleted_does_not_return_through_a_store_that_raced_it() {
    for _ in 0..300 {
        let fragments = FragmentTable::<u8, Standing>::with_tombstones(TombstoneTable::with_clock(Standing));
        let blobs = Blobs(vec![AtomicBool::new(false)]);
        let start = Barrier::new(3);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    fragments.store(hash(), 0, || blobs.write(0))
                });
            }
            scope.spawn(|| {
                start.wait();
                fragments.delete(hash(), &0, None, "node-1", || blobs.erase(0))
            });
        });
        assert!(!fragments.holds(&hash()));
        assert!(!blobs.0[0].load(Ordering::SeqCst));
    }
}
