//! What is said of frames, in words and in JSON.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::stores::{count_converted, v4_of, write_v4_store};
use crate::support::{self, directory, fixtures, frame_of, json_lines, program, run, small_payloads, vectors};

#[test]
fn published_cases() {
    let directory = directory();
    let cases: Vec<_> =
        vectors("migrations.json").into_iter().filter(|case| case.get("before_hex").is_some()).collect();
    let bytes =
        |hex: &serde_json::Value| base16ct::mixed::decode_vec(hex.as_str().expect("text")).expect("hexadecimal");
    let path =
        |case: &serde_json::Value| directory.path().join(format!("{}.blob", case["name"].as_str().expect("a name")));
    cases.iter().for_each(|case| fs::write(path(case), bytes(&case["before_hex"])).expect("it can be written"));

    let dry = run(&["migrate", "frames", ".", "--json"], directory.path());
    cases.iter().for_each(|case| assert_eq!(fs::read(path(case)).expect("it is there"), bytes(&case["before_hex"])));
    let wet = run(&["migrate", "frames", ".", "--json", "--write"], directory.path());
    let ((dry_lines, dry_summary), (lines, summary)) = (json_lines(&dry.stdout), json_lines(&wet.stdout));
    assert_eq!((dry.status, wet.status, dry.stderr, wet.stderr), (Some(1), Some(1), String::new(), String::new()));
    assert_eq!((lines.len(), dry_lines.len()), (39, 39));
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let of = |lines: &[serde_json::Value]| {
            lines.iter().find(|line| line["path"] == format!("./{name}.blob")).expect("one for each").clone()
        };
        let (line, dry_line) = (of(&lines), of(&dry_lines));
        let (expected, after) = match &case["after_hex"] {
            after if after.is_null() => ("refused", &case["before_hex"]),
            after if *after == case["before_hex"] => ("current", after),
            after => ("converted", after),
        };
        assert_eq!(line["status"], expected, "{name}");
        assert_eq!(dry_line["status"], expected.replace("converted", "convertible"), "{name}");
        assert_eq!(line.get("reason").is_some(), expected == "refused", "{name}");
        assert_eq!(fs::read(path(case)).expect("it is there"), bytes(after), "{name}");
    }
    let counts = |of: &serde_json::Value| {
        ["files", "current", "convertible", "converted", "refused", "io_error"].map(|key| of[key].clone())
    };
    assert_eq!(counts(&dry_summary), [39, 8, 16, 0, 15, 0].map(|number| json!(number)));
    assert_eq!(counts(&summary), [39, 8, 0, 16, 15, 0].map(|number| json!(number)));
}

#[test]
fn for_people() {
    let directory = directory();
    let store = write_v4_store(directory.path(), small_payloads(3));
    fs::write(directory.path().join("store/current.blob"), frame_of(b"current")).expect("it can be written");
    let mut damaged = v4_of(b"damaged");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(directory.path().join("store/damaged.frame"), &damaged).expect("it can be written");
    fs::write(directory.path().join("store/notes.txt"), "no frame").expect("it can be written");

    let without_time = |text: &str| {
        let (before, rest) = text.split_once(" in ").expect("the time");
        format!("{before}{}", &rest[rest.find('\n').expect("a line")..])
    };
    let advice = "
        1  trailer_mismatch
           The payload or its trailer changed after it was written: restore the frame.

passed over: 1 other file
";
    let dry = run(&["migrate", "frames", "store"], directory.path());
    let trailer = |text: &str| {
        // Which trailer it is does not matter here.
        let (before, rest) = text.split_once("found trailer ").expect("a trailer");
        format!("{before}{}", &rest[16..].split_once("expected ").expect("another").1[16..])
    };
    let text = trailer(&without_time(&dry.stdout));
    let expected = format!(
        "refused          store/damaged.frame\n    trailer_mismatch at byte {}: , the first 8 bytes of the payload's SHA-256\n\n",
        damaged.len() - 8
    );
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("5 files, "), "{text}");
    for row in ["        3  ", "v4, to convert\n        1  ", "v5\n        1  ", "refused\n", advice] {
        assert!(text.contains(row), "{row}: {text}");
    }
    assert!(text.ends_with("\nNothing was written; --write converts 3 files.\n"), "{text}");
    assert_eq!((dry.status, dry.stderr.as_str(), count_converted(directory.path(), &store)), (Some(1), "", 0));

    let wet = run(&["migrate", "frames", "store", "--write"], directory.path());
    let text = trailer(&without_time(&wet.stdout));
    assert!(text.contains("v4, converted\n") && text.ends_with(advice), "{text}");
    assert_eq!((wet.status, count_converted(directory.path(), &store)), (Some(1), 3));
    assert_eq!(fs::read(directory.path().join("store/damaged.frame")).expect("it is there"), damaged);

    fs::remove_file(directory.path().join("store/damaged.frame")).expect("it is there");
    let done = run(&["migrate", "frames", "store", "--write"], directory.path());
    assert_eq!(done.status, Some(0));
    assert!(without_time(&done.stdout).contains("  v5\n\npassed over: 1 other file\n"), "{}", done.stdout);
}

