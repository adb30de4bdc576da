//! `migrate frames`: old frames become v5, whole or not at all, whatever happens.

#![cfg(unix)]

mod support;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{
    Running, SmallDisk, age, directory, fixtures, frame_of, json_lines, names_in, program, run, set_mode,
    small_payloads, vectors, write_store,
};

/// The same frame as v4 wrote it.
fn v4_of(payload: &[u8]) -> Vec<u8> {
    let mut frame = frame_of(payload);
    frame[..6].copy_from_slice(&[0xC0, 0xDE, 0x01, 0x04, 4, 0]);
    frame
}

/// A store of frames in v4; their paths from `directory` on, and what they become.
fn write_v4_store(directory: &Path, payloads: impl IntoIterator<Item = Vec<u8>>) -> Vec<(String, Vec<u8>)> {
    let paths = write_store(directory, payloads);
    let old = |path: String| {
        let full = directory.join(&path);
        let current = fs::read(&full).expect("it is there");
        let mut frame = current.clone();
        frame[..6].copy_from_slice(&[0xC0, 0xDE, 0x01, 0x04, 4, 0]);
        fs::write(&full, frame).expect("it can be written");
        age(&full, Duration::from_secs(3600));
        (path, current)
    };
    paths.into_iter().map(old).collect()
}

/// How many files are v5 by now; each must be what it was or what it becomes.
fn count_converted(directory: &Path, store: &[(String, Vec<u8>)]) -> usize {
    let is_converted = |(path, current): &&(String, Vec<u8>)| {
        let now = fs::read(directory.join(path)).expect("it is there");
        assert!(now[6..] == current[6..], "{path}");
        assert!(now[..6] == current[..6] || now[..6] == [0xC0, 0xDE, 0x01, 0x04, 4, 0], "{path}");
        now[..6] == current[..6]
    };
    store.iter().filter(is_converted).count()
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path.file_name().expect("a name").to_string_lossy().into_owned()),
        }
    }
    found.sort();
    found
}

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

/// Runs the program as a user who owns nothing there; nothing where this process may not become somebody else.
fn run_as_nobody(arguments: &[&str], directory: &Path) -> Option<support::Run> {
    use std::os::unix::process::CommandExt;

    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only the superuser becomes somebody else");
        return None;
    }
    let copy = directory.join("program");
    fs::copy(support::PROGRAM, &copy).expect("it can be copied");
    set_mode(&copy, 0o755);
    let mut command = std::process::Command::new(&copy);
    command.args(arguments).current_dir(directory).uid(65534).gid(65534);
    let output = loop {
        match command.output() {
            // Another test's child still holds the copy, from before it became what it is.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("it starts"),
        }
    };
    fs::remove_file(copy).expect("it is there");
    Some(output.into())
}

#[test]
fn what_may_not_be_written_stays() {
    let directory = directory();
    let place = |name: &str, mode: u32, owner: u32| {
        let path = directory.path().join(name);
        fs::create_dir_all(&path).expect("room");
        fs::write(path.join("a.blob"), v4_of(b"payload")).expect("it can be written");
        set_mode(&path.join("a.blob"), 0o644);
        let _ = std::os::unix::fs::chown(path.join("a.blob"), Some(owner), Some(owner));
        set_mode(&path, mode);
        path.join("a.blob")
    };
    let read_only = place("read_only", 0o755, 65534);
    let of_root = place("of_root", 0o777, 0);
    let sticky = place("sticky", 0o1777, 0);
    let own = place("own", 0o777, 65534);
    let unread = place("unread", 0o777, 0);
    set_mode(&unread, 0o600);
    let arguments = ["migrate", "frames", "own", "read_only", "of_root", "sticky", "unread", "--write", "--json"];
    let Some(result) = run_as_nobody(&arguments, directory.path()) else { return };
    assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""));
    let (lines, summary) = json_lines(&result.stdout);
    let told: Vec<_> =
        lines.iter().map(|line| (line["path"].as_str(), line["status"].as_str(), line["detail"].as_str())).collect();
    let owner =
        "its owner and group cannot be kept; run as that owner or as root: Operation not permitted (os error 1)";
    let denied = "Permission denied (os error 13)";
    assert_eq!(
        told,
        [
            (Some("of_root/a.blob"), Some("io_error"), Some(owner)),
            (Some("own/a.blob"), Some("converted"), None),
            (Some("read_only/a.blob"), Some("io_error"), Some(denied)),
            (Some("sticky/a.blob"), Some("io_error"), Some(owner)),
            (Some("unread/a.blob"), Some("io_error"), Some(denied)),
        ]
    );
    assert_eq!((&summary["converted"], &summary["io_error"]), (&json!(1), &json!(4)));
    for path in [&read_only, &of_root, &sticky, &unread] {
        assert_eq!(fs::read(path).expect("it is there"), v4_of(b"payload"), "{path:?}");
        assert_eq!(names_in(path.parent().expect("a directory")), ["a.blob"]);
    }
    assert_eq!(fs::read(&own).expect("it is there"), frame_of(b"payload"));
    assert_eq!(names_in(own.parent().expect("a directory")), ["a.blob"]);
    // The superuser may, and the owners stay.
    assert_eq!(run(&["migrate", "frames", "read_only", "of_root", "--write"], directory.path()).status, Some(0));
    for (path, owner) in [(read_only, 65534), (of_root, 0)] {
        assert_eq!(fs::read(&path).expect("it is there"), frame_of(b"payload"));
        assert_eq!(fs::metadata(&path).expect("it is there").uid(), owner);
    }
}

