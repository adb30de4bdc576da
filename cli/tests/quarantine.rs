//! `verify --quarantine`: what is damaged is moved whole, with its note, and nothing else is touched.

#![cfg(unix)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{
    Running, SmallDisk, damage, directory, fixtures, frame_of, json_lines, names_in, run, run_as_ordinary_user,
    set_mode, small_payloads, write_store,
};

const VERIFY: [&str; 5] = ["verify", "store", "--json", "--quarantine", "aside"];

/// A damaged frame of its own bytes.
fn damaged_frame(payload: &str) -> Vec<u8> {
    let mut frame = frame_of(payload.as_bytes());
    let at = frame.len() - 9;
    frame[at] ^= 1;
    frame
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("it is ours");
    fs::write(path, bytes).expect("it can be written");
}

fn note(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a note")).expect("JSON")
}

#[test]
fn the_note_on_a_path_that_is_not_utf8_holds_the_bytes_of_the_whole_path() {
    let directory = directory();
    write(&directory.path().join(OsStr::from_bytes(b"store/\xff.blob")), &damaged_frame("payload"));
    assert_eq!(run(&VERIFY, directory.path()).status, Some(1));
    let note = note(&directory.path().join(OsStr::from_bytes(b"aside/\xff.blob.damaged.json")));
    let path = directory.path().join(OsStr::from_bytes(b"store/\xff.blob"));
    assert_eq!(note["path"], path.to_string_lossy().as_ref());
    assert_eq!(note["path_bytes"], base16ct::lower::encode_string(path.as_os_str().as_bytes()));
}

#[test]
fn a_quarantine_that_is_a_file_is_told_as_that() {
    let directory = directory();
    write(&directory.path().join("store/bad.blob"), &damaged_frame("payload"));
    write(&directory.path().join("file"), b"");
    for aside in ["file", "file/aside"] {
        let result = run(&["verify", "store", "--quarantine", aside], directory.path());
        let message = format!("membrane-codec: {aside}: is not a directory\n");
        assert_eq!((result.status, result.stdout.as_str(), result.stderr), (Some(2), "", message));
    }
    assert_eq!(names_in(&directory.path().join("store")), ["bad.blob"]);
}

#[test]
fn damaged_frames_move_with_a_note() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    write(&at("store/sound.blob"), &frame_of(b"sound"));
    write(&at("store/ab/bad.blob"), &damaged_frame("payload"));
    write(&at("store/cut.frame"), &frame_of(b"payload")[..100]);
    let result = run(&["verify", "store", "--quarantine", "aside"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(1), ""));
    assert!(result.stdout.contains("\n    moved to aside/bad.blob.damaged\n"), "{}", result.stdout);
    assert!(result.stdout.ends_with("\nquarantined: 2, not moved: 0\n"), "{}", result.stdout);
    let names = ["bad.blob.damaged", "bad.blob.damaged.json", "cut.frame.damaged", "cut.frame.damaged.json"];
    assert_eq!(names_in(&at("aside")), names);
    assert_eq!(names_in(&at("store")), ["ab", "sound.blob"]);
    assert_eq!(names_in(&at("store/ab")), Vec::<String>::new());
    assert_eq!(fs::read(at("aside/bad.blob.damaged")).expect("it is there"), damaged_frame("payload"));
    assert_eq!(fs::read(at("aside/cut.frame.damaged")).expect("it is there"), frame_of(b"payload")[..100]);

    let mut note = note(&at("aside/bad.blob.damaged.json"));
    let when = note["quarantined"].take();
    assert!(humantime::parse_rfc3339(when.as_str().expect("a time")).is_ok());
    assert!(note["detail"].take().as_str().expect("words").starts_with("trailer_mismatch at byte "));
    assert_eq!(
        note,
        json!({"path": at("store/ab/bad.blob"), "status": "corrupt_payload", "reason": "trailer_mismatch", "detail": null,
               "len": damaged_frame("payload").len(), "quarantined": null, "by": "membrane-codec 0.1.0"})
    );
    // What is in quarantine is no frame any more, wherever that lies.
    fs::rename(at("aside"), at("store/aside")).expect("it is ours");
    let (_, summary) = json_lines(&run(&["verify", "store", "--json"], directory.path()).stdout);
    assert_eq!((&summary["frames"], &summary["ok"]), (&json!(1), &json!(1)));
    assert_eq!(summary["passed_over"]["other_files"], 4);
}

