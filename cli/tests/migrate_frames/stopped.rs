//! Runs that are killed, told to stop, or not alone with the files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stores::{count_converted, files_below, v4_of, write_v4_store};
use crate::support::{self, Running, age, directory, frame_of, json_lines, names_in, run, small_payloads};

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