#[test]
fn a_disk_without_room_for_many_names() {
    // Its root, `store`, what is below that, and some.
    let Some(disk) = SmallDisk::mount_with("size=16M,nr_inodes=400") else { return };
    let store = write_v4_store(disk.path(), small_payloads(100));
    let mut fillers = 0;
    while fs::write(disk.path().join(format!("filler{fillers}")), b"").is_ok() {
        fillers += 1;
    }
    let run =
        || json_lines(&run(&["migrate", "frames", "store", "--write", "--json", "-j", "4"], disk.path()).stdout).1;
    let summary = run();
    assert_eq!((&summary["io_error"], &summary["converted"]), (&json!(100), &json!(0)));
    // Two at a time.
    for number in fillers - 2..fillers {
        fs::remove_file(disk.path().join(format!("filler{number}"))).expect("it is there");
    }
    let summary = run();
    assert_eq!((&summary["io_error"], &summary["converted"]), (&json!(0), &json!(100)));
    assert_eq!(count_converted(disk.path(), &store), 100);
    assert_eq!(files_below(&disk.path().join("store")).len(), 100);
}

#[test]
fn a_full_disk_costs_nothing_but_an_error() {
    let Some(disk) = SmallDisk::mount(2 << 20) else { return };
    let payloads = (0..4_u8).map(|number| vec![number; 200_000]);
    let store = write_v4_store(disk.path(), payloads);
    disk.fill_up_to(100_000);
    let result = run(&["migrate", "frames", "store", "--write", "--json"], disk.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["io_error"], &summary["converted"]), (Some(2), &json!(4), &json!(0)));
    for line in lines {
        assert_eq!(line["detail"], "No space left on device (os error 28)");
    }
    assert_eq!(count_converted(disk.path(), &store), 0);
    assert_eq!(files_below(&disk.path().join("store")).len(), 4);
    // Room for one at a time is enough for one thread, run again if need be.
    fs::remove_file(disk.path().join("filler")).expect("it is there");
    disk.fill_up_to(300_000);
    for _ in 0..4 {
        run(&["migrate", "frames", "store", "--write", "-j", "1"], disk.path());
    }
    assert_eq!(count_converted(disk.path(), &store), 4);
    assert_eq!(files_below(&disk.path().join("store")).len(), 4);
}

