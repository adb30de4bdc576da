//! `verify` when signals come: it ends soon and says what it has.

#![cfg(unix)]

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use support::{Running, directory, json_lines, names_in, run, small_payloads, write_store};

const SLOW: [&str; 4] = ["verify", "store", "--limit-rate", "2K"];

#[test]
fn a_signal_ends_the_run_with_its_summary_and_reports() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let directory = directory();
        write_store(directory.path(), small_payloads(100));
        let more = ["--json", "--report", "report.html", "--metrics", "scrub.prom"];
        let running = Running::start(&[&SLOW[..], &more].concat(), directory.path());
        sleep(Duration::from_millis(400));
        let asked = Instant::now();
        running.signal(signal);
        let result = running.wait();
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""), "{signal:?}");
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!((&summary["interrupted"], &summary["frames"]), (&json!(true), &json!(lines.len())));
        assert!(lines.len() < 100);
        let metrics = fs::read_to_string(directory.path().join("scrub.prom")).expect("it is written all the same");
        assert!(metrics.contains("\nmembrane_scrub_completed 0\n"), "{metrics}");
        let page = fs::read_to_string(directory.path().join("report.html")).expect("it is written all the same");
        assert!(page.contains("\"interrupted\":true"));
        assert_eq!(names_in(directory.path()), ["report.html", "scrub.prom", "store"]);
    }
}

#[test]
fn the_summary_for_people_says_so() {
    let directory = directory();
    write_store(directory.path(), small_payloads(100));
    let running = Running::start(&SLOW, directory.path());
    sleep(Duration::from_millis(400));
    running.signal(Signal::INT);
    let result = running.wait();
    assert_eq!(result.status, Some(2));
    assert!(result.stdout.starts_with("interrupted after "), "{}", result.stdout);
    assert!(!result.stdout.contains("No frames found"), "{}", result.stdout);
}

#[test]
fn a_list_that_does_not_come_holds_nothing_up() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(3));
    let mut command = Command::new(support::PROGRAM);
    command.args(["verify", "--json", "--files-from", "-"]).current_dir(directory.path());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut list = child.stdin.take().expect("a pipe");
    list.write_all(format!("{}\n{}\n", paths[0], paths[1]).as_bytes()).expect("it reads");
    sleep(Duration::from_millis(400));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let asked = Instant::now();
    while child.try_wait().expect("it is ours").is_none() && asked.elapsed() < Duration::from_secs(3) {
        sleep(Duration::from_millis(10));
    }
    let took = asked.elapsed();
    drop(list);
    let result: support::Run = child.wait_with_output().expect("it ends").into();
    assert!(took < Duration::from_secs(2), "{took:?}");
    let (_, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["interrupted"]), (Some(2), &json!(true)));
}

#[test]
fn who_waits_for_standard_input_ends_by_the_first_signal() {
    let directory = directory();
    let mut command = Command::new(support::PROGRAM);
    command.args(["verify", "-"]).current_dir(directory.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("it is ours").is_none());
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let asked = Instant::now();
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(Signal::INT.as_raw()));
    assert!(asked.elapsed() < Duration::from_secs(1));
}

#[test]
fn the_second_signal_ends_it_at_once() {
    let directory = directory();
    write_store(directory.path(), small_payloads(1000));
    // Its output goes into a pipe that nobody empties.
    let mut command = Command::new(support::PROGRAM);
    command.args(["verify", "store", "--json"]).current_dir(directory.path());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    sleep(Duration::from_millis(500));
    for _ in 0..2 {
        assert!(child.try_wait().expect("it is ours").is_none());
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        sleep(Duration::from_millis(200));
    }
    let asked = Instant::now();
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(Signal::INT.as_raw()));
    assert!(asked.elapsed() < Duration::from_secs(1));
}

#[test]
fn what_nohup_ignores_stays_ignored() {
    let directory = directory();
    write_store(directory.path(), small_payloads(20));
    let script = "trap '' HUP; exec \"$0\" verify store --json --limit-rate 6K";
    let mut command = Command::new("sh");
    command.args(["-c", script, support::PROGRAM]).current_dir(directory.path()).stdout(Stdio::piped());
    let child = command.spawn().expect("it starts");
    sleep(Duration::from_millis(400));
    kill_process(Pid::from_child(&child), Signal::HUP).expect("it runs");
    let result: support::Run = child.wait_with_output().expect("it ends").into();
    let (_, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["ok"], summary.get("interrupted")), (Some(0), &json!(20), None));
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(400));
    paths.iter().for_each(|path| support::damage(&directory.path().join(path)));
    let script = "\"$0\" verify store --limit-rate 4K --state state | head -1";
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", script, support::PROGRAM]).current_dir(directory.path());
    let started = Instant::now();
    let result: support::Run = command.output().expect("it starts").into();
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""));
    assert_eq!(result.stdout.lines().count(), 1);
    // The state can be used, and everything is told of again.
    let (_, summary) = json_lines(&run(&["verify", "store", "--json", "--state", "state"], directory.path()).stdout);
    assert_eq!((&summary["corrupt_payload"], &summary["verified_before"]), (&json!(400), &json!(0)));
}

#[test]
fn a_pipe_that_nobody_writes_is_opened_once_and_a_signal_ends_the_wait() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(3));
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for option in ["--files-from", "--manifest"] {
        let start = || Running::start(&["verify", "store", option, "pipe", "--report", "page.html"], directory.path());
        let mut running = start();
        sleep(Duration::from_millis(300));
        assert!(!running.has_ended());
        running.signal(Signal::INT);
        let asked = Instant::now();
        assert_eq!(running.wait().status, None, "by the signal");
        assert!(asked.elapsed() < Duration::from_secs(2));
    }
    // Who comes to write finds the reader that stays.
    let running = Running::start(
        &["verify", "--json", "--files-from", "pipe", "--report", "page.html", "--metrics", "scrub.prom"],
        directory.path(),
    );
    sleep(Duration::from_millis(100));
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).expect("somebody reads");
    sleep(Duration::from_millis(100));
    writer.write_all(paths.join("\n").as_bytes()).expect("somebody reads");
    drop(writer);
    let result = running.wait();
    assert_eq!((result.status, &json_lines(&result.stdout).1["ok"]), (Some(0), &json!(3)), "{}", result.stderr);
}

#[test]
fn a_limit_on_the_size_of_files_is_told_by_every_command() {
    let directory = directory();
    let frame = support::frame_of(&vec![7; 1 << 20]);
    fs::write(directory.path().join("one.blob"), &frame).expect("it can be written");
    fs::write(directory.path().join("id.json"), support::identity_of(b"").canonical_json()).expect("it can be written");
    write_store(directory.path(), small_payloads(1000));
    for command in [
        "extract one.blob -o payload",
        "extract one.blob > payload",
        "canonicalize --identity id.json --payload one.blob -o payload",
        "verify store --json > lines",
        "verify store --state state --quiet",
    ] {
        let script = format!("ulimit -f 40; exec \"$0\" {command}");
        let mut limited = Command::new("sh");
        limited.args(["-c", &script, support::PROGRAM]).current_dir(directory.path());
        let result: support::Run = limited.output().expect("it starts").into();
        assert_eq!(result.status, Some(2), "{command}: {}", result.stderr);
        assert!(result.stderr.starts_with("membrane-codec: "), "{command}: {}", result.stderr);
        assert!(
            !directory.path().join("payload").metadata().is_ok_and(|file| file.len() == 0 && command.contains("-o"))
        );
        let left = names_in(directory.path()).into_iter().find(|name| name.starts_with('.'));
        assert_eq!(left, None, "{command}");
    }
}