#[test]
fn names_that_are_taken_are_never_overwritten() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    for (number, folder) in ["one", "two", "three", "four"].into_iter().enumerate() {
        write(&at("store").join(folder).join("same.blob"), &damaged_frame(&format!("payload {number}")));
    }
    // Something has the name of a frame, something the name of a note, and a link leads to what there is not.
    write(&at("aside/same.blob.damaged"), b"precious");
    write(&at("aside/same.blob.2.damaged.json"), b"precious too");
    symlink("nowhere", at("aside/same.blob.3.damaged")).expect("it is ours");
    let result = run(&VERIFY, directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["quarantined"]), (Some(1), &json!(4)));
    for line in &lines {
        let moved = line["quarantined"].as_str().expect("it was moved");
        let number = line["path"]
            .as_str()
            .map(|path| ["one", "two", "three", "four"].iter().position(|name| path.contains(name)));
        let payload = format!("payload {}", number.flatten().expect("one of them"));
        assert_eq!(fs::read(at(moved)).expect("it is there"), damaged_frame(&payload), "{moved}");
        assert_eq!(note(&at(&format!("{moved}.json")))["path"], json!(at(line["path"].as_str().expect("a path"))));
    }
    let moved: BTreeSet<_> =
        lines.iter().map(|line| line["quarantined"].as_str().expect("a path").to_owned()).collect();
    assert_eq!(moved, [4, 5, 6, 7].map(|number| format!("aside/same.blob.{number}.damaged")).into());
    assert_eq!(fs::read(at("aside/same.blob.damaged")).expect("it is there"), b"precious");
    assert_eq!(fs::read(at("aside/same.blob.2.damaged.json")).expect("it is there"), b"precious too");
    assert_eq!(names_in(&at("aside")).len(), 3 + 2 * 4, "no note on nothing is left: {:?}", names_in(&at("aside")));
}

#[test]
fn a_quarantine_on_another_file_system_is_refused_and_the_frame_stays() {
    let directory = directory();
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let shm = Path::new("/dev/shm");
    if device(shm).is_none() || device(shm) == device(directory.path()) {
        eprintln!("skipped: no second file system here");
        return;
    }
    let elsewhere = tempfile::tempdir_in(shm).expect("anybody may");
    let path = directory.path().join("store/bad.blob");
    write(&path, &damaged_frame("payload"));
    let arguments = ["verify", "store", "--json", "--quarantine", elsewhere.path().to_str().expect("text")];
    let result = run(&arguments, directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["quarantined"]), (Some(2), &json!(0)));
    assert_eq!(lines[0]["not_quarantined"], "the quarantine is on another file system; name a directory on this one");
    assert_eq!(fs::read(&path).expect("it stays"), damaged_frame("payload"));
    assert_eq!(names_in(elsewhere.path()), Vec::<String>::new());
}

#[test]
fn on_a_full_disk_the_frame_stays() {
    let Some(disk) = SmallDisk::mount(1 << 20) else { return };
    let path = disk.path().join("store/bad.blob");
    write(&path, &damaged_frame("payload"));
    fs::create_dir(disk.path().join("aside")).expect("it is ours");
    disk.fill_up_to(0);
    let result = run(&VERIFY, disk.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["quarantined"]), (Some(2), &json!(0)), "{}", result.stdout);
    assert_eq!(lines[0]["not_quarantined"], "No space left on device (os error 28)");
    assert_eq!(fs::read(&path).expect("it stays"), damaged_frame("payload"));
    assert_eq!(names_in(&disk.path().join("aside")), Vec::<String>::new());
}

#[test]
fn what_may_not_be_moved_stays() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    write(&at("store/bad.blob"), &damaged_frame("payload"));
    write(&at("closed/file"), b"");
    fs::create_dir(at("aside")).expect("it is ours");
    set_mode(&at("aside"), 0o777);
    set_mode(&at("store"), 0o555);
    let result = run_as_ordinary_user(&VERIFY, directory.path(), &at("closed"));
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["quarantined"]), (Some(2), &json!(0)));
    assert_eq!(lines[0]["not_quarantined"], "Permission denied (os error 13)");
    assert_eq!(fs::read(at("store/bad.blob")).expect("it stays"), damaged_frame("payload"));
    assert_eq!(names_in(&at("aside")), Vec::<String>::new());

    // Where the quarantine cannot be made, that is known at once.
    let arguments = ["verify", "store", "--quarantine", "store/new"];
    let result = run_as_ordinary_user(&arguments, directory.path(), &at("closed"));
    set_mode(&at("store"), 0o755);
    assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""));
    assert_eq!(result.stderr, "membrane-codec: store/new: Permission denied (os error 13)\n");
}

