//! The laws of merging, and the table beside a naive one under any sequence of calls.

use std::collections::{BTreeMap, BTreeSet};

use membrane_codec::tombstone::{Gossip, Merged, TombstoneTable};
use membrane_codec::{Digest, sha256};
use proptest::prelude::*;

use crate::agreement::check_tombstone_bodies;
use crate::clock::{ManualClock, hash, table_and_clock, until};

/// What a table says is active: the state that laws are about.
fn active(table: &TombstoneTable<ManualClock>) -> BTreeMap<Digest, u64> {
    table.active().iter().map(|(hash, until)| (hash, until.as_unix_seconds().to_bits())).collect()
}

fn merged<'a>(gossips: impl IntoIterator<Item = &'a Gossip>) -> BTreeMap<Digest, u64> {
    let (table, _) = table_and_clock();
    gossips.into_iter().for_each(|gossip| _ = table.merge(gossip));
    active(&table)
}

/// Few hashes and few deadlines, so that they meet; some over, some equal.
fn gossip() -> impl Strategy<Value = Gossip> {
    let entry = (0..12_u64, prop_oneof![Just(999.0), Just(1000.0), 1000.0..1010.0, Just(f64::MAX), Just(-1.0)]);
    prop::collection::vec(entry, 0..20)
        .prop_map(|entries| entries.into_iter().map(|(number, seconds)| (hash(number), until(seconds))).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_is_commutative_associative_and_idempotent(a in gossip(), b in gossip(), c in gossip()) {
        let all = merged([&a, &b, &c]);
        for order in [[&a, &c, &b], [&b, &a, &c], [&b, &c, &a], [&c, &a, &b], [&c, &b, &a]] {
            prop_assert_eq!(&merged(order), &all);
        }
        prop_assert_eq!(&merged([&a, &b, &c, &a, &b, &b, &c]), &all);
        // What went through a third node.
        let (between, _) = table_and_clock();
        between.merge(&b);
        between.merge(&c);
        prop_assert_eq!(&merged([&a, &between.active()]), &all);
        let through_json = Gossip::from_json(between.active().to_json()).expect("its own body");
        prop_assert_eq!(&merged([&a, &through_json]), &all);
        // The second time, nothing is new.
        let (table, _) = table_and_clock();
        let first = table.merge(&a);
        let again = table.merge(&a);
        prop_assert_eq!(first.learned + first.extended + first.known + first.expired, a.len());
        prop_assert_eq!((again.learned, again.extended, again.expired), (0, 0, first.expired));
    }

    #[test]
    fn bodies_are_what_the_naive_reader_reads(body in body()) {
        check_tombstone_bodies(body.as_bytes());
    }

    #[test]
    fn a_table_is_what_a_naive_one_is(calls in prop::collection::vec(call(), 0..100)) {
        let (table, clock) = table_and_clock();
        let mut naive = Naive { now: 1000, tombstones: BTreeMap::new() };
        for call in calls {
            match call {
                Call::Record(number, seconds, node) => {
                    let counts = table.record(hash(number), Some(until(seconds as f64)), &format!("node-{node}"));
                    prop_assert_eq!(counts, until(naive.record(number, seconds, Some(node)) as f64));
                }
                Call::Merge(entries) => {
                    let gossip = entries.iter().map(|(number, seconds)| (hash(*number), until(*seconds as f64)));
                    prop_assert_eq!(table.merge(&gossip.collect()), naive.merge(&entries));
                }
                Call::Sweep => {
                    let dropped: BTreeMap<_, _> = table.sweep().into_iter().map(|dropped| {
                        let nodes: Vec<_> = dropped.nodes.iter().map(str::to_owned).collect();
                        (dropped.content_hash, (dropped.until, nodes))
                    }).collect();
                    prop_assert_eq!(dropped, naive.sweep());
                }
                Call::SetClock(seconds) => {
                    clock.set(seconds as u64);
                    naive.now = seconds;
                }
            }
            prop_assert_eq!(table.len(), naive.tombstones.len());
            for number in 0..40 {
                let expected = naive.tombstones.get(&number).filter(|(until, _)| naive.now < *until);
                prop_assert_eq!(table.is_active(&hash(number)), expected.is_some());
                let nodes = table.get(&hash(number)).map(|found| found.nodes.iter().map(str::to_owned).collect());
                prop_assert_eq!(nodes, expected.map(|(_, nodes)| named(nodes)));
            }
        }
    }
}

/// Objects with the keys of all bodies, some of them twice, and values that are nearly right.
fn body() -> impl Strategy<Value = String> {
    let hashes = prop_oneof![
        4 => (0..4_u64).prop_map(|number| hash(number).to_string()),
        1 => (0..4_u64).prop_map(|number| hash(number).to_string().to_uppercase()),
        1 => "[0-9a-f]{62,66}",
        1 => Just(format!("\\u0030{}", "0".repeat(63))),
        1 => Just("\\ud800".to_owned()),
    ];
    let numbers = prop_oneof![
        4 => (900.0..1100.0).prop_map(|seconds: f64| seconds.to_string()),
        1 => prop::sample::select(vec!["-0", "1e999", "-1e308", "1E3", "01", "NaN", "null", "\"1\"", "[]", "1.", "1e-400"])
            .prop_map(str::to_owned),
    ];
    let entries = prop::collection::vec((hashes.clone(), numbers.clone()), 0..6).prop_map(|entries| {
        let entries: Vec<_> = entries.iter().map(|(hash, until)| format!("\"{hash}\": {until}")).collect();
        format!("{{{}}}", entries.join(","))
    });
    let quoted = |text: String| format!("\"{text}\"");
    let member = prop_oneof![
        (Just("content_hash"), hashes.prop_map(quoted)),
        (
            Just("node_id"),
            prop::sample::select(vec!["node-1", "", "\\udfff", "n\\u00f8de"]).prop_map(move |name| quoted(name.into()))
        ),
        (Just("until"), numbers.clone()),
        (Just("tombstone_until"), numbers.clone()),
        (Just("fragment_tombstones"), prop_oneof![4 => entries, 1 => numbers]),
        (Just("unknown"), Just("[{}, \"\"]".to_owned())),
    ];
    prop::collection::vec(member, 0..7).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(", "))
    })
}

