//! `verify` on real files: verdicts, exit status, summaries, and files that cannot be read or are none.

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use support::{directory, fixtures, frame_of, json_lines, program, run};

/// The standard output without its only line that depends on the machine's speed.
fn without_rate(stdout: &str) -> String {
    stdout.lines().filter(|line| !line.contains("/s)")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_sound_fixtures() {
    let result = run(&["verify", "frames"], &fixtures());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    assert!(result.stdout.starts_with("16 frames, 1.33 MiB in "), "{}", result.stdout);
    assert_eq!(without_rate(&result.stdout), "       16  ok\n");

    let checked = run(&["verify", "frames", "--check-hash", "--check-key", "--json"], &fixtures());
    let (lines, summary) = json_lines(&checked.stdout);
    assert_eq!(checked.status, Some(0));
    assert!(lines.iter().all(|line| line["status"] == "ok" && line.get("findings").is_none()));
    let bytes: u64 = lines
        .iter()
        .map(|line| fs::metadata(fixtures().join(line["path"].as_str().expect("a path"))).expect("it exists").len())
        .sum();
    assert_eq!(
        summary,
        json!({"frames": 16, "ok": 16, "schema_error": 0, "corrupt_payload": 0, "io_error": 0, "bytes": bytes,
               "findings": 0})
    );
}

#[test]
fn damage_is_named_with_reason_and_offset_and_counted_at_the_end() {
    let result = run(&["verify", "damaged/truncated.frame", "damaged/schema_version.frame", "frames"], &fixtures());
    assert_eq!(result.status, Some(1));
    // Verdicts come in no order.
    let (failures, summary) = result.stdout.split_once("\n\n").expect("a summary");
    let mut failures: Vec<_> = failures.lines().collect();
    failures.sort_unstable();
    assert_eq!(
        failures,
        [
            "    schema_version at byte 4: found schema 6, expected 5",
            "    truncated at byte 496: found 496 bytes, expected a frame of 696 bytes",
            "corrupt_payload  damaged/truncated.frame",
            "schema_error     damaged/schema_version.frame",
        ]
    );
    assert_eq!(
        without_rate(summary),
        "       16  ok
        1  schema_error
        1  corrupt_payload

        1  schema_version
           Another schema version: `membrane-codec migrate frames` converts 2 and 4 to v5; restore a frame that was v5.

        1  truncated
           The write never finished or the file was cut: restore the frame from a replica.
"
    );
}

#[test]
fn json_lines_of_a_damaged_and_a_missing_file() {
    let result = run(&["verify", "--json", "damaged/trailer_mismatch.frame", "damaged/none.frame"], &fixtures());
    assert_eq!(result.status, Some(2));
    let (lines, summary) = json_lines(&result.stdout);
    let hash = "d0b3731d50984db42d3d37816710aa027d9828dccae73f91229c14c6f30c5ad2";
    assert_eq!(
        lines,
        [
            json!({"path": "damaged/none.frame", "status": "io_error",
                   "detail": "No such file or directory (os error 2)"}),
            json!({"path": "damaged/trailer_mismatch.frame", "status": "corrupt_payload", "reason": "trailer_mismatch",
                   "detail": "trailer_mismatch at byte 688: found trailer d0b3731d50984db4, expected 1f23199d5a489dec, \
                              the first 8 bytes of the payload's SHA-256",
                   "payload_len": 384, "payload_hash": hash,
                   "fingerprint": "dbcf45373fed1b88c431a7d5df0781b9c4713dc1e2695230224af699e327d616"}),
        ]
    );
    assert_eq!(
        summary,
        json!({"frames": 2, "ok": 0, "schema_error": 0, "corrupt_payload": 1, "io_error": 1, "bytes": 696})
    );
}

#[test]
fn a_directory_with_all_sorts_of_things() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("ab/cd")).expect("it is ours");
    fs::write(at("ab/cd/one.blob"), frame_of(b"one")).expect("it can be written");
    fs::write(at("ab/two.frame"), frame_of(b"two")).expect("it can be written");
    fs::write(at("notes.txt"), "not a frame").expect("it can be written");
    fs::write(at("ab/.one.blob.x7.tmp"), "half a frame").expect("it can be written");
    fs::create_dir(at("empty.blob")).expect("it is ours");

    let result = run(&["verify", "."], directory.path());
    assert_eq!(result.status, Some(0));
    assert_eq!(without_rate(&result.stdout), "        2  ok\n\npassed over: 1 other file, 1 temporary file\n");

    let (_, summary) = json_lines(&run(&["verify", "--json", "."], directory.path()).stdout);
    let passed_over = json!({"other_files": 1, "temporary_files": 1, "symlinks": 0, "special_files": 0});
    assert_eq!(summary["passed_over"], passed_over);

    let result = run(&["verify", "--all", "--json", "."], directory.path());
    assert_eq!(result.status, Some(1));
    let (lines, summary) = json_lines(&result.stdout);
    let verdicts: Vec<_> = lines.iter().map(|line| (&line["path"], line.get("reason"))).collect();
    assert_eq!(
        verdicts,
        [
            (&json!("./ab/cd/one.blob"), None),
            (&json!("./ab/two.frame"), None),
            (&json!("./notes.txt"), Some(&json!("bad_magic"))),
        ]
    );
    assert_eq!((&summary["frames"], &summary["ok"]), (&json!(3), &json!(2)));

    let result = run(&["verify", "--verbose", "ab"], directory.path());
    let (frames, summary) = result.stdout.split_once("\n\n").expect("a summary");
    let mut frames: Vec<_> = frames.lines().collect();
    frames.sort_unstable();
    assert_eq!(frames, ["ok               ab/cd/one.blob", "ok               ab/two.frame"]);
    assert_eq!(without_rate(summary), "        2  ok\n\npassed over: 1 temporary file\n");
}

