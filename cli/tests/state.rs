//! `verify --state`: what was verified before is passed over, and nothing else is, however the run before ended.

#![cfg(unix)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Running, age, damage, directory, json_lines, paths_with, run, small_payloads, whole_lines, write_store};

/// A second run on the same state.
const RESUME: [&str; 5] = ["verify", "store", "--json", "--state", "state"];
/// What was verified a while before the program is killed is on disk.
const ON_DISK_AFTER: Duration = Duration::from_millis(1700);

fn summary(arguments: &[&str], directory: &Path) -> Value {
    json_lines(&run(arguments, directory).stdout).1
}

/// How many files a run read, and how many it passed over.
fn read_and_passed_over(more: &[&str], directory: &Path) -> (Value, Value) {
    let mut summary = summary(&[&RESUME, more].concat(), directory);
    (summary["frames"].take(), summary["verified_before"].take())
}

fn set(paths: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    paths.into_iter().collect()
}

/// A store that takes some five seconds at [`SLOWLY`], in an order that no one knows: the sound frames and the damaged.
fn slow_store(directory: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let large = (0..12).map(|number| vec![number; 1 << 20]);
    let paths = write_store(directory, small_payloads(2000).chain(large));
    let (damaged, sound): (Vec<_>, Vec<_>) = paths.into_iter().enumerate().partition(|(at, _)| at % 500 == 7);
    let [damaged, sound] = [damaged, sound].map(|paths| set(paths.into_iter().map(|(_, path)| path)));
    damaged.iter().for_each(|path| damage(&directory.join(path)));
    (sound, damaged)
}

const SLOWLY: [&str; 2] = ["--limit-rate", "2800K"];

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn between(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) % (to - from)
    }
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let directory = directory();
    let (sound, damaged) = slow_store(directory.path());
    let mut dice = Dice(1);
    let (mut told, mut on_disk, mut kills) = (BTreeSet::new(), BTreeSet::new(), 0);
    let last = loop {
        let mut running = Running::start(&[&RESUME[..], &SLOWLY, &["-j", "2"]].concat(), directory.path());
        let (started, time) = (Instant::now(), Duration::from_millis(dice.between(5, 3200)));
        let mut settled = String::new();
        while started.elapsed() < time && !running.has_ended() {
            if started.elapsed() + ON_DISK_AFTER < time {
                settled = running.stdout();
            }
            sleep(Duration::from_millis(10));
        }
        let ended = running.has_ended();
        if !ended {
            running.signal(Signal::KILL);
            kills += 1;
        }
        let result = running.wait();
        assert_eq!(result.stderr, "");
        let lines = whole_lines(&result.stdout);
        let verified = set(paths_with(&lines, "ok"));
        assert!(verified.is_disjoint(&on_disk), "verified twice: {:?}", verified.intersection(&on_disk).next());
        told.extend(verified);
        on_disk.extend(paths_with(&whole_lines(&settled), "ok"));
        if ended {
            break result;
        }
    };
    assert!(kills > 1, "everything was verified before anything could be killed");
    assert_eq!(last.status, Some(1));
    let (lines, summary) = json_lines(&last.stdout);
    assert_eq!(set(paths_with(&lines, "corrupt_payload")), damaged, "each run tells of them");
    assert_eq!(told.symmetric_difference(&sound).next(), None, "every sound file was told of in some run");
    assert_eq!(
        summary["frames"],
        sound.len() + damaged.len() - summary["verified_before"].as_u64().expect("a number") as usize
    );
    assert!(summary.get("interrupted").is_none());

    // What ended is begun anew.
    assert_eq!(read_and_passed_over(&[], directory.path()), (json!(2012), json!(0)));
}

