//! What is told of it, and how the run ends.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use membrane_codec::sha256;
use rustix::process::Signal;
use serde_json::json;

use crate::images::{hex, name_of, salvage, saved_names, with_image, without_rate};
use crate::support::{self, Run, Running, frame_of, identity_of, json_lines, names_in, run};

#[test]
fn a_line_in_full() {
    let frame = frame_of(b"payload");
    let identity = identity_of(b"payload");
    let directory = with_image(&[&[0; 10], &frame[..], b"junk", &frame[..50]].concat());
    let (lines, _) = json_lines(&salvage(&directory).stdout);
    let hash = sha256(b"payload").to_string();
    let end = 10 + frame.len();
    assert_eq!(
        lines,
        [
            json!({"event": "gap", "offset": 0, "len": 10, "zeros": true}),
            json!({"event": "frame", "offset": 10, "len": frame.len(), "status": "saved", "name": format!("{hash}.blob"),
                   "payload_len": 7, "payload_hash": hash, "payload_sha256": hash,
                   "fingerprint": identity.fingerprint().to_string()}),
            json!({"event": "refused", "offset": end + 4, "reason": "identity_length",
                   "detail": "identity_length at byte 10: found identity_len 286 in 50 bytes, expected at least 316 bytes for it"}),
            json!({"event": "gap", "offset": end, "len": 54, "zeros": false}),
        ]
    );
}

#[test]
fn text_for_people() {
    let [one, two] = [frame_of(b"one"), frame_of(b"two")];
    let mut damaged = frame_of(b"damaged");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let [first, second, third] = [one.len(), one.len() + damaged.len(), one.len() + damaged.len() + two.len()];
    let directory = with_image(&[&one[..], &damaged, &two, &[0; 512]].concat());
    let result = run(&["salvage", "image", "-o", "saved"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(1), ""));
    let (one, two) = (name_of(b"one"), name_of(b"two"));
    assert_eq!(
        without_rate(&result.stdout),
        format!(
            "saved            byte 0, 319 bytes: {one}\n\
             no frame         byte {first}: trailer_mismatch at byte 315: found trailer {}, expected {}, the first 8 bytes of \
             the payload's SHA-256\n\
             gap              byte {first}, 323 bytes\n\
             saved            byte {second}, 319 bytes: {two}\n\
             zeros            byte {third}, 512 bytes\n\
             \n        2  saved\n        1  with a magic, but no intact frame\n\
             \n323 bytes belong to no intact frame\n\
             \n512 bytes between frames are zero\n",
            hex(&damaged[315..]),
            hex(&sha256(b"damaged").trailer()),
        )
    );
    let again = run(&["salvage", "image", "-o", "saved"], directory.path());
    assert!(again.stdout.starts_with(&format!("already_there    byte 0, 319 bytes: {one}\n")), "{}", again.stdout);
    assert!(again.stdout.contains("\n        2  already there\n"), "{}", again.stdout);
}

#[test]
fn exit_statuses() {
    let frame = frame_of(b"payload");
    for (image, status, frames) in [
        (vec![], 0, 0),
        (vec![0; 10_000], 0, 0),
        (frame.clone(), 0, 1),
        ([&[0; 100], &frame[..], &[0; 1]].concat(), 0, 1),
        ([&frame[..], b"x"].concat(), 1, 1),
        (frame[1..].to_vec(), 1, 0),
        (b"x".to_vec(), 1, 0),
    ] {
        let directory = with_image(&image);
        let result = salvage(&directory);
        let (_, summary) = json_lines(&result.stdout);
        assert_eq!(
            (result.status, &summary["frames"], &summary["bytes"]),
            (Some(status), &json!(frames), &json!(image.len()))
        );
        assert_eq!(saved_names(&directory).len(), frames);
    }
}

