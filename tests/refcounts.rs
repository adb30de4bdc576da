//! Reference counts, and the blobs that they keep.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use membrane_codec::refcount::{Deleted, FragmentTable, NotDeleted, NotStored, RefCount, Release, Stored};
use membrane_codec::tombstone::{Clock, Gossip, LimitError, Sweeper, Tombstone, TombstoneTable, Until};
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

/// Holders come and go as they like: nobody is told that a hash is gone while it holds it.
#[test]
fn a_hash_is_held_while_somebody_holds_it() {
    const HASHES: u64 = 16;
    let held = RefCount::<u64, usize>::new();
    thread::scope(|scope| {
        for holder in 0..4_usize {
            let held = &held;
            scope.spawn(move || {
                for round in 0..3000 {
                    let hash = (round * 7 + holder as u64 * 3) % HASHES;
                    assert!(held.acquire(hash, holder));
                    assert!(held.is_active(&hash), "while this one holds it");
                    match held.release_outcome(&hash, &holder) {
                        Release::Last | Release::StillHeld => {}
                        outcome => panic!("{outcome:?} while this one held it"),
                    }
                }
            });
        }
    });
    assert!(held.is_empty());
}

/// Four threads take hold of hashes and let go of them, all at once: each of these lives has one end.
#[test]
fn each_life_ends_once() {
    const HASHES: u64 = 16;
    const THREADS: usize = 4;
    let held = RefCount::<u64, usize>::new();
    let barrier = Barrier::new(THREADS);
    for round in 0..100 {
        let ends = [const { AtomicU64::new(0) }; HASHES as usize];
        thread::scope(|scope| {
            for holder in 0..THREADS {
                let (held, barrier, ends) = (&held, &barrier, &ends);
                scope.spawn(move || {
                    (0..HASHES).for_each(|hash| assert!(held.acquire(hash, holder)));
                    barrier.wait();
                    for hash in 0..HASHES {
                        if held.release_outcome(&hash, &holder) == Release::Last {
                            ends[hash as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(ends.map(AtomicU64::into_inner), [1; HASHES as usize], "round {round}");
    }
    assert!(held.is_empty());
}

/// Panics when it is hashed, if it is told so.
#[derive(Clone, PartialEq, Eq)]
struct Bomb(bool);

impl std::hash::Hash for Bomb {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        assert!(!self.0, "a bug in a holder");
        state.write_u8(0);
    }
}

#[test]
fn a_holder_that_panics_when_it_is_hashed_holds_nothing() {
    let held = RefCount::<u8, Bomb>::new();
    let acquire = || held.acquire(1, Bomb(true));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(acquire)).is_err());
    assert_eq!((held.is_active(&1), held.len(), held.is_empty()), (false, 0, true));
    assert!(held.acquire(1, Bomb(false)));
    assert!(held.release(&1, &Bomb(false)));
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

/// Stands at the second that it is set to.
struct Moving(AtomicU64);

impl Clock for Moving {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
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
    assert_eq!(fragments.store(hash(), ("t3", 0), write), Err(NotStored::Tombstone(until(1060.0))));
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
    assert_eq!(failed, Err(NotStored::Write("disk full".to_owned())));
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

/// Half of the blob may be gone: what is stored next is written, and then is what it was.
#[test]
fn what_could_not_be_erased_is_written_again() {
    let clock = Moving(AtomicU64::new(1000));
    let fragments = FragmentTable::with_tombstones(TombstoneTable::with_clock(&clock));
    let writes = AtomicU64::new(0);
    let store = |copy: u8| {
        fragments.store(hash(), copy, || {
            writes.fetch_add(1, Ordering::Relaxed);
            Ok::<(), String>(())
        })
    };
    let fail = || Err("unlinked, not synced".to_owned());
    assert_eq!((store(0), store(1)), (Ok(Stored::Written), Ok(Stored::Shared)));
    assert_eq!(fragments.delete_all(hash(), None, "node-1", fail), Err("unlinked, not synced".into()));
    let mut copies = fragments.copies(&hash());
    copies.sort();
    assert_eq!(copies, [0, 1]);
    assert_eq!(store(2), Err(NotStored::Tombstone(until(1060.0))));
    clock.0.store(1060, Ordering::Relaxed);
    let failed = fragments.store(hash(), 2, || Err("disk full"));
    assert_eq!(failed, Err(NotStored::Write("disk full")));
    assert_eq!((store(2), store(0), store(3)), (Ok(Stored::Written), Ok(Stored::Known), Ok(Stored::Shared)));
    assert_eq!(writes.load(Ordering::Relaxed), 2);
    // The same where a copy is evicted.
    for copy in 1..4 {
        assert_eq!(fragments.release(hash(), &copy, fail), Ok(Release::StillHeld));
    }
    assert_eq!(fragments.release(hash(), &9, fail), Ok(Release::NotHolder));
    assert_eq!(fragments.release(hash(), &0, fail), Err("unlinked, not synced".into()));
    assert_eq!(store(0), Ok(Stored::Written));
    assert_eq!(fragments.release(hash(), &0, || Ok::<(), String>(())), Ok(Release::Last));
    assert_eq!((store(0), writes.load(Ordering::Relaxed)), (Ok(Stored::Written), 4));
}

#[test]
fn deleting_all_takes_every_copy_and_the_blob_once() {
    let fragments = fragments();
    let no_write = || Ok::<(), String>(());
    for tenant in ["t1", "t2"] {
        fragments.store(hash(), (tenant, 0), no_write).expect("no tombstone");
    }
    let erased = AtomicU64::new(0);
    let erase = || {
        erased.fetch_add(1, Ordering::Relaxed);
        assert!(fragments.tombstones().is_active(&hash()), "first the tombstone");
        Ok::<(), String>(())
    };
    let mut gone = fragments.delete_all(hash(), None, "node-1", erase).expect("erased");
    gone.sort();
    assert_eq!(gone, [("t1", 0), ("t2", 0)]);
    assert_eq!(fragments.delete_all(hash(), None, "node-2", erase), Ok(vec![]));
    assert_eq!((fragments.holds(&hash()), erased.load(Ordering::Relaxed)), (false, 1));
    assert_eq!(fragments.tombstones().get(&hash()).expect("active").nodes.len(), 2);
}

#[test]
fn a_peer_deletes_within_the_limits() {
    let tombstones = TombstoneTable::with_clock(Standing).with_max_len(1).with_max_ahead(Some(Duration::from_secs(60)));
    let fragments = FragmentTable::<u8, Standing>::with_tombstones(tombstones);
    let [first, second] = [b"1", b"2"].map(|bytes| sha256(bytes));
    for hash in [first, second] {
        fragments.store(hash, 0, || Ok::<(), String>(())).expect("no tombstone");
    }
    let delete = |hash, seconds| fragments.delete_for_peer(hash, Some(until(seconds)), "peer", || Ok::<(), String>(()));
    let too_far = LimitError::TooFarAhead { until: until(1e300) };
    assert_eq!(delete(first, 1e300), Err(NotDeleted::Limit(too_far)));
    assert_eq!(
        too_far.to_string(),
        "tombstone_too_far_ahead: until 1e300 is further ahead than this node believes: look at the peer and its clock"
    );
    assert_eq!(delete(first, 1060.0), Ok(vec![0]));
    assert_eq!(delete(second, 1060.0), Err(NotDeleted::Limit(LimitError::NoRoom { max_len: 1 })));
    assert_eq!((fragments.holds(&first), fragments.holds(&second)), (false, true));
}

/// Gossip that comes while a blob is written, and that which repeats what is known.
#[test]
fn gossip_takes_what_it_says_is_deleted() {
    let fragments = FragmentTable::<u8, Standing>::with_tombstones(TombstoneTable::with_clock(Standing));
    let gossip: Gossip = [(hash(), until(1060.0)), (sha256(b"other"), until(1060.0))].into_iter().collect();
    let (is_writing, is_stored) = (Barrier::new(2), AtomicBool::new(false));
    let merged = thread::scope(|scope| {
        scope.spawn(|| {
            let stored = fragments.store(hash(), 7, || {
                is_writing.wait();
                // Time for the gossip to overtake it, if it can.
                thread::sleep(Duration::from_millis(50));
                is_stored.store(true, Ordering::SeqCst);
                Ok::<(), String>(())
            });
            assert_eq!(stored, Ok(Stored::Written));
        });
        is_writing.wait();
        fragments.merge(&gossip, |erased| {
            assert_eq!((*erased, is_stored.load(Ordering::SeqCst)), (hash(), true));
            Ok::<(), String>(())
        })
    });
    assert_eq!((merged.tombstones.learned, merged.erased, merged.failed), (2, vec![(hash(), vec![7])], vec![]));
    assert!(!fragments.holds(&hash()) && fragments.tombstones().is_active(&hash()));

    // An own delete of one copy of two: its echo takes no other, a later deletion does, when erasing works.
    let third = sha256(b"third");
    (0..2).for_each(|copy| _ = fragments.store(third, copy, || Ok::<(), String>(())).expect("no tombstone"));
    assert_eq!(fragments.delete(third, &0, None, "node-1", || Err("not asked")), Ok(Deleted::StillHeld));
    let echo = fragments.merge(&fragments.tombstones().active(), |_| Err("not asked"));
    assert_eq!((echo.tombstones.known, echo.erased, echo.failed), (3, vec![], vec![]));
    let later: Gossip = [(third, until(1061.0))].into_iter().collect();
    let merged = fragments.merge(&later, |_| Err("busy"));
    assert_eq!((merged.tombstones.extended, merged.erased, merged.failed), (1, vec![], vec![(third, "busy")]));
    assert_eq!(fragments.copies(&third), [1]);
    assert_eq!(fragments.delete_all(third, None, "node-1", || Ok::<(), String>(())), Ok(vec![1]));
}

/// A thread sweeps the tombstones that the fragments ask.
#[test]
fn a_sweeper_and_fragments_share_their_tombstones() {
    let clock = Arc::new(Moving(AtomicU64::new(1000)));
    let tombstones = Arc::new(TombstoneTable::with_clock(Arc::clone(&clock)));
    let fragments = FragmentTable::<u8, _>::with_tombstones(Arc::clone(&tombstones));
    fragments.delete_all(hash(), None, "node-1", || Ok::<(), String>(())).expect("nothing to erase");
    clock.0.store(1060, Ordering::Relaxed);
    let (tell, told) = std::sync::mpsc::channel();
    let observer = move |dropped: Vec<Tombstone>| dropped.into_iter().for_each(|dropped| _ = tell.send(dropped));
    let sweeper = Sweeper::start(Arc::clone(fragments.tombstones()), Duration::from_millis(1), observer);
    assert_eq!(told.recv().expect("it sweeps").content_hash, hash());
    sweeper.expect("a thread").stop();
    assert!(tombstones.is_empty());
}

#[test]
fn errors_say_what_happened() {
    let refused = NotStored::<std::io::Error>::Tombstone(until(1060.5));
    assert_eq!(refused.to_string(), "the fragment was deleted: stores are refused until 1060.5");
    let failed = NotStored::Write(std::io::Error::other("disk full"));
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
