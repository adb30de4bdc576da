//! What must not happen to those who use `verify` in odd ways: paths that get lost, files that are written over, figures
//! that go unwritten.
#![cfg(unix)]

mod support;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;
use support::{PROGRAM, Run, directory, frame_of, json_lines, paths_with, run, small_payloads, write_store};

#[test]
fn a_list_through_a_pipe_is_read_once_whoever_watches() {
    let directory = directory();
    let frame = frame_of(b"payload");
    let names: Vec<_> = (0..2000).map(|number| format!("{number}.blob")).collect();
    names.iter().for_each(|name| fs::write(directory.path().join(name), &frame).expect("it can be written"));
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());

    let mut command = Command::new(PROGRAM);
    // Who is told of progress wants to know how much there is.
    command.args(["verify", "--json", "--progress-every", "1000", "--files-from", "pipe"]);
    let child = command.current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("it starts");
    fs::OpenOptions::new()
        .write(true)
        .open(&pipe)
        .expect("it is read")
        .write_all(names.join("\n").as_bytes())
        .expect("all");
    let result: Run = child.wait_with_output().expect("it ends").into();
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, lines.len(), &summary["ok"]), (Some(0), 2000, &json!(2000)));
}

#[test]
fn reports_take_the_place_of_earlier_ones_and_of_nothing_else() {
    let directory = directory();
    let frame = frame_of(b"payload");
    fs::write(directory.path().join("one.blob"), &frame).expect("it can be written");
    for flag in ["--report", "--metrics", "--state"] {
        let result = run(&["verify", ".", flag, "one.blob"], directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{flag}");
        assert_eq!(fs::read(directory.path().join("one.blob")).expect("it is there"), frame, "{flag}");
    }
    // Another run's are replaced.
    for _ in 0..2 {
        let all = ["verify", ".", "--report", "page.html", "--metrics", "scrub.prom", "--state", "scrub.db"];
        assert_eq!(run(&all, directory.path()).status, Some(0));
    }
    assert_eq!(support::names_in(directory.path()), ["one.blob", "page.html", "scrub.db", "scrub.prom"]);
}

#[test]
fn json_gives_names_as_they_are() {
    let directory = directory();
    let name = "de\u{7f}leted.blob";
    fs::write(directory.path().join(name), frame_of(b"payload")).expect("it can be written");
    let (lines, _) = json_lines(&run(&["verify", "--json", "."], directory.path()).stdout);
    assert_eq!(lines[0]["path"], format!("./{name}"));
}

#[test]
fn page_metrics_and_state_are_written_though_nothing_can_be_printed() {
    let directory = directory();
    fs::write(directory.path().join("one.blob"), b"damaged").expect("it can be written");
    let mut command = Command::new(PROGRAM);
    command.args(["verify", "--json", ".", "--report", "page.html", "--metrics", "scrub.prom", "--state", "scrub.db"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let result: Run = command.current_dir(directory.path()).stdout(full).output().expect("it starts").into();
    assert_eq!(result.status, Some(2));
    assert!(result.stderr.contains("cannot write to standard output"), "{}", result.stderr);
    let metrics = fs::read_to_string(directory.path().join("scrub.prom")).expect("it is there");
    assert!(metrics.contains("membrane_scrub_frames{status=\"schema_error\"} 1\n"), "{metrics}");
    assert!(directory.path().join("page.html").is_file());
}

#[test]
fn files_that_vanished_are_missing_from_the_manifest() {
    let directory = directory();
    let store = directory.path().join("store");
    fs::create_dir(&store).expect("it is ours");
    let payloads = (0..100_u8).map(|number| vec![number; 100_000]);
    let keys: Vec<_> = payloads
        .map(|payload| {
            let key = membrane_codec::sha256(&payload).to_string();
            fs::write(store.join(format!("{key}.blob")), frame_of(&payload)).expect("it can be written");
            key
        })
        .collect();
    fs::write(directory.path().join("manifest"), keys.join("\n")).expect("it can be written");
    let mut command = Command::new(PROGRAM);
    command.args(["verify", "--json", "-j", "1", "--limit-rate", "1M", "--manifest", "manifest", "store"]);
    let child = command.current_dir(directory.path()).stdout(Stdio::piped()).spawn().expect("it starts");
    // Listed by now, and most of them not opened.
    std::thread::sleep(std::time::Duration::from_millis(1000));
    keys.iter().for_each(|key| fs::remove_file(store.join(format!("{key}.blob"))).expect("it is ours"));
    let result: Run = child.wait_with_output().expect("it ends").into();
    let (_, summary) = json_lines(&result.stdout);
    let [ok, vanished, missing] = ["ok", "vanished", "missing"].map(|name| summary[name].as_u64().expect("a number"));
    assert!(vanished > 0, "they went too late");
    assert_eq!((result.status, ok + vanished, missing), (Some(1), 100, vanished));
}

#[test]
fn out_of_open_files_is_an_error_and_not_a_wait_without_end() {
    let directory = directory();
    let mut level = directory.path().to_owned();
    for _ in 0..40 {
        fs::create_dir(level.join("a")).expect("it is ours");
        fs::create_dir(level.join("b")).expect("it is ours");
        fs::write(level.join("one.blob"), frame_of(b"payload")).expect("it can be written");
        fs::write(level.join("b/two.blob"), frame_of(b"payload")).expect("it can be written");
        level = level.join("a");
    }
    for limit in ["12", "16", "24", "64"] {
        for threads in ["1", "2"] {
            let mut command = support::program_within(limit);
            let result = command.args(["verify", "--json", "-j", threads, "."]).current_dir(directory.path());
            let result: Run = result.timeout(std::time::Duration::from_secs(60)).output().expect("it ends").into();
            assert!(matches!(result.status, Some(0 | 2)), "{limit}: {result:?}");
            if result.status == Some(0) {
                assert_eq!(json_lines(&result.stdout).1["ok"], 80, "{limit}");
            }
        }
    }
}

#[test]
fn what_a_run_itself_writes_is_no_frame_of_the_store() {
    let directory = directory();
    write_store(directory.path(), small_payloads(3));
    let arguments = [
        "verify",
        "--json",
        "--all",
        ".",
        "--state",
        "scrub.db",
        "--max-age",
        "0s",
        "--report",
        "scrub.html",
        "--metrics",
        "scrub.prom",
    ];
    let of_a_run = || {
        let result = run(&arguments, directory.path());
        let (lines, summary) = json_lines(&result.stdout);
        let passed = summary.get("passed_over").map_or(0, |passed| passed["other_files"].as_u64().expect("a number"));
        (result.status, paths_with(&lines, "ok").len(), lines.len(), passed, summary.get("not_selected").cloned())
    };
    let (status, ok, lines, passed, not_selected) = of_a_run();
    assert_eq!((status, ok, lines, not_selected), (Some(0), 3, 3, None));
    assert!((1..=3).contains(&passed), "the state, and what SQLite has beside it: {passed}");
    let (status, ok, lines, passed, not_selected) = of_a_run();
    assert_eq!((status, ok, lines, not_selected), (Some(0), 3, 3, None));
    assert!((3..=5).contains(&passed), "and the report and the metrics of the run before: {passed}");
    // A file of the same name elsewhere is none of them.
    fs::write(directory.path().join("store/scrub.db"), "no frame").expect("it can be written");
    let (status, ok, lines, ..) = of_a_run();
    assert_eq!((status, ok, lines), (Some(1), 3, 4));
}
