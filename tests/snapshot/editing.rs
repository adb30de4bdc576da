//! A snapshot that a node makes and changes is the one that plain maps would hold, and never grows beyond what it holds.

use std::collections::BTreeMap;

use membrane_codec::snapshot::{CapturedAt, Member, Snapshot};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::agreement::check_snapshot;
use crate::support::node;

#[derive(Clone, Debug)]
enum Edit {
    SetPrimary(String, String),
    SetReplicas(String, Vec<String>),
    RemovePrimary(String),
    RemoveReplicas(String),
    /// Written and read again.
    Reload,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let hash = || {
        select(vec!["", "a", "b", "hash1", "\"", "\\", "\\u0061", "\u{1f600}\n", "[", "a\"b", "a\\"])
            .prop_map(String::from)
    };
    let edit = prop_oneof![
        4 => (hash(), hash()).prop_map(|(hash, node)| Edit::SetPrimary(hash, node)),
        4 => (hash(), vec(hash(), 0..4)).prop_map(|(hash, nodes)| Edit::SetReplicas(hash, nodes)),
        1 => hash().prop_map(Edit::RemovePrimary),
        1 => hash().prop_map(Edit::RemoveReplicas),
        1 => Just(Edit::Reload),
    ];
    vec(edit, 0..200)
}

#[derive(Default)]
struct Plain {
    primary: BTreeMap<String, String>,
    replica: BTreeMap<String, Vec<String>>,
}

fn assert_same(snapshot: &Snapshot, plain: &Plain) {
    let shards = &snapshot.shards;
    let primaries: BTreeMap<_, _> = shards.primaries().map(|(hash, node)| (hash.into(), node.into())).collect();
    let replicas: BTreeMap<_, _> =
        shards.all_replicas().map(|(hash, nodes)| (hash.into(), nodes.map(String::from).collect())).collect();
    assert_eq!((&primaries, &replicas), (&plain.primary, &plain.replica));
    assert_eq!((shards.primary_len(), shards.replica_len()), (plain.primary.len(), plain.replica.len()));
    for (hash, node) in &plain.primary {
        assert_eq!(shards.primary(hash).expect("it is there"), node.as_str());
    }
    assert!(shards.primary("nobody").is_none() && shards.replicas("nobody").is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_are_those_of_plain_maps(edits in edits()) {
        let mut snapshot = Snapshot::new(1, CapturedAt::from_unix_seconds(1.0).expect("a time"));
        let mut plain = Plain::default();
        for edit in edits {
            match edit {
                Edit::SetPrimary(hash, node) => {
                    snapshot.shards.set_primary(&hash, &node);
                    plain.primary.insert(hash, node);
                }
                Edit::SetReplicas(hash, nodes) => {
                    snapshot.shards.set_replicas(&hash, &nodes);
                    plain.replica.insert(hash, nodes);
                }
                Edit::RemovePrimary(hash) => {
                    assert_eq!(snapshot.shards.remove_primary(&hash), plain.primary.remove(&hash).is_some());
                }
                Edit::RemoveReplicas(hash) => {
                    assert_eq!(snapshot.shards.remove_replicas(&hash), plain.replica.remove(&hash).is_some());
                }
                Edit::Reload => {
                    let again = check_snapshot(&snapshot.to_json()).expect("what is written is a snapshot");
                    assert_eq!(again, snapshot);
                    snapshot = again;
                }
            }
            assert_same(&snapshot, &plain);
        }
    }
}

#[test]
fn what_was_overwritten_is_cleared_away() {
    let mut snapshot = Snapshot::new(1, CapturedAt::now());
    let measured = allocation_counter::measure(|| {
        for round in 0..20_000 {
            let hash = format!("{:064x}", round % 100);
            snapshot.shards.set_primary(&hash, &format!("node-{round}"));
            snapshot.shards.set_replicas(&hash, ["node-1", "node-2"]);
        }
    });
    assert_eq!((snapshot.shards.primary_len(), snapshot.shards.replica_len()), (100, 100));
    assert_eq!(snapshot.shards.primary(&format!("{:064x}", 99)).expect("it is there"), "node-19999");
    // 200 entries of some 90 bytes; all that was written is 3.4 MB.
    assert!(measured.bytes_max < 150_000, "{} bytes", measured.bytes_max);
}

#[test]
fn snapshots_are_the_same_when_they_say_the_same() {
    let one = || Snapshot::new(1, CapturedAt::from_unix_seconds(1.0).expect("a time"));
    let with = |edit: fn(&mut Snapshot)| {
        let mut snapshot = one();
        edit(&mut snapshot);
        snapshot
    };
    assert_eq!(one(), one());
    let two_orders = [["a", "b"], ["b", "a"]].map(|order| {
        let mut snapshot = one();
        order.iter().for_each(|hash| snapshot.shards.set_primary(hash, "n"));
        snapshot
    });
    assert_eq!(two_orders[0], two_orders[1]);
    for other in [
        with(|snapshot| snapshot.cluster_epoch = 2),
        with(|snapshot| snapshot.captured_at = CapturedAt::from_unix_seconds(2.0).expect("a time")),
        with(|snapshot| snapshot.membership.push(Member::new(node("n"), "h", 1.try_into().expect("not 0")))),
        with(|snapshot| snapshot.server.error_count = 1),
        with(|snapshot| snapshot.shards.set_primary("a", "n")),
        with(|snapshot| snapshot.shards.set_replicas("a", [""; 0])),
    ] {
        assert_ne!(other, one());
    }
    let replicas = |nodes: &[&str]| {
        let mut snapshot = one();
        snapshot.shards.set_replicas("a", nodes);
        snapshot
    };
    assert_eq!(replicas(&["n", "m"]), replicas(&["n", "m"]));
    assert_ne!(replicas(&["n", "m"]), replicas(&["m", "n"]));
    assert_ne!(replicas(&["n", "m"]), replicas(&["n"]));
    assert_ne!(replicas(&["n"]), replicas(&["n", "m"]));
}

#[test]
fn times() {
    let time = |seconds| CapturedAt::from_unix_seconds(seconds);
    for seconds in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE] {
        assert_eq!(time(seconds).expect_err("no time").to_string(), "expected a finite number of seconds, at least 0");
    }
    let [earlier, later] = [1.0, 1.5].map(|seconds| time(seconds).expect("a time"));
    assert!(earlier < later && later.max(earlier) == later);
    assert_eq!(later.as_unix_seconds(), 1.5);
    assert!(CapturedAt::now().as_unix_seconds() > 1.7e9);
}

#[test]
fn a_million_shards_are_not_printed() {
    let mut snapshot = Snapshot::new(1, CapturedAt::from_unix_seconds(1.5).expect("a time"));
    (0..1000).for_each(|number| snapshot.shards.set_primary(&number.to_string(), "n"));
    let text = format!("{snapshot:?}");
    assert!(text.contains("primary_len: 1000") && text.len() < 500, "{text}");
}