#[test]
fn killed_at_any_moment_and_run_again_it_ends_in_the_same_bytes() {
    let rounds = std::env::var("MIGRATE_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6);
    println!("{rounds} rounds; MIGRATE_KILLS sets another number");
    for round in 0..rounds {
        let directory = directory();
        let payload = |number: u32| vec![number as u8; if number.is_multiple_of(3) { 700_000 } else { 5_000 }];
        let store = write_v4_store(directory.path(), (0..40).map(payload));
        let mut kills = 0;
        loop {
            let mut running = Running::start(&["migrate", "frames", "store", "--write", "--json"], directory.path());
            let until = Instant::now() + Duration::from_millis(3 + (round * 7 + kills * 11) % 60);
            while Instant::now() < until && !running.has_ended() {
                sleep(Duration::from_millis(1));
            }
            if running.has_ended() {
                assert_eq!(running.wait().status, Some(0));
                break;
            }
            running.signal(Signal::KILL);
            running.wait();
            kills += 1;
            count_converted(directory.path(), &store);
            if kills > 8 {
                assert_eq!(run(&["migrate", "frames", "store", "--write"], directory.path()).status, Some(0));
                break;
            }
        }
        assert_eq!(count_converted(directory.path(), &store), 40);
        assert!(files_below(directory.path()).iter().all(|name| name.ends_with(".blob")));
        assert_eq!(run(&["verify", "store", "--check-hash", "--check-key", "-q"], directory.path()).status, Some(0));
    }
}

/// Between the last look at a file and the rename there is a moment, made longer here.
#[cfg(target_os = "linux")]
#[test]
fn what_comes_in_the_last_moment_is_not_lost() {
    for in_place in [false, true] {
        let directory = directory();
        let path = directory.path().join("a.blob");
        fs::write(&path, v4_of(b"payload")).expect("it can be written");
        age(&path, Duration::from_secs(3600));
        let mut command = std::process::Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e"]);
        command.args(["inject=renameat2:delay_enter=1000000:when=2", support::PROGRAM]);
        command.args(["migrate", "frames", "a.blob", "--write", "--json", "-j", "1"]).current_dir(directory.path());
        command.stdout(std::process::Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            eprintln!("skipped: there is no strace here");
            return;
        };
        // It is about to be renamed when it has the old one's time.
        let old = fs::metadata(&path).expect("it is there").modified().expect("a time");
        let has_old_time = |name: &String| {
            let metadata = fs::metadata(directory.path().join(name));
            name.ends_with(".migrate.tmp") && metadata.is_ok_and(|metadata| metadata.modified().expect("a time") == old)
        };
        while !names_in(directory.path()).iter().any(has_old_time) {
            sleep(Duration::from_millis(5));
            if child.try_wait().expect("it is ours").is_some() {
                eprintln!("skipped: strace cannot trace here");
                return;
            }
        }
        sleep(Duration::from_millis(300));
        if in_place {
            fs::write(&path, b"somebody's").expect("it can be written");
        } else {
            fs::write(directory.path().join("new"), b"somebody's").expect("it can be written");
            fs::rename(directory.path().join("new"), &path).expect("it is ours");
        }
        let result: support::Run = child.wait_with_output().expect("it ends").into();
        let (lines, _) = json_lines(&result.stdout);
        let outdated = "was written to, replaced or removed meanwhile: left as it is now; run again";
        assert_eq!((result.status, &lines[0]["detail"]), (Some(2), &json!(outdated)), "{in_place}");
        assert_eq!(fs::read(&path).expect("it is there"), b"somebody's");
        assert_eq!(names_in(directory.path()), ["a.blob"]);
    }
}

/// Runs the program on one old frame, with a fault in its system calls; nothing where nobody can be traced.
#[cfg(target_os = "linux")]
fn run_with_fault(fault: &str, directory: &Path) -> Option<(Value, Option<i32>)> {
    let mut command = std::process::Command::new("strace");
    let call = fault.split(':').next().expect("a call");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &format!("inject={fault}")]);
    command.args([support::PROGRAM, "migrate", "frames", "store", "--write", "--json", "-j", "1"]);
    let Ok(output) = command.current_dir(directory).output() else {
        eprintln!("skipped: there is no strace here");
        return None;
    };
    let result: support::Run = output.into();
    // None where it was killed.
    let line = result.stdout.lines().next().map_or(Value::Null, |line| serde_json::from_str(line).expect("JSON"));
    (!result.stderr.contains("ptrace")).then_some((line, result.status))
}