/// What `verify` says of old frames, and what becomes of that.
#[test]
fn verify_names_the_command() {
    let directory = directory();
    write_v4_store(directory.path(), small_payloads(2));
    let before = run(&["verify", "store"], directory.path());
    assert_eq!(before.status, Some(1));
    let advice = "        2  old_version\n           A frame of format v2 or v4: `membrane-codec migrate frames` converts it to v5.\n";
    assert!(before.stdout.contains(advice), "{}", before.stdout);
    assert_eq!(run(&["migrate", "frames", "store", "--write"], directory.path()).status, Some(0));
    assert_eq!(run(&["verify", "store", "--check-hash", "--check-key"], directory.path()).status, Some(0));
}

#[test]
fn wrong_use_and_missing_paths() {
    let directory = directory();
    for arguments in
        [&["migrate"][..], &["migrate", "frames"], &["migrate", "frames", "-"], &["migrate", "frames", "missing"]]
    {
        let result = run(arguments, directory.path());
        assert_eq!(result.status, Some(2), "{arguments:?}");
    }
    let empty = run(&["migrate", "frames", "."], directory.path());
    assert_eq!(empty.status, Some(0));
    let said = "membrane-codec: nothing to migrate: directories are searched for *.blob and *.frame, with --all for every file\n";
    assert_eq!(empty.stderr, said);
}

/// It does not send to itself.
#[test]
fn advice_on_a_schema_that_no_version_has() {
    let directory = directory();
    let mut frame = v4_of(b"payload");
    frame[3] = 2;
    fs::write(directory.path().join("a.blob"), frame).expect("room");
    let result = run(&["migrate", "frames", "a.blob"], directory.path());
    let advice = "        1  schema_version
           No version has this schema with this magic: the header was damaged. Restore the frame from a replica.
";
    assert!(result.status == Some(1) && result.stdout.ends_with(advice), "{}", result.stdout);
}

#[test]
fn names_that_are_not_text() {
    let directory = directory();
    let name = std::ffi::OsStr::from_bytes(b"\xff\x1b[31m.blob");
    fs::write(directory.path().join(name), v4_of(b"payload")).expect("it can be written");
    let result = run(&["migrate", "frames", ".", "--write", "--json"], directory.path());
    let (lines, _) = json_lines(&result.stdout);
    assert_eq!(lines[0]["path_bytes"], "2e2fff1b5b33316d2e626c6f62");
    assert_eq!((&lines[0]["status"], result.status), (&json!("converted"), Some(0)));
    assert_eq!(fs::read(directory.path().join(name)).expect("it is there"), frame_of(b"payload"));
}

#[test]
fn hard_links_are_told_of() {
    let directory = directory();
    let store = write_v4_store(directory.path(), small_payloads(1));
    fs::hard_link(directory.path().join(&store[0].0), directory.path().join("backup")).expect("room");
    let result = run(&["migrate", "frames", "store", "--write", "--json"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((&lines[0]["links"], &summary["links_parted"]), (&json!(2), &json!(1)));
    assert_eq!(fs::read(directory.path().join("backup")).expect("it is there")[3], 4);
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let directory = directory();
    write_v4_store(directory.path(), small_payloads(10));
    let mut command = std::process::Command::new("bash");
    let script = "\"$0\" migrate frames store --json | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}";
    command.args(["-c", script, support::PROGRAM]).current_dir(directory.path());
    let result: support::Run = command.output().expect("it starts").into();
    assert!(matches!(result.status, Some(0 | 2)), "{result:?}");
    assert_eq!(result.stderr, "");
}

/// What is published as sound stays as it is.
#[test]
fn fixtures_are_current() {
    let frames = fixtures().join("frames");
    let output = program().args(["migrate", "frames", "--json"]).arg(&frames).output().expect("it starts");
    let (_, summary) = json_lines(&String::from_utf8(output.stdout).expect("text"));
    assert_eq!((output.status.code(), &summary["current"]), (Some(0), &json!(16)));
}
