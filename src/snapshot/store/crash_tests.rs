//! The store on a disk that fails and loses its power at any step: a snapshot that was acknowledged is there, or a later one
//! that was tried; never an older one, never anything else.
//!
//! `SNAPSHOT_CRASH_RUNS` sets how many seeded runs there are, `SNAPSHOT_CRASH_SEED` the first seed; both are printed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::simulated_disk::SimulatedDisk;
use super::{Operation, Restored, SnapshotStore, StateFileKind, StoreError, StoreProblem};
use crate::snapshot::{CapturedAt, EpochGuard, NodeId, Snapshot};

/// Tells snapshots apart: none, or the number of one.
type Number = Option<u64>;

/// What a node's file may hold.
#[derive(Debug)]
struct Node {
    id: NodeId,
    /// While there is power.
    now: Vec<Number>,
    /// When it goes now.
    after_crash: Vec<Number>,
}

impl Node {
    fn new(name: &str) -> Self {
        Self { id: name.parse().expect("a name"), now: vec![None], after_crash: vec![None] }
    }

    fn is_certainly(&mut self, number: Number) {
        (self.now, self.after_crash) = (vec![number], vec![number]);
    }

    fn may_be(&mut self, number: Number) {
        self.now.push(number);
        self.after_crash.push(number);
    }

    fn was_seen_as(&mut self, number: Number) {
        assert!(self.now.contains(&number), "{number:?} is not among {self:?}");
        self.now = vec![number];
    }
}

/// Number and epoch are one.
fn snapshot(number: u64, random: &mut ChaCha8Rng) -> Snapshot {
    let mut snapshot = Snapshot::new(number, CapturedAt::from_unix_seconds(number as f64).expect("a time"));
    for shard in 0..random.random_range(0..40) {
        snapshot.shards.set_primary(&format!("{shard:040x}"), "node-1");
    }
    snapshot
}

fn operation(error: &StoreError) -> Operation {
    match error.problem() {
        StoreProblem::Io(operation, _) | StoreProblem::Stale { operation, .. } => *operation,
        other => panic!("only the disk fails here: {other}"),
    }
}

/// Does one thing, and learns from it what may be on the disk.
fn act(store: &SnapshotStore, node: &mut Node, number: u64, random: &mut ChaCha8Rng) {
    match random.random_range(0..10) {
        0..5 => match store.checkpoint(&node.id, &snapshot(number, random)) {
            Ok(()) => node.is_certainly(Some(number)),
            Err(error) if operation(&error) == Operation::TakeTurn => {}
            Err(_) => node.may_be(Some(number)),
        },
        5 | 6 => match store.load(&node.id) {
            Ok(found) => node.was_seen_as(found.map(|snapshot| snapshot.cluster_epoch)),
            Err(error) => assert_eq!(operation(&error), Operation::Read),
        },
        7 | 8 => {
            let guard = EpochGuard::new(number.saturating_sub(random.random_range(0..4)));
            match store.restore(&node.id, guard) {
                Ok(Restored::Absent) => node.was_seen_as(None),
                Ok(Restored::Accepted(snapshot)) => {
                    assert!(guard.accepts(snapshot.cluster_epoch));
                    node.was_seen_as(Some(snapshot.cluster_epoch));
                }
                Ok(Restored::Stale { cluster_epoch }) => {
                    assert!(!guard.accepts(cluster_epoch));
                    node.was_seen_as(Some(cluster_epoch));
                    node.is_certainly(None);
                }
                Err(error) if matches!(operation(&error), Operation::Remove | Operation::SyncDirectory) => {
                    node.may_be(None);
                }
                Err(_) => {}
            }
        }
        _ => match store.remove(&node.id) {
            Ok(true) => node.is_certainly(None),
            Ok(false) => node.was_seen_as(None),
            Err(error) if operation(&error) == Operation::TakeTurn => {}
            Err(_) => node.may_be(None),
        },
    }
}

/// What is there once the power is back.
fn check_after_crash(store: &SnapshotStore, nodes: &mut [Node]) {
    for node in nodes {
        let found = store.load(&node.id).unwrap_or_else(|error| panic!("{error}: {node:?}"));
        let number = found.map(|snapshot| snapshot.cluster_epoch);
        assert!(node.after_crash.contains(&number), "{number:?} is not among {node:?}");
        node.is_certainly(number);
    }
}

fn run(seed: u64) -> u32 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let disk = SimulatedDisk::new(seed ^ 0x5eed);
    let store = SnapshotStore::over(disk.clone());
    let mut nodes = [Node::new("node-1"), Node::new("node-2")];
    let mut number = 0;
    let mut crashes = 0;
    for _ in 0..random.random_range(1..6) {
        let faults = [None, Some(40), Some(10), Some(3)][random.random_range(0..4)];
        let steps = random.random_bool(0.8).then(|| random.random_range(0..120));
        disk.trouble(faults, steps);
        for _ in 0..random.random_range(1..12) {
            number += 1;
            let node = random.random_range(0..nodes.len());
            act(&store, &mut nodes[node], number, &mut random);
        }
        crashes += u32::from(!disk.has_power());
        // Without power or with it: an instant is as good as another.
        disk.crash();
        check_after_crash(&store, &mut nodes);
    }
    // Leftovers go with the next checkpoint.
    for node in &mut nodes {
        number += 1;
        store.checkpoint(&node.id, &snapshot(number, &mut random)).expect("nothing fails now");
        node.is_certainly(Some(number));
    }
    let kinds = store.survey().expect("nothing fails now").into_iter().map(|file| file.kind);
    assert!(kinds.eq(nodes.iter().map(|node| StateFileKind::Snapshot(node.id.clone()))), "seed {seed}");
    disk.crash();
    check_after_crash(&store, &mut nodes);
    let newest = store.latest().expect("nothing fails now").newest.map(|(_, snapshot)| snapshot.cluster_epoch);
    assert_eq!(newest, Some(number));
    crashes
}

#[test]
fn whatever_fails_the_old_snapshot_is_there_or_the_new_one() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (runs, first) = (number("SNAPSHOT_CRASH_RUNS", 500), number("SNAPSHOT_CRASH_SEED", 0));
    let mut crashes = 0;
    for seed in first..first + runs {
        let result = std::panic::catch_unwind(|| run(seed));
        crashes += result.unwrap_or_else(|_| panic!("SNAPSHOT_CRASH_SEED={seed} SNAPSHOT_CRASH_RUNS=1 shows it again"));
    }
    println!("{runs} seeded runs from seed {first}: the power went {crashes} times within an operation");
    assert!(runs < 100 || u64::from(crashes) > runs, "the power hardly ever went: {crashes}");
}
