//! What `verify` takes of the machine: bytes per second, and memory however many and however large the files are.

#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Run, Running, directory, frame_of, identity_of, json_lines, run, small_payloads, write_store};
use tempfile::TempDir;

/// Seconds that a run took by its own clock.
fn seconds(directory: &Path) -> f64 {
    let metrics = fs::read_to_string(directory.join("scrub.prom")).expect("it is there");
    let line = metrics.lines().find_map(|line| line.strip_prefix("membrane_scrub_duration_seconds "));
    line.expect("it says").parse().expect("a number")
}

#[test]
fn the_limit_on_the_rate_is_kept() {
    let small = || small_payloads(1200).collect::<Vec<_>>();
    let large = || (0..9_u8).map(|number| vec![number; 1 << 20]).collect::<Vec<_>>();
    // Some 4 seconds each.
    let cases = [(small(), 100_000, "100K"), (large(), 2_300_000, "2300K")];
    let runs =
        cases.iter().flat_map(|(payloads, rate, name)| ["1", "2"].map(|threads| (payloads, *rate, *name, threads)));
    let runs = runs.map(|(payloads, rate, name, threads)| {
        let directory = directory();
        write_store(directory.path(), payloads.clone());
        let arguments = ["verify", "store", "--json", "--limit-rate", name, "-j", threads, "--metrics", "scrub.prom"];
        (Running::start(&arguments, directory.path()), directory, rate, threads)
    });
    // All at once: they sleep most of the time.
    let runs: Vec<_> = runs.collect();
    for (running, directory, rate, threads) in runs {
        let (_, summary) = json_lines(&running.wait().stdout);
        let bytes = summary["bytes"].as_u64().expect("a number") as f64;
        let measured = bytes / seconds(directory.path());
        let share = measured / f64::from(rate);
        assert!(bytes / f64::from(rate) > 3.5, "too short to tell");
        assert!((0.95..=1.05).contains(&share), "{threads} threads read {share} of what they may");
    }
}

/// The most memory that the program used, in KiB: as the system tells while it runs.
fn peak_of(mut running: Running) -> (u64, Run) {
    let mut peak = 0;
    while !running.has_ended() {
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = kib.unwrap_or(peak);
        sleep(Duration::from_millis(5));
    }
    (peak, running.wait())
}

/// So many names of a few frames, with a manifest that lists them all. In memory, where there is such a place.
fn many_files(count: u32) -> TempDir {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| directory());
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("store")).expect("it is ours");
    let mut manifest = String::new();
    for number in 0..count {
        let key = format!("{number:064x}");
        // No file may have more than 65000 names.
        let frame = at(&format!("frame-{}", number % 8));
        if number < 8 {
            fs::write(&frame, frame_of(&[number as u8])).expect("it can be written");
        }
        let folder = at("store").join(&key[62..]);
        if number < 256 {
            fs::create_dir_all(&folder).expect("it is ours");
        }
        fs::hard_link(frame, folder.join(format!("{key}.blob"))).expect("it is ours");
        manifest.extend([&key, "\n"]);
    }
    fs::write(at("manifest"), manifest).expect("it can be written");
    directory
}

#[test]
fn two_hundred_thousand_files_take_little_memory() {
    if !Path::new("/proc/self/status").exists() {
        eprintln!("skipped: this system does not tell how much memory a program uses");
        return;
    }
    let directory = many_files(200_000);
    // One thread needs less than two.
    let more = ["--state", "state", "--manifest", "manifest", "--report", "report.html"];
    let running = Running::start(&[&["verify", "store", "-j", "2"][..], &more].concat(), directory.path());
    let (peak, result) = peak_of(running);
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    assert!(result.stdout.starts_with("200000 frames, "), "{}", result.stdout);
    assert!(0 < peak && peak < 64 << 10, "{peak} KiB");
}

/// A frame whose payload is a hole, in a file of this length that claims what `claim` says.
fn sparse_frame(directory: &Path, file_len: u64, claim: impl Fn(u64) -> u64) {
    let mut frame = frame_of(b"");
    let payload_len_at = frame.len() - 16;
    let claimed = claim(frame.len() as u64);
    frame[payload_len_at..payload_len_at + 8].copy_from_slice(&claimed.to_le_bytes());
    let path = directory.join("sparse.blob");
    fs::write(&path, frame).expect("it can be written");
    let file = fs::OpenOptions::new().write(true).open(path).expect("it opens");
    file.set_len(file_len).expect("a file system with holes");
}

#[test]
fn a_sparse_file_of_64_gib_can_be_interrupted() {
    let directory = directory();
    let len = 64 << 30;
    sparse_frame(directory.path(), len, |frame_len| len - frame_len);
    for threads in ["1", "2"] {
        let running = Running::start(&["verify", "sparse.blob", "--json", "-j", threads], directory.path());
        sleep(Duration::from_secs(1));
        running.signal(Signal::INT);
        let asked = Instant::now();
        let (peak, result) = peak_of(running);
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!((result.status, lines), (Some(2), Vec::<Value>::new()), "no verdict on what was not read");
        assert_eq!((&summary["interrupted"], &summary["frames"]), (&json!(true), &json!(0)));
        assert!(peak < 64 << 10, "{peak} KiB");
    }
}

#[test]
fn a_claim_that_no_file_can_hold_is_refused_at_once() {
    let directory = directory();
    sparse_frame(directory.path(), 64 << 30, |_| u64::MAX);
    let started = Instant::now();
    let result = run(&["verify", "sparse.blob", "--json"], directory.path());
    assert!(started.elapsed() < Duration::from_secs(5));
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &lines[0]["reason"]), (Some(1), &json!("truncated")));
    let expected = format!("found {} bytes, expected a frame of 18446744073709551", 64_u64 << 30);
    assert!(lines[0]["detail"].as_str().expect("words").contains(&expected), "{}", lines[0]["detail"]);
    assert_eq!(summary["bytes"], 256 << 10, "one piece was read");
}

#[test]
fn large_identities_pass_through_little_memory() {
    let directory = directory();
    let mut identity = identity_of(b"payload");
    identity.model_id = "m".repeat(900_000);
    let frame = membrane_codec::canonicalize(&identity, b"payload").expect("a frame");
    for number in 0..64 {
        fs::write(directory.path().join(format!("{number}.blob")), &frame).expect("it can be written");
    }
    let (peak, result) = peak_of(Running::start(&["verify", ".", "--json", "-j", "1"], directory.path()));
    let (_, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["ok"]), (Some(0), &json!(64)));
    assert!(peak < 64 << 10, "{peak} KiB");
}
