//! `verify --concatenated`: files that hold several frames, with damage of each kind among them.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{directory, fixtures, frame_of, identity_of, json_lines, run};
use tempfile::TempDir;

/// What `--json` says of a file of these pieces: offset and reason, or `ok`, of each frame; exit status and summary.
fn verdicts(pieces: &[&[u8]], more: &[&str]) -> (Vec<(u64, String)>, Option<i32>, Value) {
    let directory = directory();
    fs::write(directory.path().join("log.blob"), pieces.concat()).expect("it can be written");
    let result = run(&[&["verify", "--json", "--concatenated", "log.blob"], more].concat(), directory.path());
    assert_eq!(result.stderr, "");
    let (lines, summary) = json_lines(&result.stdout);
    let verdict = |line: &Value| {
        let reason = line.get("reason").unwrap_or(&line["status"]).as_str().expect("text").to_owned();
        (line["offset"].as_u64().expect("each frame has one"), reason)
    };
    (lines.iter().map(verdict).collect(), result.status, summary)
}

fn damaged(name: &str) -> Vec<u8> {
    fs::read(fixtures().join("damaged").join(name).with_extension("frame")).expect("it is there")
}

#[test]
fn frames_after_each_other() {
    let frames = [frame_of(b"one"), frame_of(b""), frame_of(&vec![1; 600_000]), frame_of(b"four")];
    let pieces: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let (verdicts, status, summary) = verdicts(&pieces, &["--check-hash"]);
    let ends = frames.iter().scan(0, |end, frame| {
        let start = *end;
        *end += frame.len() as u64;
        Some((start, "ok".to_owned()))
    });
    assert_eq!((verdicts, status), (ends.collect(), Some(0)));
    let bytes = pieces.concat().len();
    assert_eq!((&summary["frames"], &summary["ok"], &summary["bytes"]), (&json!(4), &json!(4), &json!(bytes)));
}

#[test]
fn after_a_frame_that_says_where_it_ends_the_next_is_found() {
    let sound = frame_of(b"sound");
    let len = sound.len() as u64;
    for name in ["trailer_mismatch", "identity_json", "identity_field"] {
        let bad = damaged(name);
        let (verdicts, status, summary) = verdicts(&[&sound, &bad, &sound, &bad, &bad, &sound], &[]);
        let (ok, bad_len) = ("ok".to_owned(), bad.len() as u64);
        let bad = || name.to_owned();
        assert_eq!(
            verdicts,
            [
                (0, ok.clone()),
                (len, bad()),
                (len + bad_len, ok.clone()),
                (2 * len + bad_len, bad()),
                (2 * len + 2 * bad_len, bad()),
                (2 * len + 3 * bad_len, ok.clone()),
            ]
        );
        assert_eq!((status, &summary["frames"], &summary["ok"]), (Some(1), &json!(6), &json!(3)));
        assert_eq!(summary["bytes"], 3 * len + 3 * bad_len);
    }
}

#[test]
fn what_follows_a_frame_without_an_end_is_not_guessed() {
    let sound = frame_of(b"sound");
    let len = sound.len() as u64;
    for name in ["bad_magic", "old_version", "schema_version", "reserved_not_zero"] {
        let (verdicts, status, _) = verdicts(&[&sound, &damaged(name), &sound], &[]);
        assert_eq!((verdicts, status), (vec![(0, "ok".into()), (len, name.into())], Some(1)));
    }
    // Lengths that reach past the end of the file.
    for field in [10, sound.len() - 16 - 5] {
        let mut bad = sound.clone();
        bad[field..field + 4].fill(0xff);
        let reason = if field == 10 { "identity_length" } else { "truncated" };
        let (verdicts, status, summary) = verdicts(&[&sound, &bad, &sound], &[]);
        assert_eq!((verdicts, status), (vec![(0, "ok".into()), (len, reason.into())], Some(1)));
        assert!(summary["bytes"].as_u64() <= Some(3 * len));
    }
    // A length that ends within the next frame: that is where the next is looked for.
    let mut bad = sound.clone();
    let at = sound.len() - 16 - 5;
    bad[at] += 3;
    let (found, _, _) = verdicts(&[&sound, &bad, &sound], &[]);
    let expected = [(0, "ok".into()), (len, "trailer_mismatch".into()), (2 * len + 3, "bad_magic".into())];
    assert_eq!(found, expected);
}

