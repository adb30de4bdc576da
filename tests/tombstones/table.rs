//! What one table answers, by its clock.

use std::time::Duration;

use membrane_codec::tombstone::{Clock, Gossip, LimitError, Nodes, SystemClock, TombstoneTable, Until};

use crate::clock::{ManualClock, hash, table_and_clock, until};

fn names(table: &TombstoneTable<ManualClock>, number: u64) -> Vec<String> {
    table.get(&hash(number)).expect("active").nodes.iter().map(str::to_owned).collect()
}

#[test]
fn a_tombstone_is_active_before_its_deadline_and_not_at_it() {
    let (table, clock) = table_and_clock();
    assert!(!table.is_active(&hash(1)));
    assert_eq!(table.record(hash(1), Some(until(1010.5)), "node-1"), until(1010.5));
    for (millis, active) in [(1_000_000, true), (1_010_499, true), (1_010_500, false), (1_010_501, false)] {
        clock.set_millis(millis);
        assert_eq!(table.is_active(&hash(1)), active, "at {millis} ms");
        assert_eq!(table.active_until(&hash(1)), active.then_some(until(1010.5)), "at {millis} ms");
        assert_eq!(table.get(&hash(1)).is_some(), active, "at {millis} ms");
        assert_eq!(table.active().len(), usize::from(active), "at {millis} ms");
    }
    assert!(!table.is_active(&hash(2)));
    assert_eq!(table.len(), 1, "over, not swept");
}

#[test]
fn without_a_deadline_it_lasts_sixty_seconds() {
    let (table, _) = table_and_clock();
    assert_eq!(table.record(hash(1), None, "node-1"), until(1060.0));
}

#[test]
fn the_later_deadline_wins_and_nodes_are_joined() {
    let (table, _) = table_and_clock();
    assert_eq!(table.record(hash(1), Some(until(1020.0)), "node-2"), until(1020.0));
    assert_eq!(table.record(hash(1), Some(until(1010.0)), "node-1"), until(1020.0));
    assert_eq!(table.record(hash(1), Some(until(1030.0)), "node-2"), until(1030.0));
    assert_eq!(names(&table, 1), ["node-1", "node-2"]);
    // Tombstones share their nodes as long as they have the same: one that gets more leaves the others alone.
    table.record(hash(2), None, "node-2");
    table.record(hash(3), None, "node-2");
    table.record(hash(2), None, "node-9");
    assert_eq!(names(&table, 2), ["node-2", "node-9"]);
    assert_eq!(names(&table, 3), ["node-2"]);
    assert_eq!(table.len(), 3);
}

#[test]
fn a_sweep_drops_what_is_over_and_says_what() {
    let (table, clock) = table_and_clock();
    table.record(hash(1), Some(until(1010.0)), "node-1");
    table.record(hash(2), Some(until(1020.0)), "node-1");
    assert_eq!(table.sweep(), []);
    clock.set(1010);
    let dropped = table.sweep();
    assert_eq!(dropped.len(), 1);
    assert_eq!((dropped[0].content_hash, dropped[0].until), (hash(1), until(1010.0)));
    assert_eq!(dropped[0].nodes.iter().collect::<Vec<_>>(), ["node-1"]);
    assert_eq!(table.len(), 1);
    assert_eq!(table.sweep(), []);
}

#[test]
fn what_was_dropped_begins_anew() {
    let (table, clock) = table_and_clock();
    table.record(hash(1), Some(until(1010.0)), "node-1");
    clock.set(1010);
    assert_eq!(table.sweep().len(), 1);
    // With an earlier deadline than the one that was dropped, and without its nodes.
    clock.set(1000);
    assert!(!table.is_active(&hash(1)));
    assert_eq!(table.record(hash(1), Some(until(1005.0)), "node-2"), until(1005.0));
    assert_eq!(names(&table, 1), ["node-2"]);
    assert_eq!(table.len(), 1);
}

#[test]
fn a_clock_that_goes_back_makes_active_again_what_was_not_swept() {
    let (table, clock) = table_and_clock();
    table.record(hash(1), Some(until(1010.0)), "node-1");
    let gossip = table.active();
    clock.set(2000);
    assert!(!table.is_active(&hash(1)));
    clock.set(1009);
    assert!(table.is_active(&hash(1)));
    // What was swept comes back with the next gossip.
    clock.set(2000);
    table.sweep();
    clock.set(1009);
    assert!(!table.is_active(&hash(1)));
    assert_eq!(table.merge(&gossip).learned, 1);
    assert!(table.is_active(&hash(1)));
}

