//! Any text, and any text that is nearly a snapshot, gets the verdict of the naive reader, and says the same.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::agreement::check_snapshot;

/// JSON values of all kinds, small.
fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1",
            "5",
            "17",
            "65535",
            "65536",
            "-1",
            "1.5",
            "1e2",
            "1e999",
            "\"\"",
            "\"n\"",
            "\"a/b\"",
            "\"\\u0061\"",
            "\"\\ud800\"",
            "\"\\\"]\"",
            "18446744073709551616",
            "01",
            "nul",
            "{}",
            "[]",
            "\"..\"",
        ])
        .prop_map(String::from),
        "\"[ -!#-\\[\\]-~]{0,6}\"",
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let entry = (keys(), inner.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            vec(inner, 0..4).prop_map(|elements| format!("[{}]", elements.join(", "))),
            vec(entry, 0..4).prop_map(|entries| format!("{{{}}}", entries.join(","))),
        ]
    })
}

fn keys() -> impl Strategy<Value = String> {
    select(vec![
        "\"schema_version\"",
        "\"cluster_epoch\"",
        "\"captured_at\"",
        "\"membership\"",
        "\"shards\"",
        "\"server\"",
        "\"node_id\"",
        "\"host\"",
        "\"port\"",
        "\"healthy\"",
        "\"suspect\"",
        "\"missed_heartbeats\"",
        "\"primary_map\"",
        "\"replica_map\"",
        "\"request_count\"",
        "\"error_count\"",
        "\"x\"",
        "\"\"",
        "\"hash1\"",
        "\"h\\u0061sh1\"",
        "\"\\u0073hards\"",
        "\"p\\u006frt\"",
    ])
    .prop_map(String::from)
}

/// An object with the entries of a snapshot, each there, not there, there twice, or with another value.
fn nearly_snapshots() -> impl Strategy<Value = String> {
    let or_any = |value: BoxedStrategy<String>| prop_oneof![40 => value, 1 => values().boxed()].boxed();
    let text = |text: &str| Just(text.to_owned()).boxed();
    let object = |entries: Vec<(&'static str, u32, BoxedStrategy<String>)>| {
        let entries: Vec<_> = entries
            .into_iter()
            .map(|(key, often, value)| {
                let value = || prop_oneof![60 => value.clone(), 1 => values().boxed()];
                let entry = || value().prop_map(move |value| format!("\"{key}\": {value}"));
                prop_oneof![
                    1 => Just(Vec::new()).boxed(),
                    often => entry().prop_map(|entry| vec![entry]).boxed(),
                    1 => (entry(), entry()).prop_map(|(one, other)| vec![one, other]).boxed(),
                ]
            })
            .collect();
        let unknown = vec((keys(), values()).prop_map(|(key, value)| format!("{key} : {value}")), 0..2);
        (entries, unknown).prop_map(|(entries, unknown)| {
            let all: Vec<_> = unknown.into_iter().chain(entries.into_iter().flatten()).collect();
            format!("{{{}}}", all.join(", "))
        })
    };
    let epoch = || select(vec!["0", "17", "18446744073709551615"]).prop_map(String::from).boxed();
    let member = object(vec![
        ("node_id", 150, select(vec!["\"n\"", "\"node-1\"", "\"\\u006e\""]).prop_map(String::from).boxed()),
        ("host", 150, text("\"10.0.0.1\"")),
        ("port", 150, select(vec!["1", "65535"]).prop_map(String::from).boxed()),
        ("cluster_epoch", 20, epoch()),
        ("healthy", 20, text("false")),
        ("suspect", 20, text("true")),
        ("missed_heartbeats", 20, epoch()),
    ]);
    let map = |value: BoxedStrategy<String>| {
        let key = || select(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "\\u0061", "\\\"", ""]);
        let entry = (key(), or_any(value)).prop_map(|(key, value)| format!("\"{key}\" :{value}"));
        vec(entry, 0..3).prop_map(|entries| format!("{{{}}}", entries.join("\n,"))).boxed()
    };
    let node = || select(vec!["\"n\"", "\"\"", "\"\\\\\""]).prop_map(String::from).boxed();
    let nodes = vec(node(), 0..3).prop_map(|nodes| format!("[ {}]", nodes.join(" ,"))).boxed();
    let shards = object(vec![("primary_map", 30, map(node())), ("replica_map", 30, map(nodes))]);
    let server = object(vec![("request_count", 30, epoch()), ("error_count", 30, epoch())]);
    let members = vec(member, 0..3).prop_map(|members| format!("[{}]", members.join(", ")));
    object(vec![
        ("schema_version", 200, text("5")),
        ("cluster_epoch", 200, epoch()),
        ("captured_at", 200, select(vec!["0", "1.5", "1e3"]).prop_map(String::from).boxed()),
        ("membership", 60, members.boxed()),
        ("shards", 60, shards.boxed()),
        ("server", 60, server.boxed()),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nearly_snapshots_get_the_naive_verdict(json in nearly_snapshots()) {
        check_snapshot(json.as_bytes());
    }

    #[test]
    fn snapshots_that_are_cut_or_changed_get_it_too(
        json in nearly_snapshots(),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![select(b"\"\\{}[]:,0e-. \n\x00\x7f\xc3\xff".to_vec()), any::<u8>()],
        cut in any::<bool>(),
    ) {
        let mut bytes = json.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        check_snapshot(&bytes[..if cut { at } else { bytes.len() }]);
    }

    #[test]
    fn any_json_gets_it_too(json in values()) {
        check_snapshot(json.as_bytes());
    }
}

/// Otherwise the properties would hold for refusals alone.
#[test]
fn many_of_them_are_snapshots() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let strategy = nearly_snapshots();
    let sound = (0..200).filter(|_| {
        let json = strategy.new_tree(&mut runner).expect("a tree").current();
        check_snapshot(json.as_bytes())
            .is_some_and(|snapshot| snapshot.shards.primary_len() + snapshot.membership.len() > 0)
    });
    let sound = sound.count();
    assert!(sound > 20, "{sound} of 200");
}