/// Whatever fails: the file is old or new, what is said of it is true, and nothing is left beside it.
#[cfg(target_os = "linux")]
#[test]
fn system_calls_that_fail() {
    let calls = ["fstat", "flock", "fsync", "fchmod", "utimensat", "renameat2", "newfstatat", "unlinkat", "flistxattr"];
    let mut converted = 0;
    for (call, when) in calls.iter().flat_map(|call| (1..=3).map(move |when| (call, when))) {
        let directory = directory();
        let store = directory.path().join("store");
        fs::create_dir(&store).expect("room");
        fs::write(store.join("a.blob"), v4_of(b"payload")).expect("it can be written");
        let fault = format!("{call}:error=EIO:when={when}");
        let Some((line, status)) = run_with_fault(&fault, directory.path()) else { return };
        let detail = line["detail"].as_str().unwrap_or_default();
        let is_new = fs::read(store.join("a.blob")).expect("it is there") == frame_of(b"payload");
        if !is_new {
            assert_eq!(fs::read(store.join("a.blob")).expect("it is there"), v4_of(b"payload"), "{fault}");
        }
        let is_told = line["status"] == "converted" || detail.starts_with("converted, but");
        assert_eq!(is_new, is_told, "{fault}: {line}");
        assert_eq!(status, Some(if line["status"] == "converted" { 0 } else { 2 }), "{fault}: {line}");
        assert!(*call == "unlinkat" || names_in(&store) == ["a.blob"], "{fault}: {:?}", names_in(&store));
        match (fault.as_str(), is_new) {
            ("fsync:error=EIO:when=2", _) => assert_eq!(
                detail,
                "converted, but its name is not known to be on disk: Input/output error (os error 5)"
            ),
            ("unlinkat:error=EIO:when=1", _) => {
                let left = names_in(&store).into_iter().find(|name| name != "a.blob").expect("the old file");
                let told =
                    format!("converted, but the old file is left as {left} beside it: Input/output error (os error 5)");
                assert_eq!((detail, fs::read(store.join(left)).expect("it is there")), (&*told, v4_of(b"payload")));
            }
            _ => converted += u32::from(is_new),
        }
        // The next run does what is left to do, and clears away what was left.
        assert_eq!(run(&["migrate", "frames", "store", "--write"], directory.path()).status, Some(0));
        assert_eq!(fs::read(store.join("a.blob")).expect("it is there"), frame_of(b"payload"));
        assert_eq!(names_in(&store), ["a.blob"], "{fault}");
    }
    assert!(converted > 0);
}

/// A run is killed at each of its renames: what has a temporary name then is known for what it is.
#[cfg(target_os = "linux")]
#[test]
fn killed_between_two_renames() {
    for (fault, is_new) in [
        ("renameat2:signal=KILL:when=1", false),
        ("renameat2:signal=KILL:when=2", false),
        ("unlinkat:signal=KILL:when=1", true),
    ] {
        let directory = directory();
        let store = directory.path().join("store");
        fs::create_dir(&store).expect("room");
        fs::write(store.join("a.blob"), v4_of(b"payload")).expect("it can be written");
        let Some((line, _)) = run_with_fault(fault, directory.path()) else { return };
        assert_eq!((line, names_in(&store).len()), (json!(null), 2), "{fault}");
        let expected = if is_new { frame_of(b"payload") } else { v4_of(b"payload") };
        assert_eq!(fs::read(store.join("a.blob")).expect("it is there"), expected, "{fault}");
        let again = run(&["migrate", "frames", "store", "--write", "--json"], directory.path());
        assert_eq!((again.status, &json_lines(&again.stdout).1["leftovers_removed"]), (Some(0), &json!(1)), "{fault}");
        assert_eq!(names_in(&store), ["a.blob"]);
        assert_eq!(fs::read(store.join("a.blob")).expect("it is there"), frame_of(b"payload"));
    }
}