#[test]
fn killed_in_its_first_moments_it_leaves_a_state_that_can_be_used() {
    let directory = directory();
    write_store(directory.path(), small_payloads(3));
    for micros in (0..24_000).step_by(600) {
        let running = Running::start(&RESUME, directory.path());
        sleep(Duration::from_micros(micros));
        running.signal(Signal::KILL);
        running.wait();
        let result = run(&RESUME, directory.path());
        assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""), "killed after {micros} microseconds");
        for file in ["state", "state-wal", "state-shm"] {
            let _ = fs::remove_file(directory.path().join(file));
        }
    }
}

#[test]
fn a_loss_of_power_costs_work_and_nothing_else() {
    let directory = directory();
    let (sound, damaged) = slow_store(directory.path());
    let mut dice = Dice(2);
    for round in 0..4 {
        let state = format!("state-{round}");
        let arguments = ["verify", "store", "--json", "--state", &state];
        let running = Running::start(&[&arguments[..], &SLOWLY].concat(), directory.path());
        sleep(Duration::from_millis(dice.between(1100, 4000)));
        // In every other round the files are copied while they are written to: no disk would keep less.
        if round % 2 == 0 {
            running.signal(Signal::STOP);
        }
        for suffix in ["", "-wal"] {
            let [from, to] = [&state, "copy"].map(|name| directory.path().join(format!("{name}{suffix}")));
            let _ = fs::remove_file(&to);
            fs::copy(from, to).expect("it can be copied");
        }
        let told_before = whole_lines(&running.stdout());
        running.signal(Signal::KILL);
        let told = whole_lines(&running.wait().stdout);
        assert!(told.len() >= told_before.len());

        let result = run(&["verify", "store", "--json", "--state", "copy"], directory.path());
        assert_eq!(result.status, Some(1));
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!(set(paths_with(&lines, "corrupt_payload")), damaged);
        let all = set(paths_with(&lines, "ok").into_iter().chain(paths_with(&told, "ok")));
        assert_eq!(all.symmetric_difference(&sound).next(), None, "round {round}");
        if round % 2 == 0 {
            assert!(summary["verified_before"].as_u64() > Some(0), "round {round}: {}", result.stderr);
        }
    }
}

#[test]
fn interrupted_it_tells_what_it_has_and_goes_on_there() {
    let directory = directory();
    let (sound, damaged) = slow_store(directory.path());
    let running = Running::start(&["verify", "store", "--state", "other", "--limit-rate", "2800K"], directory.path());
    sleep(Duration::from_millis(1500));
    running.signal(Signal::INT);
    let asked = Instant::now();
    let result = running.wait();
    assert!(asked.elapsed() < Duration::from_secs(2));
    assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""));
    assert!(result.stdout.contains("interrupted"), "{}", result.stdout);
    assert!(result.stdout.contains("verified before: 0 files\n"), "{}", result.stdout);

    let first = Running::start(&[&RESUME[..], &SLOWLY].concat(), directory.path());
    sleep(Duration::from_millis(1500));
    first.signal(Signal::TERM);
    let (lines, before) = json_lines(&first.wait().stdout);
    assert_eq!((&before["interrupted"], &before["verified_before"]), (&json!(true), &json!(0)));
    let verified = before["ok"].as_u64().expect("a number");
    assert!(verified > 0);

    let (rest, after) = json_lines(&run(&RESUME, directory.path()).stdout);
    assert_eq!(set(paths_with(&rest, "corrupt_payload")), damaged);
    assert_eq!(after["verified_before"], verified, "not one is lost or read again");
    assert_eq!(after["ok"], sound.len() as u64 - verified);
    assert!(set(paths_with(&rest, "ok")).is_disjoint(&set(paths_with(&lines, "ok"))));
}

