//! `verify --state` with a state file that is damaged, somebody else's, or cannot be written: no file is passed over that
//! should be verified, and nothing is lost that was not a state.

#![cfg(unix)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use serde_json::json;
use support::{
    SmallDisk, damage, directory, json_lines, names_in, paths_with, run, set_mode, small_payloads, write_store,
};
use tempfile::TempDir;

const FILES: u32 = 60;

/// A store, the state of a run over all of it, and files that changed since.
struct Verified {
    directory: TempDir,
    state: Vec<u8>,
    changed: BTreeSet<String>,
}

impl Verified {
    fn new() -> Self {
        let directory = directory();
        let paths = write_store(directory.path(), small_payloads(FILES));
        assert_eq!(run(&["verify", "store", "--state", "state"], directory.path()).status, Some(0));
        let state = fs::read(directory.path().join("state")).expect("it is there");
        let changed: BTreeSet<_> = paths.into_iter().step_by(2).collect();
        for path in &changed {
            // So little that a flipped bit could make up for it.
            let file = fs::OpenOptions::new().write(true).open(directory.path().join(path)).expect("it opens");
            let modified = file.metadata().and_then(|metadata| metadata.modified()).expect("a time");
            file.set_modified(modified + Duration::from_nanos(256)).expect("it is ours");
        }
        Self { directory, state, changed }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Puts a state in place of what there is.
    fn put(&self, state: &[u8]) {
        for name in names_in(self.directory.path()).iter().filter(|name| name.starts_with("state")) {
            fs::remove_file(self.directory.path().join(name)).expect("it is ours");
        }
        fs::write(self.path(), state).expect("it can be written");
    }

    /// Verifies with the state that is in place; all that changed must be read, and everything when a new run begins.
    /// Whether the state was taken for damaged.
    fn verify(&self, all: bool, what: &str) -> bool {
        let age: &[&str] = if all { &[] } else { &["--max-age", "1h"] };
        let arguments = [&["verify", "store", "--json", "--state", "state"], age].concat();
        let result = run(&arguments, self.directory.path());
        assert_eq!(result.status, Some(0), "{what}: {}{}", result.stdout, result.stderr);
        let (lines, summary) = json_lines(&result.stdout);
        let read: BTreeSet<_> = paths_with(&lines, "ok").into_iter().collect();
        assert!(read.is_superset(&self.changed), "{what}: {:?}", self.changed.difference(&read).next());
        assert!(!all || read.len() == FILES as usize, "{what}: {} were passed over", summary["verified_before"]);
        let begun_anew = !result.stderr.is_empty();
        if begun_anew {
            let start = "membrane-codec: state: the state file is damaged (";
            let end = "); it is now state.damaged-1, and a new one is begun: everything is verified\n";
            assert!(result.stderr.starts_with(start) && result.stderr.ends_with(end), "{what}: {}", result.stderr);
            assert!(names_in(self.directory.path()).contains(&"state.damaged-1".to_owned()), "{what}");
            let again = run(&arguments, self.directory.path());
            assert_eq!((again.status, again.stderr.as_str()), (Some(0), ""), "{what}: {}", again.stdout);
        }
        begun_anew
    }
}

#[test]
fn flipped_bits() {
    let verified = Verified::new();
    let mut begun_anew = 0;
    let mut random = 1_u64;
    let len = verified.state.len() as u64;
    // Each byte of the header, then anywhere.
    for round in 0..160 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = if round < 100 { round } else { (random >> 20) % len };
        let mut state = verified.state.clone();
        state[at as usize] ^= 1 << (random >> 61);
        verified.put(&state);
        let what = format!("bit {} of byte {at}", random >> 61);
        begun_anew += u32::from(verified.verify(round % 2 == 0, &what));
    }
    assert!(begun_anew > 10, "{begun_anew}");
}