#[test]
fn other_versions_unread_files_and_links_stay() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    for name in ["old_version", "schema_version", "bad_magic", "reserved_not_zero"] {
        let frame = fs::read(fixtures().join("damaged").join(name).with_extension("frame")).expect("it is there");
        write(&at(&format!("store/{name}.blob")), &frame);
    }
    write(&at("outside.blob"), &damaged_frame("payload"));
    symlink(at("outside.blob"), at("store/link.blob")).expect("it is ours");
    let result = run(&[&VERIFY[..], &["--follow", "store/none.blob"]].concat(), directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["quarantined"]), (Some(2), &json!(2)));
    let became: Vec<_> = lines
        .iter()
        .map(|line| (line["path"].as_str().expect("a path"), line.get("quarantined"), line.get("not_quarantined")))
        .collect();
    let target = at("outside.blob").display().to_string();
    let link = json!(format!("is a symbolic link; verify what it leads to by its own name: {target}"));
    assert_eq!(
        became,
        [
            ("store/bad_magic.blob", Some(&json!("aside/bad_magic.blob.damaged")), None),
            ("store/link.blob", None, Some(&link)),
            ("store/none.blob", None, None),
            ("store/old_version.blob", None, None),
            ("store/reserved_not_zero.blob", Some(&json!("aside/reserved_not_zero.blob.damaged")), None),
            ("store/schema_version.blob", None, None),
        ]
    );
    assert_eq!(names_in(&at("store")), ["link.blob", "old_version.blob", "schema_version.blob"]);
    assert!(at("outside.blob").exists());
}

#[test]
fn a_frame_that_only_this_run_would_not_read_stays() {
    let directory = directory();
    let path = directory.path().join("store/long.blob");
    let mut identity = support::identity_of(b"");
    identity.model_id = "m".repeat(5000);
    write(&path, &membrane_codec::canonicalize(&identity, b"").expect("a frame"));
    let result = run(&[&VERIFY[..], &["--max-identity-len", "4000"]].concat(), directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((&lines[0]["reason"], &summary["quarantined"]), (&json!("identity_length"), &json!(0)));
    assert!(path.exists(), "without the limit it is sound");
}

#[test]
fn what_was_replaced_meanwhile_stays() {
    let directory = directory();
    let path = directory.path().join("store/large.blob");
    let sound = frame_of(&vec![3; 2 << 20]);
    for in_place in [false, true] {
        write(&path, &sound);
        damage(&path);
        // Half of it is read when a sound one takes its place.
        let running = Running::start(&[&VERIFY[..], &["--limit-rate", "3M"]].concat(), directory.path());
        std::thread::sleep(Duration::from_millis(350));
        if in_place {
            fs::write(&path, &sound).expect("it can be written");
        } else {
            fs::write(path.with_extension("new"), &sound).expect("it can be written");
            fs::rename(path.with_extension("new"), &path).expect("it is ours");
        }
        let result = running.wait();
        assert_eq!(fs::read(&path).expect("it stays"), sound);
        assert_eq!(names_in(&directory.path().join("aside")), Vec::<String>::new());
        let (lines, _) = json_lines(&result.stdout);
        if lines[0]["status"] != "ok" {
            let problem = lines[0]["not_quarantined"].as_str().expect("it was not moved");
            let expected = ["it was written to while it was read", "is not the file any more that was judged"];
            assert_eq!((result.status, problem), (Some(2), expected[usize::from(!in_place)]));
        }
    }
}

#[test]
fn killed_between_two_moves_it_leaves_every_frame_whole() {
    // In memory, where there is such a place: each move is put on disk, and this is about many.
    let directory = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| directory());
    let at = |name: &str| directory.path().join(name);
    let paths = write_store(directory.path(), small_payloads(400));
    let frames: BTreeMap<String, Vec<u8>> = paths
        .iter()
        .map(|path| {
            damage(&at(path));
            let name = Path::new(path).file_name().and_then(|name| name.to_str()).expect("text").to_owned();
            (name, fs::read(at(path)).expect("it is there"))
        })
        .collect();
    let mut moved_before = 0;
    for round in 0..12_u64 {
        let mut running = Running::start(&[&VERIFY[..], &["-j", "2"]].concat(), directory.path());
        std::thread::sleep(Duration::from_millis(5 + 11 * round % 60));
        if !running.has_ended() {
            running.signal(Signal::KILL);
        }
        let told: Vec<Value> = support::whole_lines(&running.wait().stdout);
        // A note may lie alone: the frame is still in place.
        let aside = if at("aside").exists() { names_in(&at("aside")) } else { Vec::new() };
        let moved: Vec<_> = aside.iter().filter(|name| name.ends_with(".damaged")).collect();
        assert!(moved.len() >= moved_before);
        moved_before = moved.len();
        let mut seen = BTreeSet::new();
        for name in moved {
            let original = &name[..68 + ".blob".len() - 4];
            assert!(frames.contains_key(original), "{name}");
            assert!(fs::read(at("aside").join(name)).expect("it is there") == frames[original], "{name}");
            let note = note(&at("aside").join(format!("{name}.json")));
            assert_eq!((&note["reason"], &note["len"]), (&json!("trailer_mismatch"), &json!(frames[original].len())));
            assert!(seen.insert(original.to_owned()), "{name} is there twice");
        }
        for path in paths.iter().filter(|path| at(path).exists()) {
            let name = Path::new(path).file_name().and_then(|name| name.to_str()).expect("text").to_owned();
            assert!(fs::read(at(path)).expect("it is there") == frames[&name], "{name}");
            assert!(seen.insert(name), "{path} is in place and in quarantine");
        }
        assert_eq!(seen.len(), frames.len(), "round {round}");
        for line in told.iter().filter_map(|line| line["quarantined"].as_str()) {
            assert!(at(line).exists(), "it was told that {line} is there");
        }
    }
    assert!(0 < moved_before, "nothing was moved in any round");
    assert_ne!(run(&VERIFY, directory.path()).status, Some(2));
    assert_eq!(names_in(&at("aside")).iter().filter(|name| name.ends_with(".damaged")).count(), frames.len());
}

