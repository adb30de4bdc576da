//! A process that checkpoints, killed at any instant: its last snapshot is there, or the one after it.
//!
//! `SNAPSHOT_KILLS` sets how many there are.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use membrane_codec::snapshot::SnapshotStore;

use crate::support::{names_in, node, snapshot, state_dir};

const STATE_DIR: &str = "SNAPSHOT_STATE_DIR";
const FIRST: &str = "SNAPSHOT_FIRST";

/// Some are longer than the buffer that they are written through.
fn shards_of(number: u64) -> usize {
    (number % 4 * 900) as usize
}

#[test]
#[ignore = "a process that another test starts"]
fn checkpoint_for_ever() {
    let store =
        SnapshotStore::open(std::env::var_os(STATE_DIR).expect("started by another test")).expect("it is there");
    let first: u64 = std::env::var(FIRST).expect("started by another test").parse().expect("a number");
    println!();
    for number in first.. {
        store.checkpoint(&node("node-1"), &snapshot(number, shards_of(number))).expect("there is room");
        println!("checkpoint {number}");
    }
}

#[test]
fn killed_at_any_instant() {
    let kills: u64 = std::env::var("SNAPSHOT_KILLS").map_or(12, |text| text.parse().expect("a number"));
    let (directory, store) = state_dir();
    let node = node("node-1");
    let (mut last, mut leftovers, mut unheard) = (0, 0, 0);
    for kill in 0..kills {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command.args(["kill::checkpoint_for_ever", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env(STATE_DIR, directory.path()).env(FIRST, (last + 1).to_string());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut acknowledged = last;
        let mut take = |line: String| {
            if let Some(number) = line.strip_prefix("checkpoint ") {
                acknowledged = number.parse().expect("a number");
            }
            acknowledged > last
        };
        // From the first checkpoint on, after a while that differs.
        while !take(lines.next().expect("it goes on").expect("text")) {}
        std::thread::sleep(Duration::from_micros(kill * 7919 % 20_000));
        child.kill().expect("it runs");
        child.wait().expect("it is ours");
        lines.for_each(|line| _ = line.map(&mut take));

        let found = store.load(&node).expect("the old one or the new one").expect("there was one");
        let number = found.cluster_epoch;
        assert_eq!(found, snapshot(number, shards_of(number)));
        assert!(number == acknowledged || number == acknowledged + 1, "{number}, after {acknowledged}");
        let names = names_in(directory.path());
        assert!(names == ["node-1.json"] || names == [".node-1.tmp", "node-1.json"], "{names:?}");
        leftovers += names.len() - 1;
        unheard += number - acknowledged;
        last = number;
    }
    println!("{kills} kills: {last} checkpoints, {leftovers} leftovers, {unheard} checkpoints whole and unheard of");
    store.checkpoint(&node, &snapshot(last, 1)).expect("there is room");
    assert_eq!(names_in(directory.path()), ["node-1.json"]);
}