#[derive(Clone, Debug)]
enum Call {
    Record(u64, i64, u8),
    Merge(Vec<(u64, i64)>),
    Sweep,
    SetClock(i64),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => (0..40_u64, 990..1100_i64, 0..4_u8).prop_map(|(number, until, node)| Call::Record(number, until, node)),
        2 => prop::collection::vec((0..40_u64, 990..1100_i64), 0..10).prop_map(Call::Merge),
        1 => Just(Call::Sweep),
        2 => (990..1100_i64).prop_map(Call::SetClock),
    ]
}

/// The contract's section 5, as plainly as it can be said.
struct Naive {
    now: i64,
    tombstones: BTreeMap<u64, (i64, BTreeSet<u8>)>,
}

fn named(nodes: &BTreeSet<u8>) -> Vec<String> {
    nodes.iter().map(|node| format!("node-{node}")).collect()
}

impl Naive {
    fn record(&mut self, number: u64, until: i64, node: Option<u8>) -> i64 {
        let tombstone = self.tombstones.entry(number).or_insert((until, BTreeSet::new()));
        if self.now >= tombstone.0 && self.now < until {
            tombstone.1.clear();
        }
        tombstone.0 = tombstone.0.max(until);
        tombstone.1.extend(node);
        tombstone.0
    }

    fn merge(&mut self, entries: &[(u64, i64)]) -> Merged {
        let mut merged = Merged::default();
        for (number, until) in entries {
            let held = self.tombstones.get(number).map(|(until, _)| *until);
            *match held {
                _ if self.now >= *until => &mut merged.expired,
                None => &mut merged.learned,
                Some(held) if held < *until => &mut merged.extended,
                Some(_) => &mut merged.known,
            } += 1;
            if self.now < *until {
                self.record(*number, *until, None);
            }
        }
        merged
    }

    fn sweep(&mut self) -> BTreeMap<Digest, (membrane_codec::tombstone::Until, Vec<String>)> {
        let now = self.now;
        let over: BTreeMap<_, _> = self
            .tombstones
            .iter()
            .filter(|(_, (until, _))| now >= *until)
            .map(|(number, held)| (*number, held.clone()))
            .collect();
        self.tombstones.retain(|_, (until, _)| now < *until);
        over.into_iter()
            .map(|(number, (seconds, nodes))| (sha256(&number.to_le_bytes()), (until(seconds as f64), named(&nodes))))
            .collect()
    }
}