#[test]
fn an_empty_directory_says_so() {
    let directory = directory();
    let result = run(&["verify", "."], directory.path());
    assert_eq!(result.status, Some(0));
    let said =
        "membrane-codec: nothing to verify: directories are searched for *.blob and *.frame, with --all for every file";
    assert_eq!((without_rate(&result.stdout).as_str(), result.stderr), ("", format!("{said}\n")));
    // In every manner of telling, with what was passed over.
    fs::write(directory.path().join("notes.txt"), "").expect("it can be written");
    let result = run(&["verify", "--quiet", "."], directory.path());
    let expected = format!("{said}; passed over: 1 other file\n");
    assert_eq!((result.status, result.stdout.as_str(), result.stderr), (Some(0), "", expected));
    // Not where there was something that was not asked for.
    fs::write(directory.path().join("one.blob"), frame_of(b"payload")).expect("it can be written");
    let result = run(&["verify", "--sample", "0%", "."], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    let directory = self::directory();
    let result = run(&["verify", "--json", "."], directory.path());
    assert_eq!(result.stderr, format!("{said}\n"));
    assert_eq!(
        result.stdout,
        "{\"summary\":{\"frames\":0,\"ok\":0,\"schema_error\":0,\"corrupt_payload\":0,\"io_error\":0,\"bytes\":0}}\n"
    );
}

#[test]
fn standard_input() {
    let sound = frame_of(b"payload");
    let verify = |bytes: &[u8]| -> support::Run {
        program().args(["verify", "--json", "-"]).write_stdin(bytes).output().expect("it starts").into()
    };
    let (lines, _) = json_lines(&verify(&sound).stdout);
    assert_eq!((&lines[0]["path"], &lines[0]["status"]), (&json!("-"), &json!("ok")));
    assert_eq!(verify(&sound).status, Some(0));
    let longer = verify(&[&sound[..], b"!"].concat());
    assert_eq!(longer.status, Some(1));
    let (lines, _) = json_lines(&longer.stdout);
    assert_eq!(lines[0]["reason"], "trailing_bytes");
    assert_eq!(verify(b"").status, Some(1));

    // Even where something else bears that name.
    let elsewhere = directory();
    fs::create_dir(elsewhere.path().join("-")).expect("it is ours");
    let mut command = program();
    command.args(["verify", "-"]).current_dir(elsewhere.path());
    assert_eq!(command.write_stdin(&b"junk"[..]).output().expect("it starts").status.code(), Some(1));

    let text: support::Run = program().args(["verify", "-"]).write_stdin(&b""[..]).output().expect("it starts").into();
    assert!(text.stdout.starts_with("corrupt_payload  standard input\n    truncated at byte 0"), "{}", text.stdout);
}

#[test]
fn findings_fail_only_when_they_are_asked_for() {
    let directory = directory();
    let identity = support::identity_of(b"payload");
    let frame = membrane_codec::canonicalize(&identity, b"other bytes").expect("a small frame");
    let key = identity.payload_hash.to_string();
    fs::write(directory.path().join(format!("{key}.blob")), &frame).expect("it can be written");
    fs::write(directory.path().join("unnamed.blob"), frame_of(b"sound")).expect("it can be written");
    // A sound frame under another's key.
    let other_key = "0".repeat(64);
    fs::write(directory.path().join(format!("{other_key}.blob")), frame_of(b"swapped")).expect("it can be written");

    assert_eq!(run(&["verify", "."], directory.path()).status, Some(0));
    let findings = |flags: &[&str]| {
        let result = run(&[&["verify", "--json", "."], flags].concat(), directory.path());
        let (lines, summary) = json_lines(&result.stdout);
        assert!(lines.iter().all(|line| line["status"] == "ok"));
        let findings: Vec<Value> =
            lines.into_iter().filter_map(|mut line| line.get_mut("findings").map(Value::take)).collect();
        assert_eq!(summary["findings"], findings.len());
        (result.status, findings)
    };
    assert_eq!(findings(&["--check-hash"]), (Some(1), vec![json!(["payload_hash_mismatch"])]));
    assert_eq!(findings(&["--check-key"]), (Some(1), vec![json!(["key_mismatch"]), json!(["key_mismatch"])]));
    assert_eq!(findings(&["--check-key", "--check-hash"]).1.len(), 3);

    let text = run(&["verify", &format!("{other_key}.blob"), "--check-key"], directory.path());
    assert_eq!(
        without_rate(&text.stdout),
        format!(
            "finding          {other_key}.blob\n    key_mismatch: stored under {other_key}, the identity names {}\n\n        \
             1  ok\n        1  with findings, among the ok ones\n\n        1  key_mismatch\n           The frame lies under \
             another's key and would be served for it: restore it.\n",
            membrane_codec::sha256(b"swapped")
        )
    );
}

#[test]
fn an_absurd_length_in_a_sparse_file_of_4_gib_costs_nothing() {
    let directory = directory();
    let path = directory.path().join("sparse.blob");
    let mut frame = frame_of(b"");
    let payload_len = frame.len() - 16;
    frame[payload_len..payload_len + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut file = fs::File::create(&path).expect("it can be created");
    file.write_all(&frame).expect("it can be written");
    file.set_len(4 << 30).expect("a sparse file");
    drop(file);

    let result = run_within_64_mib(&["verify", "--json", "sparse.blob"], directory.path());
    assert_eq!(result.status, Some(1), "{}", result.stderr);
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!(lines[0]["reason"], "truncated");
    assert_eq!(summary["bytes"], 256 << 10, "one buffer was read and no more");

    // The same for an identity that claims almost all of the file.
    frame[10..14].copy_from_slice(&(u32::MAX - 100).to_le_bytes());
    fs::OpenOptions::new().write(true).open(&path).expect("it opens").write_all(&frame).expect("it can be written");
    let result = run_within_64_mib(&["verify", "--json", "sparse.blob"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((&lines[0]["reason"], &summary["bytes"]), (&json!("identity_length"), &json!(256 << 10)));
}

#[test]
fn a_frame_larger_than_memory_streams_through() {
    let directory = directory();
    let (payload_len, piece) = (256_u64 << 20, vec![0; 1 << 20]);
    let file = fs::File::create(directory.path().join("large.blob")).expect("it can be created");
    let mut writer =
        membrane_codec::FrameWriter::new(file, &support::identity_of(b""), payload_len).expect("it can be written");
    for _ in 0..payload_len >> 20 {
        writer.write_all(&piece).expect("it can be written");
    }
    let (_, digest) = writer.finish().expect("it can be written");

    let result = run_within_64_mib(&["verify", "--json", "--check-hash", "large.blob"], directory.path());
    let (lines, _) = json_lines(&result.stdout);
    assert_eq!((&lines[0]["status"], &lines[0]["payload_len"]), (&json!("ok"), &json!(payload_len)));
    assert!(lines[0]["detail"].as_str().expect("the hash is another").ends_with(&digest.to_string()));
    let result = run_within_64_mib(&["extract", "large.blob", "-o", "payload"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::metadata(directory.path().join("payload")).expect("it is there").len(), payload_len);
}

/// Runs under a limit on the whole address space, which is stricter than one on the memory in use.
fn run_within_64_mib(arguments: &[&str], directory: &Path) -> support::Run {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -v 65536 && exec \"$@\"", "sh", support::PROGRAM]).args(arguments);
    command.current_dir(directory).output().expect("it starts").into()
}

#[test]
fn the_cap_on_identities_can_be_set() {
    let directory = directory();
    let mut identity = support::identity_of(b"");
    identity.model_id = "m".repeat(2 << 20);
    let frame = membrane_codec::canonicalize(&identity, b"").expect("a frame");
    fs::write(directory.path().join("long.blob"), frame).expect("it can be written");
    let result = run(&["verify", "--json", "long.blob"], directory.path());
    assert_eq!(json_lines(&result.stdout).0[0]["reason"], "identity_length");
    let result = run(&["verify", "--json", "--max-identity-len", "3000000", "long.blob"], directory.path());
    assert_eq!(json_lines(&result.stdout).0[0]["status"], "ok");
}

#[test]
fn wrong_usage() {
    for arguments in [&["verify"][..], &["verify", "--no-such-flag", "."], &["verify", "--max-identity-len", "x", "."]]
    {
        let result = run(arguments, &fixtures());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""));
        assert!(result.stderr.starts_with("error: "), "{}", result.stderr);
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    #[test]
    fn unreadable_files_and_directories() {
        let directory = directory();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("closed")).expect("it is ours");
        fs::write(at("closed/inside.blob"), frame_of(b"inside")).expect("it can be written");
        fs::write(at("open.blob"), frame_of(b"open")).expect("it can be written");
        fs::write(at("secret.blob"), frame_of(b"secret")).expect("it can be written");
        fs::set_permissions(at("secret.blob"), fs::Permissions::from_mode(0o000)).expect("it is ours");
        let result = support::run_as_ordinary_user(&["verify", "--json", "."], directory.path(), &at("closed"));

        let (mut lines, summary) = json_lines(&result.stdout);
        lines.sort_by_key(|line| line["path"].as_str().map(str::to_owned));
        let verdicts: Vec<_> = lines.iter().map(|line| (&line["path"], &line["status"])).collect();
        assert_eq!(
            verdicts,
            [
                (&json!("./closed"), &json!("io_error")),
                (&json!("./open.blob"), &json!("ok")),
                (&json!("./secret.blob"), &json!("io_error")),
            ]
        );
        assert!(lines[2]["detail"].as_str().expect("words").starts_with("Permission denied"));
        assert_eq!((result.status, &summary["io_error"]), (Some(2), &json!(2)));
    }

    #[test]
    fn links_are_followed_where_they_are_named_and_nowhere_else() {
        let directory = directory();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("store/ab")).expect("it is ours");
        fs::write(at("store/ab/real.blob"), frame_of(b"real")).expect("it can be written");
        symlink(at("store/ab/real.blob"), at("store/link.blob")).expect("it is ours");
        symlink(at("store"), at("store/ab/loop")).expect("it is ours");
        symlink("nowhere", at("store/dangling.blob")).expect("it is ours");
        symlink("store", at("store-link")).expect("it is ours");

        for root in ["store", "store-link"] {
            let result = run(&["verify", root], directory.path());
            assert_eq!(result.status, Some(0));
            assert_eq!(without_rate(&result.stdout), "        1  ok\n\npassed over: 3 symbolic links\n", "{root}");
        }
        assert_eq!(run(&["verify", "store/link.blob"], directory.path()).status, Some(0));
        assert_eq!(run(&["verify", "store/dangling.blob"], directory.path()).status, Some(2));
    }

    #[test]
    fn pipes_and_sockets_never_hold_a_run_up() {
        let directory = directory();
        let fifo = directory.path().join("pipe.blob");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
        let _socket = UnixListener::bind(directory.path().join("socket.blob")).expect("a socket");

        let result = run(&["verify", "--all", "."], directory.path());
        assert_eq!(result.status, Some(0));
        assert!(result.stdout.contains("\npassed over: 2 special files\n"), "{}", result.stdout);

        for special in ["pipe.blob", "/dev/null", "/dev/zero"] {
            let result = run(&["verify", "--json", special], directory.path());
            assert_eq!(result.status, Some(2), "{special}");
            assert_eq!(
                json_lines(&result.stdout).0[0]["detail"],
                "is not a regular file; to read a pipe or a device, give it on standard input as -"
            );
        }
        assert_eq!(run(&["verify", "socket.blob"], directory.path()).status, Some(2));
    }

    #[test]
    fn names_that_are_not_utf8_or_would_move_the_cursor() {
        let directory = directory();
        fs::write(directory.path().join(OsStr::from_bytes(b"\xff\xfe.blob")), b"").expect("it can be written");
        fs::write(directory.path().join("\u{1b}[2J.blob"), b"").expect("it can be written");
        let result = run(&["verify", "--json", "."], directory.path());
        let (lines, _) = json_lines(&result.stdout);
        assert_eq!((&lines[0]["path"], lines[0].get("path_bytes")), (&json!("./\u{1b}[2J.blob"), None));
        assert_eq!(lines[1]["path"], "./\u{fffd}\u{fffd}.blob");
        assert_eq!(lines[1]["path_bytes"], "2e2ffffe2e626c6f62");
        let result = run(&["verify", "."], directory.path());
        assert!(result.stdout.contains("corrupt_payload  \"./\\u{1b}[2J.blob\"\n"), "{}", result.stdout);
        assert!(!result.stdout.contains('\u{1b}'));
    }

    #[test]
    fn a_directory_that_cannot_be_read_cannot_forge_a_line() {
        let directory = directory();
        let evil = directory.path().join("\u{1b}[2J\nok  forged.blob");
        fs::create_dir(&evil).expect("it is ours");
        let result = support::run_as_ordinary_user(&["verify", "."], directory.path(), &evil);
        assert_eq!(
            result.stdout.split("\n\n").next(),
            Some("io_error         \"./\\u{1b}[2J\\nok  forged.blob\"\n    Permission denied (os error 13)")
        );
    }

    #[test]
    fn standard_input_that_cannot_be_read_is_not_an_empty_one() {
        let write_only = fs::OpenOptions::new().write(true).open("/dev/null").expect("it is there");
        let mut command = std::process::Command::new(support::PROGRAM);
        let result: support::Run =
            command.args(["verify", "--json", "-"]).stdin(write_only).output().expect("it starts").into();
        assert_eq!(result.status, Some(2));
        assert_eq!(json_lines(&result.stdout).0[0]["status"], "io_error");
    }

    #[test]
    fn results_that_cannot_be_written() {
        let mut full = std::process::Command::new(support::PROGRAM);
        full.args(["verify", "frames"]).current_dir(fixtures());
        full.stdout(fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there"));
        let result: support::Run = full.output().expect("it starts").into();
        assert_eq!(result.status, Some(2));
        assert!(
            result.stderr.contains("cannot write to standard output: No space left on device"),
            "{}",
            result.stderr
        );

        let mut closed = std::process::Command::new("sh");
        closed.args(["-c", "\"$0\" verify --verbose frames frames frames | true", support::PROGRAM]);
        let result: support::Run = closed.current_dir(fixtures()).output().expect("it starts").into();
        assert_eq!(result.stderr, "", "a closed pipe is no news");
    }

    #[test]
    fn a_file_that_is_cut_while_it_is_read_gets_a_verdict() {
        let directory = directory();
        let path = directory.path().join("shrinking.blob");
        let sound = frame_of(&vec![7; 64 << 20]);
        let mut cut_in_time = 0;
        for round in 0..12_u64 {
            fs::write(&path, &sound).expect("it can be written");
            let mut command = std::process::Command::new(support::PROGRAM);
            command.args(["verify", "--json", "shrinking.blob"]).current_dir(directory.path());
            let child = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
            std::thread::sleep(std::time::Duration::from_millis(2 * round));
            fs::OpenOptions::new().write(true).open(&path).expect("it opens").set_len(1000).expect("it can be cut");
            let result: support::Run = child.wait_with_output().expect("it ends").into();
            let line = &json_lines(&result.stdout).0[0];
            match line["status"].as_str() {
                Some("ok") => assert_eq!((result.status, &line["payload_len"]), (Some(0), &json!(64 << 20))),
                _ => {
                    assert_eq!((result.status, &line["reason"]), (Some(1), &json!("truncated")));
                    cut_in_time += 1;
                }
            }
        }
        assert!(cut_in_time > 0, "the cut came too late in every round");
    }
}