/// Somebody's file that came in the last moment and whose name a killed run took is kept and told of.
#[cfg(target_os = "linux")]
#[test]
fn killed_while_it_holds_somebodys_file() {
    let directory = directory();
    let store = directory.path().join("store");
    fs::create_dir(&store).expect("room");
    let path = store.join("a.blob");
    fs::write(&path, v4_of(b"payload")).expect("it can be written");
    let old = fs::metadata(&path).expect("it is there").ino();
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e"]);
    command.args(["inject=renameat2:delay_enter=1500000:delay_exit=2000000:when=2", support::PROGRAM]);
    command.args(["migrate", "frames", "store", "--write", "-j", "1"]).current_dir(directory.path());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: there is no strace here");
        return;
    };
    // By then it has the name under which it trades places.
    let is_trading = |name: &String| name.matches('-').count() == 4;
    while !names_in(&store).iter().any(is_trading) {
        sleep(Duration::from_millis(5));
        if child.try_wait().expect("it is ours").is_some() {
            eprintln!("skipped: strace cannot trace here");
            return;
        }
    }
    fs::write(directory.path().join("new"), b"somebody's").expect("it can be written");
    fs::rename(directory.path().join("new"), &path).expect("it is ours");
    let somebodys = fs::metadata(&path).expect("it is there").ino();
    while fs::metadata(&path).expect("it is there").ino() == somebodys {
        sleep(Duration::from_millis(5));
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("it is there");
    let traced = children.trim().parse().ok().and_then(rustix::process::Pid::from_raw).expect("one child");
    rustix::process::kill_process(traced, Signal::KILL).expect("it is ours");
    child.wait().expect("it ends");

    assert_eq!(fs::read(&path).expect("it is there"), frame_of(b"payload"));
    let now = fs::metadata(&path).expect("it is there").ino();
    assert!(now != old && now != somebodys);
    let left = names_in(&store).into_iter().find(|name| name != "a.blob").expect("somebody's file");
    for _ in 0..2 {
        let result = run(&["migrate", "frames", "store", "--write", "--json"], directory.path());
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!(
            (result.status, &summary["io_error"], &summary["leftovers_removed"]),
            (Some(2), &json!(1), &json!(null))
        );
        let line = lines.iter().find(|line| line["status"] == "io_error").expect("it is told of");
        assert_eq!(line["path"], format!("store/{left}"));
        let detail = format!(
            "was written in the last moment, and a run that was killed took its name: the file beside it with inode {now} \
             (ls -i) is older; move this one there, or remove it"
        );
        assert_eq!(line["detail"], detail);
        assert_eq!(fs::read(store.join(&left)).expect("it is there"), b"somebody's");
    }
    fs::rename(store.join(left), &path).expect("it is ours");
}

#[test]
fn a_signal_ends_it_between_files() {
    let directory = directory();
    let store = write_v4_store(directory.path(), small_payloads(200));
    let arguments = ["migrate", "frames", "store", "--write", "--json", "--limit-rate", "20K", "-j", "1"];
    let running = Running::start(&arguments, directory.path());
    while running.stdout().lines().count() < 20 {
        sleep(Duration::from_millis(10));
    }
    let asked = Instant::now();
    running.signal(Signal::INT);
    let result = running.wait();
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["interrupted"]), (Some(2), &json!(true)));
    assert!(lines.len() < 200);
    assert_eq!(json!(count_converted(directory.path(), &store)), summary["converted"]);
    assert!(files_below(directory.path()).iter().all(|name| name.ends_with(".blob")));
    // The next run goes on.
    let (_, rest) = json_lines(&run(&["migrate", "frames", "store", "--write", "--json"], directory.path()).stdout);
    assert_eq!(rest["current"], summary["converted"]);
    assert_eq!(count_converted(directory.path(), &store), 200);
}

#[test]
fn few_open_files_cost_nothing_but_errors() {
    for limit in ["16", "32", "64"] {
        let directory = directory();
        let store = write_v4_store(directory.path(), small_payloads(100));
        let mut command = support::program_within(limit);
        command.args(["migrate", "frames", "store", "--write", "-j", "2", "--json"]).current_dir(directory.path());
        let result: support::Run = command.output().expect("it starts").into();
        let (_, summary) = json_lines(&result.stdout);
        let converted = count_converted(directory.path(), &store);
        assert_eq!(summary["converted"], converted, "{limit}");
        assert_eq!(result.status, Some(if converted == 100 { 0 } else { 2 }), "{limit}");
        assert!(converted == 100 || limit != "64");
        assert_eq!(files_below(directory.path()).len(), 100);
    }
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