#[test]
fn only_some_of_many_places_are_printed() {
    let image = [0xC0, 0xDE, 0x01, 0x05].repeat(1000);
    let directory = with_image(&image);
    let result = run(&["salvage", "image", "--dry-run"], directory.path());
    assert_eq!(result.status, Some(1));
    let lines: Vec<_> = result.stdout.lines().collect();
    assert_eq!(lines[0], "no frame         byte 0: schema_version at byte 4: found schema 57024, expected 5");
    assert!(lines[9].starts_with("no frame         byte 36: "));
    assert_eq!(lines[10], "no frame         990 more places; --json tells all");
    assert_eq!(lines[11], "gap              byte 0, 4000 bytes");
    let result = run(&["salvage", "image", "--dry-run", "--json"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((lines.len(), &summary["refused"]), (1001, &json!(1000)));

    // In each gap anew.
    let directory = with_image(&[&image[..], &frame_of(b"payload"), &image].concat());
    let result = run(&["salvage", "image", "--dry-run"], directory.path());
    let told = |text: &str| result.stdout.lines().filter(|line| line.contains(text)).count();
    assert_eq!((told("schema_version"), told("990 more places")), (20, 2));
}

#[test]
fn a_dry_run_writes_nothing() {
    let frame = frame_of(b"payload");
    let directory = with_image(&frame);
    for arguments in [&["salvage", "image", "--dry-run"][..], &["salvage", "image", "--dry-run", "-o", "saved"]] {
        let result = run(arguments, directory.path());
        assert_eq!(result.status, Some(0));
        let found = format!("found            byte 0, {} bytes: {}\n\n", frame.len(), sha256(b"payload"));
        assert_eq!(without_rate(&result.stdout), found);
        assert_eq!(names_in(directory.path()), ["image"]);
    }
}

#[test]
fn wrong_usage_and_what_cannot_be_searched() {
    let directory = with_image(&frame_of(b"payload"));
    fs::create_dir(directory.path().join("store")).expect("it is ours");
    fs::write(directory.path().join("store/image"), frame_of(b"payload")).expect("it can be written");
    let refused = |arguments: &[&str]| {
        let result = run(&[&["salvage"], arguments].concat(), directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        result.stderr
    };
    assert!(refused(&["image"]).starts_with("error: "));
    assert!(refused(&[]).starts_with("error: "));
    assert_eq!(refused(&["none", "-o", "saved"]), "membrane-codec: none: No such file or directory (os error 2)\n");
    assert_eq!(refused(&["store", "-o", "saved"]), "membrane-codec: store: is a directory, expected a file\n");
    assert_eq!(refused(&["-", "-o", "saved"]), "membrane-codec: standard input: cannot be searched; name a file\n");
    assert_eq!(refused(&["image", "-o", "image"]), "membrane-codec: image: is not a directory\n");
    assert_eq!(refused(&["image", "-o", "image/saved"]), "membrane-codec: image/saved: is not a directory\n");
    assert!(refused(&["image", "-o", "-"]).contains("- names no file here; for a file of this name give ./-"));
    for (image, its_own) in [("image", "."), ("store/image", "store"), ("store/image", "store/../store")] {
        let message = format!("membrane-codec: {its_own}: is where FILE lies; name another directory\n");
        assert_eq!(refused(&[image, "-o", its_own]), message);
    }
    assert_eq!(names_in(directory.path()), ["image", "store"]);
    assert_eq!(names_in(&directory.path().join("store")), ["image"]);
}

#[test]
fn quiet_prints_what_is_neither_frame_nor_zeros() {
    let [frame, mut damaged] = [frame_of(b"payload"), frame_of(b"damaged")];
    let directory = with_image(&[&frame[..], &[0; 100]].concat());
    let result = run(&["salvage", "image", "-o", "saved", "-q"], directory.path());
    assert_eq!((result.status, result.stdout.as_str(), result.stderr.as_str()), (Some(0), "", ""));
    *damaged.last_mut().expect("a trailer") ^= 1;
    let directory = with_image(&[&frame[..], &damaged, &frame].concat());
    let result = run(&["salvage", "image", "-o", "saved", "--quiet"], directory.path());
    let starts: Vec<_> = result.stdout.lines().map(|line| line.split("  ").next().unwrap_or_default()).collect();
    assert_eq!((result.status, starts), (Some(1), vec!["no frame", "gap"]));
    let progress = ["salvage", "image", "-o", "saved", "--quiet", "--progress-every", "1"];
    assert_eq!(run(&progress, directory.path()).status, Some(2));
}

#[test]
fn progress_in_a_log_is_plain_lines() {
    // One that is read for more than a second: a frame in which others are nested, each of which is hashed.
    let claim = |payload_len: usize| {
        let mut claim = frame_of(b"");
        claim.truncate(claim.len() - 16);
        claim.extend((payload_len as u64).to_le_bytes());
        claim
    };
    let one = claim(0).len();
    let len = 400 * one + (64 << 20);
    let mut image: Vec<u8> = (1..=400).flat_map(|number| claim(len - number * one - 8)).collect();
    image.resize(len, 1);
    let directory = with_image(&image);
    let mut running = Running::start(&["salvage", "image", "--dry-run", "--progress-every", "1"], directory.path());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !running.has_ended() && running.stderr().is_empty() {
        assert!(Instant::now() < deadline, "a line appears");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(Signal::INT);
    let result = running.wait();
    let first = result.stderr.lines().next().expect("a line");
    let [start, end] = ["membrane-codec: 0 frames, 64.12 MiB of 64.12 MiB (100%), ", ", 0 failures"];
    assert!(first.starts_with(start) && first.ends_with(end), "{first}");
    assert_eq!(result.status, Some(2));
    assert!(
        result.stderr.ends_with("membrane-codec: interrupted\n  stopped at byte 0 of image\n"),
        "{}",
        result.stderr
    );
}

#[test]
fn results_that_nobody_takes_stop_the_run() {
    let directory = with_image(&frame_of(b"payload"));
    let mut command = Command::new(support::PROGRAM);
    command.args(["salvage", "image", "-o", "saved"]).current_dir(directory.path());
    command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there"));
    let result: Run = command.output().expect("it starts").into();
    assert_eq!(result.status, Some(2));
    let message = "membrane-codec: cannot write to standard output: No space left on device (os error 28)\n";
    assert_eq!(result.stderr, message);
}