#[test]
fn a_deadline_is_finite() {
    for seconds in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Until::from_unix_seconds(seconds).expect_err("refused");
        assert_eq!(error.to_string(), "expected a finite number of seconds");
    }
    assert_eq!(Until::from_unix_time(Duration::MAX).as_unix_seconds(), 18_446_744_073_709_551_616.0);
    assert_eq!(until(-0.0), until(0.0));
    assert_eq!(until(-0.0).max(until(0.0)).as_unix_seconds().to_bits(), 0);
    let (table, clock) = table_and_clock();
    for (number, seconds) in [(1, f64::MAX), (2, f64::MIN), (3, 0.0), (4, -1.5)] {
        assert_eq!(table.record(hash(number), Some(until(seconds)), "node-1"), until(seconds));
    }
    assert_eq!([1, 2, 3, 4].map(|number| table.is_active(&hash(number))), [true, false, false, false]);
    assert_eq!(table.sweep().len(), 3);
    // The last time that a clock can show.
    clock.set_millis(u64::MAX);
    assert!(table.is_active(&hash(1)));
    assert_eq!(table.sweep(), []);
}

#[test]
fn the_latest_clock_still_gives_a_default_deadline() {
    struct LastClock;
    impl Clock for LastClock {
        fn now(&self) -> Duration {
            Duration::MAX
        }
    }
    let table = TombstoneTable::with_clock(LastClock);
    assert_eq!(table.record(hash(1), None, "node-1").as_unix_seconds(), 18_446_744_073_709_551_616.0);
}

#[test]
fn the_system_clock_is_the_systems() {
    let exact = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let before = exact();
    let now = SystemClock.now();
    // A tick behind at most.
    assert!(now + Duration::from_millis(50) > before, "{now:?} and {before:?}");
    assert!(now <= exact(), "{now:?}");
}

#[test]
fn a_merge_says_what_came_of_each_entry() {
    let (table, _) = table_and_clock();
    table.record(hash(1), Some(until(1010.0)), "node-1");
    table.record(hash(2), Some(until(1010.0)), "node-1");
    table.record(hash(3), Some(until(1010.0)), "node-1");
    let gossip: Gossip = [(1, 1010.0), (2, 1009.0), (3, 1011.0), (4, 1001.0), (5, 1000.0), (6, -5.0)]
        .into_iter()
        .map(|(number, seconds)| (hash(number), until(seconds)))
        .collect();
    let merged = table.merge(&gossip);
    assert_eq!((merged.known, merged.extended, merged.learned, merged.expired), (2, 1, 1, 2));
    assert_eq!(table.active_until(&hash(3)), Some(until(1011.0)));
    assert_eq!(table.active_until(&hash(4)), Some(until(1001.0)));
    assert_eq!(names(&table, 3), ["node-1"], "gossip names no nodes and removes none");
    assert!(table.get(&hash(4)).expect("active").nodes.is_empty());
    assert_eq!(table.len(), 4);
}

#[test]
fn gossip_cannot_fill_a_table_beyond_its_limit() {
    let clock = ManualClock::at(1000);
    let table = TombstoneTable::with_clock(clock.clone()).with_max_len(3);
    table.record(hash(1), Some(until(1010.0)), "node-1");
    let gossip: Gossip = (1..=10).map(|number| (hash(number), until(1020.0))).collect();
    let merged = table.merge(&gossip);
    assert_eq!((merged.extended, merged.learned, merged.no_room), (1, 2, 7));
    assert_eq!(table.len(), 3);
    // One's own deletes are recorded, and what is known is extended.
    table.record(hash(50), Some(until(1010.0)), "node-1");
    assert!(table.is_active(&hash(50)));
    let merged = table.merge(&[(hash(50), until(1011.0)), (hash(51), until(1011.0))].into_iter().collect());
    assert_eq!((merged.extended, merged.no_room), (1, 1));
    // Where there is room again, the next gossip brings the rest.
    clock.set(1011);
    assert_eq!(table.sweep().len(), 1);
    clock.set(1000);
    assert_eq!(table.len(), 3);
}

#[test]
fn deadlines_too_far_ahead_are_not_believed_where_there_is_a_limit() {
    let clock = ManualClock::at(1000);
    let table = TombstoneTable::with_clock(clock).with_max_ahead(Some(Duration::from_secs(3600)));
    let gossip: Gossip = [(1, 4600.0), (2, 4600.5), (3, f64::MAX)]
        .into_iter()
        .map(|(number, seconds)| (hash(number), until(seconds)))
        .collect();
    let merged = table.merge(&gossip);
    assert_eq!((merged.learned, merged.too_far_ahead), (1, 2));
    assert!(table.is_active(&hash(1)));
    assert!(!table.is_active(&hash(2)));
}

