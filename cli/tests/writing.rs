//! `canonicalize`, `extract` and `fingerprint`: exact bytes, and nothing half-written whatever happens.

mod support;

use std::fs;
use std::path::Path;

use support::{directory, fixtures, frame_of, identity_of, names_in, program, run};
use tempfile::TempDir;

/// A directory with `ID.json` and `payload`, and the frame that they make.
fn identity_and_payload() -> (TempDir, Vec<u8>) {
    let payload: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
    let directory = directory();
    let identity = identity_of(&payload);
    let json = serde_json::to_string_pretty(&identity).expect("JSON");
    fs::write(directory.path().join("ID.json"), json).expect("it can be written");
    fs::write(directory.path().join("payload"), &payload).expect("it can be written");
    let frame = membrane_codec::canonicalize(&identity, &payload).expect("a small frame");
    (directory, frame)
}

fn read(directory: &TempDir, name: &str) -> Vec<u8> {
    fs::read(directory.path().join(name)).expect("it is there")
}

#[test]
fn a_frame_and_back() {
    let (directory, frame) = identity_and_payload();
    let arguments = ["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o", "frame"];
    let result = run(&arguments, directory.path());
    assert_eq!((result.status, result.stdout.as_str(), result.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(read(&directory, "frame"), frame);

    let result = run(&["extract", "frame", "-o", "extracted"], directory.path());
    assert_eq!((result.status, result.stdout.as_str(), result.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(read(&directory, "extracted"), read(&directory, "payload"));
    assert_eq!(names_in(directory.path()), ["ID.json", "extracted", "frame", "payload"]);
}

#[test]
fn through_standard_input_and_output() {
    let (directory, frame) = identity_and_payload();
    let canonicalize = |identity: &str, payload: &str, stdin: Vec<u8>| {
        let mut command = program();
        command.args(["canonicalize", "--identity", identity, "--payload", payload]).current_dir(directory.path());
        command.write_stdin(stdin).output().expect("it starts")
    };
    assert_eq!(canonicalize("ID.json", "-", read(&directory, "payload")).stdout, frame);
    assert_eq!(canonicalize("-", "payload", read(&directory, "ID.json")).stdout, frame);
    let both = canonicalize("-", "-", Vec::new());
    assert_eq!((both.status.code(), both.stdout), (Some(2), Vec::new()));

    let extracted = program().args(["extract", "-"]).write_stdin(frame.clone()).output().expect("it starts");
    assert_eq!(extracted.stdout, read(&directory, "payload"));

    let json = read(&directory, "ID.json");
    let fingerprint = program().args(["fingerprint", "-"]).write_stdin(json.clone()).output().expect("it starts");
    let identity = membrane_codec::PayloadIdentity::from_json(&json).expect("an identity");
    assert_eq!(fingerprint.stdout, format!("{}\n", identity.fingerprint()).into_bytes());
}

#[test]
fn an_empty_payload_from_file_or_pipe() {
    let (directory, _) = identity_and_payload();
    fs::write(directory.path().join("empty"), b"").expect("it can be written");
    let frame = membrane_codec::canonicalize(&identity_of(&read(&directory, "payload")), b"").expect("a small frame");
    for payload in ["empty", "-"] {
        let mut command = program();
        command.args(["canonicalize", "--identity", "ID.json", "--payload", payload]).current_dir(directory.path());
        let output = command.write_stdin("").output().expect("it starts");
        assert_eq!(output.stdout, frame);
    }
}

#[test]
fn a_damaged_frame_is_never_extracted() {
    let mut sound = frame_of(&[7; 300_000]);
    let directory = directory();
    let extract = |frame: &[u8]| {
        fs::write(directory.path().join("frame"), frame).expect("it can be written");
        fs::write(directory.path().join("payload"), b"what was there before").expect("it can be written");
        let to_file = run(&["extract", "frame", "-o", "payload"], directory.path());
        let to_stdout = run(&["extract", "frame"], directory.path());
        assert_eq!(read(&directory, "payload"), b"what was there before");
        assert_eq!(names_in(directory.path()), ["frame", "payload"], "nothing is left behind");
        assert_eq!((to_stdout.status, to_stdout.stdout.as_str()), (to_file.status, ""));
        assert_eq!(to_stdout.stderr, to_file.stderr);
        (to_file.status, to_file.stderr)
    };
    let cut = extract(&sound[..200_000]);
    assert_eq!(
        cut,
        (
            Some(1),
            "membrane-codec: frame: truncated at byte 200000: found 200000 bytes, expected a frame of 300316 bytes\n  \
             The write never finished or the file was cut: restore the frame from a replica.\n"
                .into()
        )
    );
    let end = sound.len() - 1;
    sound[end] ^= 1;
    let (status, message) = extract(&sound);
    assert_eq!(status, Some(1));
    assert!(message.starts_with("membrane-codec: frame: trailer_mismatch at byte 300308: "), "{message}");
}

#[test]
fn refusals_that_are_no_damage() {
    let (directory, _) = identity_and_payload();
    let result = run(&["extract", "none"], directory.path());
    assert_eq!(result.stderr, "membrane-codec: none: No such file or directory (os error 2)\n");
    assert_eq!(result.status, Some(2));
    let result = run(&["extract", "ID.json", "-o", "none/payload"], directory.path());
    assert_eq!(result.status, Some(1), "the frame is judged first");

    fs::write(directory.path().join("frame"), frame_of(b"payload")).expect("it can be written");
    let before = names_in(directory.path());
    let output = |path: &str| run(&["extract", "frame", "-o", path], directory.path());
    assert_eq!(output("none/payload").status, Some(2));
    assert_eq!(
        output(".").stderr,
        "membrane-codec: .: exists and is not a regular file; leave out -o to write to standard output\n"
    );
    assert_eq!(output("").status, Some(2));
    assert_eq!(names_in(directory.path()), before);
}

#[test]
fn an_input_is_never_the_output() {
    let (directory, frame) = identity_and_payload();
    fs::write(directory.path().join("frame"), &frame).expect("it can be written");
    fs::hard_link(directory.path().join("frame"), directory.path().join("other-name")).expect("it is ours");
    let canonicalize = ["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o"];
    for (arguments, output) in [
        (&["extract", "frame", "-o"][..], "frame"),
        (&["extract", "frame", "-o"], "other-name"),
        (&canonicalize, "ID.json"),
        (&canonicalize, "payload"),
    ] {
        let before = read(&directory, output);
        let result = run(&[arguments, &[output]].concat(), directory.path());
        let message = format!("membrane-codec: {output}: is also an input; it would be lost\n");
        assert_eq!((result.status, result.stderr), (Some(2), message));
        assert_eq!(read(&directory, output), before);
    }
}

#[test]
fn a_dash_is_standard_output() {
    let (directory, frame) = identity_and_payload();
    let mut command = program();
    command.args(["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o", "-"]);
    let output = command.current_dir(directory.path()).output().expect("it starts");
    assert_eq!(output.stdout, frame);
    assert_eq!(names_in(directory.path()), ["ID.json", "payload"]);
}

#[test]
fn no_frame_is_made_that_readers_refuse_by_default() {
    let (directory, _) = identity_and_payload();
    let mut identity = identity_of(b"");
    // Escaped, each letter takes six bytes.
    identity.model_id = "\u{e9}".repeat(400_000);
    let json = serde_json::to_string(&identity).expect("JSON");
    assert!(json.len() < 1 << 20);
    fs::write(directory.path().join("ID.json"), json).expect("it can be written");
    let arguments = ["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o", "frame"];
    let result = run(&arguments, directory.path());
    assert_eq!(result.status, Some(1));
    assert!(result.stderr.contains("readers refuse more than 1048576 (--max-identity-len)"), "{}", result.stderr);
    let result = run(&[&arguments[..], &["--max-identity-len", "3000000"]].concat(), directory.path());
    assert_eq!(result.status, Some(0));
    assert_eq!(run(&["verify", "frame", "--max-identity-len", "3000000"], directory.path()).status, Some(0));
}

#[test]
fn identities_that_are_none() {
    let (directory, _) = identity_and_payload();
    for (json, status, message) in [
        ("", 1, "identity_json at byte 0: found the end of the text, expected the rest of the object"),
        ("{}", 1, "identity_field at byte 0: payload_hash: found nothing, expected 64 hexadecimal characters"),
    ] {
        fs::write(directory.path().join("ID.json"), json).expect("it can be written");
        let fingerprint = run(&["fingerprint", "ID.json"], directory.path());
        assert_eq!(fingerprint.stderr, format!("membrane-codec: ID.json: {message}\n"));
        assert_eq!((fingerprint.status, fingerprint.stdout.as_str()), (Some(status), ""));
        let arguments = ["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o", "frame"];
        let canonicalize = run(&arguments, directory.path());
        assert_eq!((canonicalize.status, canonicalize.stderr), (fingerprint.status, fingerprint.stderr));
    }
    assert_eq!(names_in(directory.path()), ["ID.json", "payload"]);
    fs::write(directory.path().join("ID.json"), vec![b' '; (1 << 20) + 1]).expect("it can be written");
    let result = run(&["fingerprint", "ID.json"], directory.path());
    assert_eq!(
        (result.status, result.stderr.as_str()),
        (Some(1), "membrane-codec: ID.json: longer than 1048576 bytes, expected the JSON of one identity\n")
    );
}

#[test]
fn a_payload_hash_of_other_bytes_is_noted_or_refused() {
    let (directory, _) = identity_and_payload();
    fs::write(directory.path().join("payload"), b"other bytes").expect("it can be written");
    let arguments = ["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o", "frame"];
    let refused = run(&[&arguments[..], &["--check-hash"]].concat(), directory.path());
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.starts_with("membrane-codec: ID.json: payload_hash_mismatch: the identity names "));
    assert_eq!(names_in(directory.path()), ["ID.json", "payload"]);
    let noted = run(&arguments, directory.path());
    assert_eq!(noted.status, Some(0));
    assert!(noted.stderr.starts_with("membrane-codec: note: payload_hash_mismatch: "), "{}", noted.stderr);
    assert_eq!(run(&["verify", "frame"], directory.path()).status, Some(0));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::{Child, Stdio};
    use std::time::{Duration, Instant};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    #[test]
    fn the_written_file_has_the_rights_of_any_other_or_of_the_one_before() {
        let directory = directory();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("frame"), frame_of(b"payload")).expect("it can be written");
        assert_eq!(run(&["extract", "frame", "-o", "new"], directory.path()).status, Some(0));
        assert_eq!(mode(&at("new")), mode(&at("frame")));
        fs::write(at("old"), b"").expect("it can be written");
        fs::set_permissions(at("old"), fs::Permissions::from_mode(0o640)).expect("it is ours");
        assert_eq!(run(&["extract", "frame", "-o", "old"], directory.path()).status, Some(0));
        assert_eq!((mode(&at("old")), read(&directory, "old")), (0o640, b"payload".to_vec()));
    }

    #[test]
    fn standard_error_that_cannot_be_written_changes_nothing() {
        let (directory, _) = identity_and_payload();
        fs::write(directory.path().join("payload"), b"other bytes").expect("it can be written");
        let mut command = std::process::Command::new(support::PROGRAM);
        command.args(["canonicalize", "--identity", "ID.json", "--payload", "payload", "-o", "frame"]);
        command.stderr(fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there"));
        let output = command.current_dir(directory.path()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0));
        assert!(directory.path().join("frame").exists());
    }

    #[test]
    fn links_devices_and_pipes_as_targets() {
        let directory = directory();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("frame"), frame_of(b"payload")).expect("it can be written");
        fs::create_dir(at("elsewhere")).expect("it is ours");
        fs::write(at("elsewhere/target"), b"before").expect("it can be written");
        symlink("elsewhere/target", at("link")).expect("it is ours");
        symlink("nowhere", at("dangling")).expect("it is ours");
        let extract = |target: &str| run(&["extract", "frame", "-o", target], directory.path());

        assert_eq!(extract("link").status, Some(0));
        assert!(fs::symlink_metadata(at("link")).expect("it is there").is_symlink());
        assert_eq!(read(&directory, "elsewhere/target"), b"payload");
        assert_eq!(extract("dangling").status, Some(2));
        assert!(!at("nowhere").exists());
        assert_eq!(extract("/dev/null").status, Some(2));
        assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    }

    #[test]
    fn a_full_disk_leaves_nothing() {
        let directory = directory();
        fs::write(directory.path().join("frame"), frame_of(&vec![7; 1 << 20])).expect("it can be written");
        fs::write(directory.path().join("payload"), b"before").expect("it can be written");
        // A limit on the size of files fails a write as a full disk does.
        let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" extract frame -o payload";
        let mut command = std::process::Command::new("sh");
        let result: support::Run = command
            .args(["-c", script, support::PROGRAM])
            .current_dir(directory.path())
            .output()
            .expect("it starts")
            .into();
        assert_eq!(result.status, Some(2));
        assert_eq!(result.stderr, "membrane-codec: payload: File too large (os error 27)\n");
        assert_eq!(read(&directory, "payload"), b"before");
        assert_eq!(names_in(directory.path()), ["frame", "payload"]);

        let mut command = std::process::Command::new(support::PROGRAM);
        command.args(["extract", "frame"]).current_dir(directory.path());
        command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there"));
        let result: support::Run = command.output().expect("it starts").into();
        assert_eq!(result.status, Some(2));
        assert_eq!(
            result.stderr,
            "membrane-codec: cannot write to standard output: No space left on device (os error 28)\n"
        );
    }

    /// A run that waits in the middle of its payload, and the name of its temporary file.
    fn stopped_halfway(directory: &Path) -> (Child, String) {
        let frame = frame_of(&vec![7; 1 << 20]);
        let mut command = std::process::Command::new(support::PROGRAM);
        command.args(["extract", "-", "-o", "payload"]).current_dir(directory).stdin(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.as_mut().expect("piped").write_all(&frame[..700_000]).expect("it reads");
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let temporary =
                names_in(directory).into_iter().find(|name| name.starts_with('.') && name.ends_with(".tmp"));
            match temporary {
                Some(name) if fs::metadata(directory.join(&name)).is_ok_and(|file| file.len() > 0) => {
                    return (child, name);
                }
                _ => assert!(Instant::now() < deadline, "a temporary file appears"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn kill(child: &Child, signal: &str) {
        let status = std::process::Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
        assert!(status.expect("sh is there").success());
    }

    #[test]
    fn interrupted_runs_take_their_temporary_file_along() {
        for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            let directory = directory();
            fs::write(directory.path().join("payload"), b"before").expect("it can be written");
            let (mut child, _) = stopped_halfway(directory.path());
            // Held open: at the end of its input the program would end by itself.
            let input = child.stdin.take();
            kill(&child, signal);
            let status = child.wait().expect("it ends");
            drop(input);
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(number));
            assert_eq!(names_in(directory.path()), ["payload"], "after {signal}");
            assert_eq!(read(&directory, "payload"), b"before");
        }
    }

    #[test]
    fn a_signal_that_was_ignored_before_stays_ignored() {
        let directory = directory();
        let frame = frame_of(&vec![7; 1 << 20]);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "trap '' HUP; exec \"$0\" extract - -o payload", support::PROGRAM]);
        let mut child = command.current_dir(directory.path()).stdin(Stdio::piped()).spawn().expect("it starts");
        child.stdin.as_mut().expect("piped").write_all(&frame[..700_000]).expect("it reads");
        kill(&child, "HUP");
        child.stdin.as_mut().expect("piped").write_all(&frame[700_000..]).expect("it still reads");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
        assert_eq!(read(&directory, "payload").len(), 1 << 20);
    }

    #[test]
    fn a_killed_run_leaves_the_target_alone_and_a_file_that_no_scan_takes_for_a_frame() {
        let directory = directory();
        fs::write(directory.path().join("payload"), b"before").expect("it can be written");
        let (mut child, temporary) = stopped_halfway(directory.path());
        let input = child.stdin.take();
        kill(&child, "KILL");
        child.wait().expect("it ends");
        drop(input);
        assert_eq!(names_in(directory.path()), [temporary.as_str(), "payload"]);
        assert_eq!(read(&directory, "payload"), b"before");
        let result = run(&["verify", "--all", "."], directory.path());
        assert!(result.stdout.contains("\npassed over: 1 temporary file\n"), "{}", result.stdout);
    }

    #[test]
    fn a_terminal_is_spared_binary_data() {
        // `script` gives the program a terminal.
        let Ok(script) = std::process::Command::new("script").arg("--version").output() else {
            eprintln!("skipped: no script(1) on this machine");
            return;
        };
        assert!(script.status.success());
        let frame = fixtures().join("odd/empty_strings.frame");
        let command = format!("'{}' extract '{}'", support::PROGRAM, frame.display());
        let output =
            std::process::Command::new("script").args(["-qec", &command, "/dev/null"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("refusing to write binary data to a terminal; name a file with -o"), "{text}");
    }
}