#[test]
fn only_what_is_due_is_verified() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(6));
    let at = |number: usize| directory.path().join(&paths[number]);
    let hour = ["--max-age", "1h"];
    assert_eq!(read_and_passed_over(&hour, directory.path()), (json!(6), json!(0)));
    assert_eq!(read_and_passed_over(&hour, directory.path()), (json!(0), json!(6)));
    assert_eq!(read_and_passed_over(&["--max-age", "0s"], directory.path()), (json!(6), json!(0)));
    assert_eq!(read_and_passed_over(&[], directory.path()), (json!(6), json!(0)), "a new run");
    sleep(Duration::from_millis(1100));
    assert_eq!(read_and_passed_over(&["--max-age", "1s"], directory.path()), (json!(6), json!(0)));

    // Another time, another length, other bytes.
    age(&at(1), Duration::from_secs(7200));
    fs::OpenOptions::new()
        .append(true)
        .open(at(2))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"!"))
        .expect("it can be written");
    damage(&at(3));
    let result = run(&[&RESUME[..], &hour].concat(), directory.path());
    let (lines, _) = json_lines(&result.stdout);
    assert_eq!(result.status, Some(1));
    assert_eq!(set(paths_with(&lines, "ok")), set([paths[1].clone()]));
    assert_eq!(set(paths_with(&lines, "corrupt_payload")), set([paths[2].clone(), paths[3].clone()]));

    // Failures are due each time, whatever became of them.
    assert_eq!(read_and_passed_over(&hour, directory.path()), (json!(2), json!(4)));
    fs::remove_file(at(2)).expect("it is ours");
    assert_eq!(read_and_passed_over(&hour, directory.path()), (json!(1), json!(4)));
}

#[test]
fn a_file_that_could_not_be_read_is_due_the_next_time() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(2));
    support::set_mode(directory.path(), 0o777);
    let verify = |more: &[&str]| {
        let arguments = [&RESUME[..], &[&paths[0]], more].concat();
        support::run_as_ordinary_user(&arguments[..], directory.path(), &directory.path().join(&paths[0]))
    };
    // Verified as long as it can be read, by whoever will not be able to.
    let copy = directory.path().join("nothing");
    fs::write(&copy, "").expect("it can be written");
    let arguments = ["verify", "store", "--json", "--state", "state", "--max-age", "1h"];
    let result = support::run_as_ordinary_user(&arguments, directory.path(), &copy);
    assert_eq!((result.status, json_lines(&result.stdout).1["ok"].clone()), (Some(0), json!(2)), "{}", result.stderr);

    let stricter = verify(&["--check-hash", "--sample", "100%"]);
    assert_eq!(stricter.status, Some(2), "{}{}", stricter.stdout, stricter.stderr);
    let result = support::run_as_ordinary_user(&arguments, directory.path(), &copy);
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((paths_with(&lines, "ok"), &summary["verified_before"]), (vec![paths[0].clone()], &json!(1)));
}

#[test]
fn what_was_verified_with_less_counts_for_nothing() {
    let directory = directory();
    let payloads: Vec<_> = small_payloads(3).collect();
    let keys: Vec<_> = payloads.iter().map(|payload| membrane_codec::sha256(payload).to_string()).collect();
    write_store(directory.path(), payloads);
    fs::write(directory.path().join("manifest"), keys.join("\n")).expect("it can be written");
    fs::write(directory.path().join("other"), keys.join("\n") + "\n").expect("it can be written");
    let (read, passed_over) = ((json!(3), json!(0)), (json!(0), json!(3)));
    for (more, expected) in [
        (&[][..], &read),
        (&[], &passed_over),
        (&["--check-hash"], &read),
        (&["--check-hash"], &passed_over),
        (&[], &passed_over),
        (&["--check-key"], &read),
        (&["--check-hash"], &read),
        (&["--check-hash", "--check-key"], &read),
        (&["--check-key"], &passed_over),
        (&["--manifest", "manifest"], &read),
        (&["--manifest", "manifest"], &passed_over),
        (&["--manifest", "other"], &read),
        (&[], &passed_over),
        (&["--manifest", "manifest"], &read),
        (&["--manifest", "manifest", "--check-hash"], &read),
    ] {
        let more = [more, &["--max-age", "1h"]].concat();
        assert_eq!(&read_and_passed_over(&more, directory.path()), expected, "{more:?}");
    }
}