#[test]
fn lost_parts() {
    let verified = Verified::new();
    let len = verified.state.len();
    for all in [true, false] {
        for cut in [1, 15, 16, 99, 100, 512, 4095, 4096, 4097, 8192, len - 4096] {
            verified.put(&verified.state[..cut]);
            assert!(verified.verify(all, &format!("cut at byte {cut}")), "cut at byte {cut}");
        }
        for page in 0..len / 4096 {
            for filling in [0, 0xff, 0xa5] {
                let mut state = verified.state.clone();
                state[page * 4096..(page + 1) * 4096].fill(filling);
                verified.put(&state);
                verified.verify(all, &format!("page {page} full of {filling:#x}"));
            }
        }
        let garbage: Vec<u8> = (0..20_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        verified.put(&garbage);
        assert!(verified.verify(all, "garbage"));
        let aside = fs::read(verified.directory.path().join("state.damaged-1")).expect("it was set aside");
        assert_eq!(aside, garbage);
        verified.put(b"");
        assert!(!verified.verify(all, "an empty file is a new state"));
    }
}

#[test]
fn values_that_were_tampered_with() {
    let verified = Verified::new();
    let root = verified.directory.path();
    let store = |path: &str| root.join(path);
    let damaged = verified.changed.first().expect("there are some").clone();
    let before = fs::metadata(store(&damaged)).and_then(|metadata| metadata.modified()).expect("a time");
    damage(&store(&damaged));
    let file = fs::OpenOptions::new().write(true).open(store(&damaged)).expect("it opens");
    file.set_modified(before).expect("it is ours");
    let nanoseconds = before.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_nanos();
    let absolute = store(&damaged).display().to_string();
    let tampered = |sql: &str, more: &[&str]| {
        verified.put(&verified.state);
        let database = Connection::open(verified.path()).expect("a database");
        assert!(database.execute(sql, []).expect("its schema") > 0, "{sql}");
        drop(database);
        let result = run(&[&["verify", "store", "--json", "--state", "state"], more].concat(), root);
        assert_eq!(result.status, Some(1), "{sql}: {}", result.stderr);
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!(paths_with(&lines, "corrupt_payload"), std::slice::from_ref(&damaged), "{sql}");
        summary
    };
    let hour = ["--max-age", "1h"];
    let one = format!("WHERE CAST(path AS TEXT) = '{absolute}'");
    tampered(&format!("UPDATE files SET modified = {nanoseconds} {one}"), &hour);
    tampered(&format!("UPDATE files SET modified = {nanoseconds}, len = len {one}"), &hour);
    tampered("UPDATE files SET seal = 0", &hour);
    tampered("UPDATE files SET seal = 'text'", &hour);
    tampered("UPDATE files SET status = x'ff'", &hour);
    tampered("UPDATE files SET status = CAST(x'ff' AS TEXT)", &hour);
    tampered("UPDATE files SET len = 'x', modified = 1.5", &hour);
    // Each of these would make something sound that is due.
    let half = json!(FILES / 2);
    assert_eq!(tampered("UPDATE files SET verified = verified", &hour)["ok"], json!(FILES / 2 - 1));
    assert_eq!(tampered("UPDATE files SET run = 99", &hour)["verified_before"], half);
    let all = json!(FILES - 1);
    let later = "UPDATE files SET verified = verified + 3600000000000";
    assert_eq!(tampered(later, &["--max-age", "0s"])["ok"], all);
    assert_eq!(tampered("UPDATE files SET checks = 3", &["--check-hash", "--max-age", "1h"])["ok"], all);
    for run in [
        "finished = NULL",
        "started = 0, finished = NULL",
        "finished = NULL, id = 5",
        "finished = 'x'",
        "started = -1, finished = NULL, id = 9223372036854775807",
        "seal = 0, finished = NULL",
    ] {
        assert_eq!(tampered(&format!("UPDATE runs SET {run}"), &[])["ok"], all, "{run}");
    }
    assert_eq!(tampered("DELETE FROM runs", &[])["ok"], all);
    assert_eq!(tampered("DELETE FROM files", &hour)["ok"], all);
    // The entry of another file.
    let other = format!(
        "INSERT OR REPLACE INTO files SELECT CAST('{absolute}' AS BLOB), len, {nanoseconds}, verified, checks, manifest, \
         status, seal, run FROM files LIMIT 1"
    );
    tampered(&other, &hour);
}

#[test]
fn tables_that_are_gone() {
    let verified = Verified::new();
    for (all, sql) in [
        (true, "DROP TABLE files"),
        (true, "DROP TABLE runs"),
        (false, "ALTER TABLE files DROP COLUMN seal"),
        (true, "ALTER TABLE runs RENAME COLUMN seal TO other"),
        (true, "PRAGMA user_version = 7"),
        (true, "PRAGMA application_id = 7"),
    ] {
        verified.put(&verified.state);
        Connection::open(verified.path()).expect("a database").execute_batch(sql).expect("its schema");
        verified.verify(all, sql);
    }
}

#[test]
fn what_is_no_state_stays_as_it_is() {
    let directory = directory();
    write_store(directory.path(), small_payloads(2));
    let at = |name: &str| directory.path().join(name);
    let create = |name: &str, sql: &str| {
        Connection::open(at(name)).expect("a database").execute_batch(sql).expect("it can be made");
    };
    create("mine", "CREATE TABLE files (path TEXT); INSERT INTO files VALUES ('precious')");
    create("versioned", "PRAGMA user_version = 1; CREATE TABLE things (thing)");
    create("application", "PRAGMA application_id = 1; PRAGMA user_version = 1; CREATE TABLE things (thing)");
    create("later", "PRAGMA application_id = 1296192078; PRAGMA user_version = 2; CREATE TABLE things (thing)");
    fs::write(at("text"), "precious words, and an umlaut: ä\n".repeat(200)).expect("it can be written");
    fs::write(at("frame"), support::frame_of(b"precious")).expect("it can be written");
    for (name, problem) in [
        ("mine", "is a database of something else; name another file"),
        ("versioned", "is a database of something else; name another file"),
        ("application", "is a database of something else; name another file"),
        ("later", "is a database of something else; name another file"),
        ("text", "is a text, no state; name another file"),
        ("frame", "is a frame, no state; name another file"),
        ("store", "is not a regular file"),
        ("/dev/null", "is not a regular file"),
    ] {
        let bytes = || fs::read(at(name)).ok();
        let (before, names) = (bytes(), names_in(directory.path()));
        let result = run(&["verify", "store", "--state", name], directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{name}");
        assert_eq!(result.stderr, format!("membrane-codec: {name}: {problem}\n"));
        assert!(bytes() == before, "{name}");
        assert_eq!(names_in(directory.path()), names);
    }
}

#[test]
fn damaged_states_are_kept_apart() {
    let verified = Verified::new();
    verified.put(&[0xf1; 5000]);
    verified.verify(true, "once");
    fs::write(verified.path(), [0xf2; 5000]).expect("it can be written");
    let result = run(&["verify", "store", "--state", "state"], verified.directory.path());
    assert!(result.stderr.contains("it is now state.damaged-2,"), "{}", result.stderr);
    let first_byte = |name: &str| fs::read(verified.directory.path().join(name)).expect("it is there")[0];
    assert_eq!((first_byte("state.damaged-1"), first_byte("state.damaged-2")), (0xf1, 0xf2));
}

#[test]
fn a_full_disk_costs_the_memory_of_the_run_and_no_verdict() {
    let Some(disk) = SmallDisk::mount(2 << 20) else { return };
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(3000));
    damage(&directory.path().join(&paths[7]));
    let state = disk.path().join("state");
    let name = state.to_str().expect("text");
    assert_eq!(run(&["verify", &paths[0], "--state", name], directory.path()).status, Some(0));
    disk.fill_up_to(200 << 10);
    let result = run(&["verify", "store", "--json", "--state", name], directory.path());
    assert_eq!(result.status, Some(2));
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((lines.len(), &summary["ok"], &summary["corrupt_payload"]), (3000, &json!(2999), &json!(1)));
    assert_eq!(
        result.stderr,
        format!(
            "membrane-codec: {name}: database or disk is full; from here on nothing is remembered\n\
             membrane-codec: {name}: database or disk is full\n"
        )
    );
    // With room again, what was remembered is believed and the rest verified.
    fs::remove_file(disk.path().join("filler")).expect("it is ours");
    let result = run(&["verify", "store", "--json", "--state", name], directory.path());
    let (lines, _) = json_lines(&result.stdout);
    assert_eq!((result.status, result.stderr.as_str()), (Some(1), ""));
    assert_eq!(paths_with(&lines, "corrupt_payload"), [paths[7].clone()]);
}

#[test]
fn a_state_that_may_not_be_written_is_refused_before_any_work() {
    let directory = directory();
    write_store(directory.path(), small_payloads(2));
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("closed")).expect("it is ours");
    fs::create_dir(at("locked")).expect("it is ours");
    set_mode(&at("locked"), 0o555);
    assert_eq!(run(&["verify", "store", "--state", "theirs"], directory.path()).status, Some(0));
    set_mode(&at("theirs"), 0o444);
    for (state, problem) in [
        ("closed/state", "unable to open database file: closed/state"),
        ("locked/state", "unable to open database file: locked/state"),
        ("no/such/state", "unable to open database file: no/such/state"),
        ("theirs", "cannot be read and written: Permission denied (os error 13)"),
    ] {
        let arguments = ["verify", "store", "--state", state];
        let result = support::run_as_ordinary_user(&arguments, directory.path(), &at("closed"));
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{state}");
        assert_eq!(result.stderr, format!("membrane-codec: {state}: {problem}\n"));
    }
    assert_eq!(names_in(directory.path()), ["closed", "locked", "program", "store", "theirs"]);
}

#[test]
fn nothing_is_left_beside_the_state() {
    let directory = directory();
    write_store(directory.path(), small_payloads(2));
    assert_eq!(run(&["verify", "store", "--state", "state"], directory.path()).status, Some(0));
    assert_eq!(names_in(directory.path()), ["state", "store"]);
}