#[test]
fn a_damaged_file_that_is_named_twice_is_moved_and_told_once() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    write(&at("store/one.blob"), &damaged_frame("payload"));
    symlink("one.blob", at("store/link")).expect("it is ours");
    // One thread reads them together; a limit on open files has it read one after the other.
    for threads in ["1", "2"] {
        let paths = ["store/one.blob", "store/../store/one.blob", "store/link", "store"];
        let arguments = [&["verify", "--json", "--quarantine", "aside", "-j", threads][..], &paths].concat();
        let result = run(&arguments, directory.path());
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!(summary["quarantined"], 1, "{}", result.stdout);
        // The link may have been judged first: then it is told to be one.
        let of_links = lines.iter().filter(|line| line["path"] == "store/link").count();
        assert_eq!(lines.len() - of_links, 1, "{}", result.stdout);
        assert_eq!(result.status, Some(if of_links == 0 { 1 } else { 2 }), "{}", result.stdout);
        let again = "named again; this run has moved it to quarantine\n";
        let said: Vec<_> = result.stderr.split_inclusive('\n').collect();
        assert!(said.iter().all(|line| line.ends_with(again)), "{}", result.stderr);
        assert!(said.len() >= 2 - of_links, "{}", result.stderr);
        assert_eq!(names_in(&at("store")), ["link"]);
        fs::rename(at("aside/one.blob.damaged"), at("store/one.blob")).expect("it is there");
        fs::remove_file(at("aside/one.blob.damaged.json")).expect("it is there");
    }
    // Far from one another, so that the second is not there any more when it is to be opened.
    write(&at("sound.blob"), &frame_of(b"payload"));
    let paths = [&["store/one.blob"][..], &["sound.blob"; 40], &["store/one.blob"]].concat();
    let arguments = [&["verify", "--json", "--quarantine", "aside", "-j", "1"][..], &paths].concat();
    let result = run(&arguments, directory.path());
    let (_, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["frames"], &summary["quarantined"]), (Some(1), &json!(41), &json!(1)));
    assert_eq!(result.stderr, "membrane-codec: store/one.blob: named again; this run has moved it to quarantine\n");
    // In another run it is a path that is not there.
    let result = run(&[&VERIFY[..], &["store/one.blob"]].concat(), directory.path());
    assert_eq!((result.status, &json_lines(&result.stdout).1["io_error"]), (Some(2), &json!(1)));
}

#[test]
fn names_that_are_too_long_with_what_is_added_are_shortened() {
    let directory = directory();
    let long = format!("{}.blob", "x".repeat(250));
    for round in 1..=2 {
        write(&directory.path().join("store").join(&long), &damaged_frame("payload"));
        let result = run(&VERIFY, directory.path());
        let (lines, _) = json_lines(&result.stdout);
        let hash = membrane_codec::sha256(long.as_bytes()).to_string();
        let number = if round == 1 { String::new() } else { format!(".{round}") };
        let name = format!("{}~{}{number}.damaged", "x".repeat(64), &hash[..16]);
        assert_eq!((result.status, &lines[0]["quarantined"]), (Some(1), &json!(format!("aside/{name}"))));
        let note = note(&directory.path().join("aside").join(format!("{name}.json")));
        assert!(note["path"].as_str().expect("a path").ends_with(&format!("/store/{long}")), "{note}");
    }
    assert_eq!(names_in(&directory.path().join("store")), Vec::<String>::new());
}
