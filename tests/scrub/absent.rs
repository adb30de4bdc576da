//! Files and directories that go before they are opened, were never there, or may not be read.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use membrane_codec::scrub::Scrubber;

use crate::samples;
use crate::support::{GIVEN_PATH, Log, Told, Verdict, child, directory, given_path, scrub, scrub_one, write};

#[test]
fn a_file_that_goes_between_listing_and_opening_has_vanished() {
    let directory = directory();
    write(directory.path(), "a.blob", &samples::frame_of(b"payload"));
    let gone = write(directory.path(), "gone.blob", &samples::frame_of(b"payload"));
    let link = write(directory.path(), "link.blob", &samples::frame_of(b"payload"));
    for threads in [1, 2] {
        fs::write(&gone, samples::frame_of(b"payload")).expect("room");
        let _ = fs::remove_file(&link);
        fs::write(&link, samples::frame_of(b"payload")).expect("room");
        let log = Log::new().selects(|file| {
            if file.stem() == "gone" {
                fs::remove_file(file.path()).expect("it is there");
            } else if file.stem() == "link" {
                fs::remove_file(file.path()).expect("it is there");
                symlink("a.blob", file.path()).expect("room");
            }
            true
        });
        Scrubber::new().threads(threads).run([directory.path().to_owned()], &log);
        let verdicts: Vec<_> =
            log.told().into_iter().map(|told| (told.path, told.verdict == Verdict::Vanished)).collect();
        assert_eq!(verdicts, [(directory.path().join("a.blob"), false), (gone.clone(), true), (link.clone(), true)]);
    }
}

#[test]
fn a_file_that_was_asked_for_and_is_gone_is_unreadable() {
    let directory = directory();
    let told = scrub_one(&Scrubber::new(), directory.path().join("never.blob"));
    assert!(matches!(told.verdict, Verdict::Unreadable(ErrorKind::NotFound, _)), "{told:?}");
    assert_eq!((told.stamp, told.claims, told.bytes_read, told.changed), (None, None, 0, false));
    let told = scrub_one(&Scrubber::new(), "");
    assert!(matches!(told.verdict, Verdict::Unreadable(ErrorKind::NotFound, _)), "{told:?}");
}

#[test]
fn a_directory_that_goes_while_it_is_listed_is_no_trouble() {
    let directory = directory();
    let below = directory.path().join("below");
    for number in 0..3000 {
        write(&below, &format!("{number:04}.blob"), b"");
    }
    let done = AtomicBool::new(false);
    let log = Log::new().selects(|_| {
        if !done.swap(true, Ordering::Relaxed) {
            fs::remove_dir_all(&below).expect("it is there");
        }
        true
    });
    Scrubber::new().threads(1).run([directory.path().to_owned()], &log);
    let told = log.told();
    assert!(told.len() > 1);
    let other = told.iter().find(|told| told.verdict != Verdict::Vanished);
    assert_eq!(other, None);
}

#[test]
#[ignore = "a process that other tests start"]
fn scrub_and_print_verdicts() {
    let root = given_path();
    println!();
    let print = |told: Vec<Told>| {
        for Told { path, verdict, may_hide_files, .. } in told {
            let path = path.strip_prefix(&root).expect("below").display().to_string();
            match verdict {
                Verdict::Unreadable(kind, _) if may_hide_files => println!("told {path} {kind:?}, may hide files"),
                Verdict::Unreadable(kind, _) => println!("told {path} {kind:?}"),
                Verdict::Sound(_) => println!("told {path} sound"),
                other => println!("told {path} {other:?}"),
            }
        }
    };
    print(scrub(&Scrubber::new().threads(2), &root).1);
    print(scrub(&Scrubber::new(), root.join("closed")).1);
    print(scrub(&Scrubber::new().follow_links(true), root.join("links")).1);
    let survey = Scrubber::new().survey([root.clone(), root.join("closed")], &Log::new());
    println!("told {} files", survey.files);
}

#[test]
fn what_an_ordinary_user_may_not_read_is_unreadable() {
    let directory = directory();
    let root = directory.path();
    write(root, "a.blob", &samples::frame_of(b"payload"));
    let file = write(root, "b.blob", &samples::frame_of(b"payload"));
    write(root, "closed/c.blob", &samples::frame_of(b"payload"));
    fs::create_dir(root.join("links")).expect("room");
    symlink("../closed/c.blob", root.join("links/to-file.blob")).expect("room");
    symlink("../closed", root.join("links/to-directory")).expect("room");
    symlink("../closed/below", root.join("links/unknown")).expect("room");
    symlink("../nothing", root.join("links/nowhere")).expect("room");
    // Names can be read there, files not.
    write(root, "listed/d.blob", &samples::frame_of(b"payload"));
    let mode = |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    mode(root.to_owned(), 0o755);
    mode(file, 0o000);
    mode(root.join("closed"), 0o000);
    mode(root.join("listed"), 0o744);
    // Where an ordinary user can get at it.
    let ours = child("absent::scrub_and_print_verdicts");
    let program = root.join("program");
    fs::copy(ours.get_program(), &program).expect("room");
    let mut command = Command::new(program);
    command.args(ours.get_args()).env(GIVEN_PATH, root).current_dir(root);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    } else {
        mode(root.join("listed"), 0o444);
    }
    let output = loop {
        match command.output() {
            // Another test's child still holds the copy, from before it became what it is.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("it starts"),
        }
    };
    for name in ["closed", "listed"] {
        mode(root.join(name), 0o755);
    }
    let text = String::from_utf8(output.stdout).expect("text");
    let told: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("told ")).collect();
    let expected = [
        "a.blob sound",
        "b.blob PermissionDenied",
        "closed PermissionDenied, may hide files",
        // Other systems than Linux may refuse the list already.
        if cfg!(portable_scrub) { "listed PermissionDenied, may hide files" } else { "listed/d.blob PermissionDenied" },
        "closed PermissionDenied, may hide files",
        "links/to-directory PermissionDenied, may hide files",
        "links/to-file.blob PermissionDenied, may hide files",
        "links/unknown PermissionDenied, may hide files",
        // Two of them can be looked at.
        "2 files",
    ];
    assert_eq!(told, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