#[test]
fn what_was_not_looked_at_is_told() {
    let sound = frame_of(b"sound");
    let len = sound.len();
    let directory = directory();
    let write = |name: &str, pieces: &[&[u8]]| {
        fs::write(directory.path().join(name), pieces.concat()).expect("it can be written");
    };
    let bad = damaged("bad_magic");
    write("a.blob", &[&sound, &bad, &sound, &sound]);
    write("b.blob", &[&sound, &sound[..100]]);
    write("c.blob", &[&damaged("trailer_mismatch"), &sound]);
    let result = run(&["verify", "--concatenated", "--json", "."], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    let rest = bad.len() + 2 * len;
    let told: Vec<_> =
        lines.iter().filter_map(|line| Some((line["offset"].as_u64()?, line.get("not_checked")?))).collect();
    assert_eq!(told, [(len as u64, &json!(rest)), (len as u64, &json!(100))]);
    assert_eq!((result.status, &summary["not_checked"]), (Some(1), &json!(rest + 100)));
    let text = run(&["verify", "--concatenated", "."], directory.path()).stdout;
    let line = format!("\n    {rest} bytes from here on were not checked; `salvage` finds the frames in them\n");
    assert!(text.contains(&line), "{text}");
    let note = format!(
        "\nnot checked, in frames without an end and after them: {} bytes; salvage finds what is there\n",
        rest + 100
    );
    assert!(text.ends_with(&note), "{text}");
    // Where all was looked at, nothing is said.
    write("a.blob", &[&sound]);
    write("b.blob", &[&sound]);
    let text = run(&["verify", "--concatenated", "--json", "."], directory.path()).stdout;
    assert!(!text.contains("not_checked"), "{text}");
}

#[test]
fn ends_of_files() {
    let sound = frame_of(b"sound");
    let len = sound.len() as u64;
    let at_end = |rest: &[u8]| verdicts(&[&sound, rest], &[]).0.get(1).cloned();
    assert_eq!(at_end(b""), None);
    assert_eq!(at_end(b"\0"), Some((len, "bad_magic".into())));
    for cut in [1, 4, 13] {
        assert_eq!(at_end(&sound[..cut]), Some((len, "truncated".into())), "{cut}");
    }
    for cut in [14, 29, 200, sound.len() - 6] {
        assert_eq!(at_end(&sound[..cut]), Some((len, "identity_length".into())), "{cut}");
    }
    for cut in [sound.len() - 5, sound.len() - 1] {
        assert_eq!(at_end(&sound[..cut]), Some((len, "truncated".into())), "{cut}");
    }
    let (empty, status, summary) = verdicts(&[], &[]);
    assert_eq!((empty, status, &summary["frames"]), (vec![(0, "truncated".into())], Some(1), &json!(1)));
}

#[test]
fn reports_tell_the_frame() {
    let directory = directory();
    let sound = frame_of(b"sound");
    let mut bad = frame_of(b"bad");
    let last = bad.len() - 1;
    bad[last] ^= 1;
    fs::write(directory.path().join("log.blob"), [&sound[..], &bad, &sound].concat()).expect("it can be written");
    let result = run(&["verify", "--concatenated", "log.blob"], directory.path());
    let offset = sound.len();
    let expected =
        format!("corrupt_payload  log.blob, frame at byte {offset}\n    trailer_mismatch at byte {}: ", bad.len() - 8);
    assert!(result.stdout.starts_with(&expected), "{}", result.stdout);
    assert!(result.stdout.contains("\n        2  ok\n        1  corrupt_payload\n"), "{}", result.stdout);
    let result = run(&["verify", "--concatenated", "--verbose", "log.blob"], directory.path());
    assert!(result.stdout.contains("ok               log.blob, frame at byte 0\n"), "{}", result.stdout);

    // Findings are of frames, too.
    let swapped = membrane_codec::canonicalize(&identity_of(b"other"), b"bytes").expect("a frame");
    fs::write(directory.path().join("log.blob"), [&sound[..], &swapped].concat()).expect("it can be written");
    let result = run(&["verify", "--concatenated", "--json", "--check-hash", "log.blob"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((lines[0].get("findings"), &lines[1]["findings"]), (None, &json!(["payload_hash_mismatch"])));
    assert_eq!((result.status, &lines[1]["offset"], &summary["findings"]), (Some(1), &json!(sound.len()), &json!(1)));
}

/// A directory with a log of twenty frames, among other files.
fn logs() -> (TempDir, usize) {
    let directory = directory();
    let log: Vec<u8> = (0..20_u8).flat_map(|number| frame_of(&[number])).collect();
    let len = log.len();
    fs::write(directory.path().join("log.frame"), log).expect("it can be written");
    fs::write(directory.path().join("one.blob"), frame_of(b"one")).expect("it can be written");
    fs::write(directory.path().join("other"), b"no frame").expect("it can be written");
    (directory, len)
}

#[test]
fn directories_and_several_threads() {
    let (directory, _) = logs();
    let result = run(&["verify", "--concatenated", "--json", "-j", "2", "."], directory.path());
    let (_, summary) = json_lines(&result.stdout);
    assert_eq!(
        (result.status, &summary["ok"], &summary["passed_over"]["other_files"]),
        (Some(0), &json!(21), &json!(1))
    );
    // Without asking for it, several frames are one with something behind it.
    let result = run(&["verify", "--json", "log.frame"], directory.path());
    assert_eq!((result.status, &json_lines(&result.stdout).0[0]["reason"]), (Some(1), &json!("trailing_bytes")));
}

#[cfg(unix)]
#[test]
fn interrupted_in_the_middle() {
    let (directory, len) = logs();
    // Everything is read at once, so many such files.
    for number in 0..100 {
        let copy = directory.path().join(format!("log-{number}.frame"));
        fs::copy(directory.path().join("log.frame"), copy).expect("it can be copied");
    }
    let rate = len.to_string();
    let arguments = ["verify", "--concatenated", "--json", "--limit-rate", &rate, "."];
    let running = support::Running::start(&arguments, directory.path());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal(rustix::process::Signal::INT);
    let result = running.wait();
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["interrupted"]), (Some(2), &json!(true)));
    assert!(lines.iter().all(|line| line["status"] == "ok"), "no verdict on what was not read");
    assert_eq!(summary["ok"], lines.len());
}