#[test]
fn what_peers_ask_for_keeps_to_the_limits() {
    let table = TombstoneTable::with_clock(ManualClock::at(1000))
        .with_max_len(2)
        .with_max_ahead(Some(Duration::from_secs(3600)));
    let ask = |number, seconds| table.record_from_peer(hash(number), Some(until(seconds)), "peer");
    assert_eq!(ask(1, 1e300), Err(LimitError::TooFarAhead { until: until(1e300) }));
    assert_eq!((ask(1, 4600.0), ask(2, 1010.0)), (Ok(until(4600.0)), Ok(until(1010.0))));
    let refused = (3..1000).map(|number| ask(number, 1010.0));
    assert!(refused.into_iter().all(|refused| refused == Err(LimitError::NoRoom { max_len: 2 })));
    assert_eq!(table.len(), 2);
    // What is known is extended, what is over is not recorded.
    assert_eq!((ask(2, 1020.0), ask(2, 1015.0)), (Ok(until(1020.0)), Ok(until(1020.0))));
    assert_eq!((ask(2, 1000.0), ask(3, 1000.0), table.len()), (Ok(until(1020.0)), Ok(until(1000.0)), 2));
    assert_eq!(table.record_from_peer(hash(1), None, "another"), Ok(until(4600.0)));
    assert_eq!(names(&table, 1), ["another", "peer"]);
}

#[test]
fn names_are_bounded() {
    let (table, _) = table_and_clock();
    for name in [&"n".repeat(251), &"n".repeat(250)] {
        table.record(hash(1), None, name);
    }
    assert_eq!(names(&table, 1), ["n".repeat(250)]);
    (0..1000).for_each(|number| _ = table.record(hash(1), None, &format!("node-{number:03}")));
    let names = names(&table, 1);
    assert_eq!((names.len(), &*names[63]), (Nodes::MAX_LEN, "node-062"));
    table.record(hash(2), None, &"n".repeat(251));
    assert_eq!(table.get(&hash(2)).expect("active").nodes, Nodes::default());
}

#[test]
fn what_was_recorded_by_mistake_can_be_removed() {
    let (table, _) = table_and_clock();
    table.record(hash(1), Some(until(1e300)), "node-1");
    let gossip = table.active();
    let removed = table.remove(&hash(1)).expect("it was there");
    assert_eq!((removed.content_hash, removed.until, removed.nodes.contains("node-1")), (hash(1), until(1e300), true));
    assert_eq!((table.remove(&hash(1)), table.remove(&hash(2))), (None, None));
    assert_eq!((table.is_active(&hash(1)), table.len(), table.sweep()), (false, 0, vec![]));
    // Shorter than what was removed, and counted again.
    assert_eq!(table.record(hash(1), None, "node-2"), until(1060.0));
    assert_eq!((names(&table, 1), table.len()), (vec!["node-2".to_owned()], 1));
    assert_eq!(table.merge(&gossip).extended, 1, "gossip brings it back");
}

/// A deletion after the last one's tombstone is over is its own, whether a sweep came between or not.
#[test]
fn a_deletion_does_not_inherit_the_nodes_of_one_that_is_over() {
    for sweeps in [false, true] {
        let (table, clock) = table_and_clock();
        table.record(hash(1), None, "node-1");
        table.record(hash(2), None, "node-1");
        clock.set(1060);
        if sweeps {
            assert_eq!(table.sweep().len(), 2);
        }
        assert_eq!(table.record(hash(1), None, "node-2"), until(1120.0));
        assert_eq!(names(&table, 1), ["node-2"], "swept: {sweeps}");
        table.merge(&[(hash(2), until(1120.0))].into_iter().collect());
        assert_eq!(names(&table, 2), [""; 0], "swept: {sweeps}");
    }
}

#[test]
fn many_tombstones_come_and_go() {
    const EACH: u64 = 2000;
    let (table, clock) = table_and_clock();
    // Each round records some thousand and drops those of the round before the last; places are used again.
    for round in 0..12_u64 {
        clock.set(1000 + 10 * round);
        for number in 0..EACH {
            table.record(hash(round * EACH + number), Some(until((1000 + 10 * round + 15) as f64)), "node-1");
        }
        let dropped = table.sweep();
        assert_eq!(dropped.len(), if round < 2 { 0 } else { EACH as usize }, "round {round}");
        assert!(dropped.iter().all(|tombstone| tombstone.nodes.contains("node-1")));
        assert_eq!(table.len(), EACH as usize * (round.min(1) as usize + 1));
        let start = round.saturating_sub(3) * EACH;
        for number in start..(round + 2) * EACH {
            let of = number / EACH;
            assert_eq!(table.is_active(&hash(number)), of <= round && of + 2 > round, "{number} in round {round}");
        }
    }
    let mut active: Vec<_> = table.active().iter().collect();
    active.sort();
    let mut expected: Vec<_> =
        (10 * EACH..12 * EACH).map(|number| (hash(number), until((1000 + 10 * (number / EACH) + 15) as f64))).collect();
    expected.sort();
    assert_eq!(active, expected);
}