#[test]
fn deleted_files_leave_the_state_once_all_was_looked_at() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(40));
    let remembered = || {
        let database = rusqlite::Connection::open(directory.path().join("state")).expect("a database");
        let mut select = database.prepare("SELECT CAST(path AS TEXT) FROM files ORDER BY path").expect("its schema");
        let rows = select.query_map([], |row| row.get::<_, String>(0)).expect("its rows");
        let root = format!("{}/", directory.path().display());
        rows.map(|path| path.expect("text").strip_prefix(&root).expect("an absolute path").to_owned())
            .collect::<Vec<_>>()
    };
    let (all, mut sorted) = (read_and_passed_over(&[], directory.path()), paths.clone());
    sorted.sort();
    assert_eq!((all, remembered()), ((json!(40), json!(0)), sorted.clone()));

    sorted.retain(|path| *path != paths[5]);
    fs::remove_file(directory.path().join(&paths[5])).expect("it is ours");
    let gone = directory.path().join(&paths[5]);
    for part in ["1/2", "2/2"] {
        summary(&[&RESUME[..], &["--subset", part]].concat(), directory.path());
        assert_eq!(remembered().len(), 40, "a part does not tell");
    }
    summary(&[&RESUME[..], &["--sample", "100%"]].concat(), directory.path());
    summary(&[&RESUME[..], &["--newer-than", "1970-01-01"]].concat(), directory.path());
    summary(&["verify", &paths[0], "--json", "--state", "state"], directory.path());
    assert_eq!(remembered().len(), 40);
    let interrupted = Running::start(&[&RESUME[..], &["--limit-rate", "100"]].concat(), directory.path());
    sleep(Duration::from_millis(500));
    interrupted.signal(Signal::INT);
    assert_eq!((interrupted.wait().status, remembered().len()), (Some(2), 40));

    assert!(!gone.exists());
    summary(&RESUME, directory.path());
    assert_eq!(remembered(), sorted);
    // Of what lies elsewhere, a run says nothing; names that only begin alike lie elsewhere.
    fs::rename(directory.path().join("store"), directory.path().join("store2")).expect("it is ours");
    fs::create_dir(directory.path().join("store")).expect("it is ours");
    summary(&["verify", "store2", "--json", "--state", "state"], directory.path());
    assert_eq!(remembered().len(), 78);
    summary(&["verify", "store/", "--json", "--state", "state"], directory.path());
    assert_eq!(remembered(), sorted.iter().map(|path| path.replace("store/", "store2/")).collect::<Vec<_>>());
}

#[test]
fn one_run_at_a_time() {
    let directory = directory();
    write_store(directory.path(), small_payloads(200));
    let first = Running::start(&[&RESUME[..], &["--limit-rate", "8K"]].concat(), directory.path());
    sleep(Duration::from_millis(500));
    let second = run(&RESUME, directory.path());
    assert_eq!((second.status, second.stdout.as_str()), (Some(2), ""));
    assert_eq!(second.stderr, "membrane-codec: state: another run uses this state file\n");
    first.signal(Signal::INT);
    assert_eq!(first.wait().stderr, "");

    // However close together they begin: each takes its turn or says that it cannot.
    fs::remove_file(directory.path().join("state")).expect("it is there");
    let runs: Vec<_> = (0..6).map(|_| Running::start(&RESUME, directory.path())).collect();
    let mut ended_well = 0;
    for result in runs.into_iter().map(Running::wait) {
        match result.status {
            Some(0) => ended_well += 1,
            status => assert_eq!((status, result.stderr.as_str()), (Some(2), second.stderr.as_str())),
        }
    }
    assert!(ended_well > 0);
    assert_eq!(support::names_in(directory.path()), ["state", "store"]);
}
