//! Files that change, vanish or fail while they are read.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use membrane_codec::scrub::Scrubber;
use membrane_codec::{Reason, sha256};

use crate::samples;
use crate::support::{
    BUFFER_LEN, GIVEN_PATH, Log, Told, Verdict, child, directory, given_path, is_sound, noise, scrub, scrub_one,
    slice_says, write,
};

fn open_for_writing(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).expect("it is there")
}

/// Scrubs one file, in one thread; after its first piece, `change` is done to it.
fn scrub_and_change(path: &Path, change: impl Fn() + Sync) -> Told {
    let log = Log::new().after_read(|bytes| {
        if bytes == BUFFER_LEN as u64 {
            change();
        }
    });
    let summary = Scrubber::new().threads(1).run([path.to_owned()], &log);
    assert!(!summary.stopped);
    let [told] = log.told().try_into().expect("one file");
    told
}

fn reason(told: &Told) -> Reason {
    match told.verdict {
        Verdict::Damaged(error) => error.reason(),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_read_gets_a_verdict() {
    let directory = directory();
    let frame = samples::frame_of(&noise(4 * BUFFER_LEN, 1));
    for end in [0, 1, BUFFER_LEN, BUFFER_LEN + 1, 3 * BUFFER_LEN - 1, frame.len() - 1] {
        let path = write(directory.path(), "cut", &frame);
        let told = scrub_and_change(&path, || open_for_writing(&path).set_len(end as u64).expect("it can be cut"));
        let read = end.max(BUFFER_LEN) as u64;
        assert_eq!((reason(&told), told.bytes_read), (Reason::Truncated, read));
        match told.verdict {
            Verdict::Damaged(error) => assert_eq!(error.offset(), read),
            other => panic!("{other:?}"),
        }
        assert!(told.changed);
        assert_eq!(told.stamp.expect("it was opened").len, frame.len() as u64);
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_gets_a_verdict() {
    let directory = directory();
    for payload_len in [4 * BUFFER_LEN, 3 * BUFFER_LEN - samples::frame_of(b"").len()] {
        let frame = samples::frame_of(&noise(payload_len, 2));
        let path = write(directory.path(), "grows", &frame);
        let append = || open_for_writing(&path).write_all_at(b"more", frame.len() as u64).expect("room");
        let told = scrub_and_change(&path, append);
        assert_eq!(reason(&told), Reason::TrailingBytes);
        assert!(told.changed);
    }
}

#[test]
fn a_file_that_is_written_over_while_it_is_read_is_told_to_have_changed() {
    let directory = directory();
    let [old, new] = [3, 4].map(|seed| samples::frame_of(&noise(4 * BUFFER_LEN, seed)));
    let path = write(directory.path(), "rewritten", &old);
    let told = scrub_and_change(&path, || open_for_writing(&path).write_all_at(&new, 0).expect("room"));
    assert_eq!((reason(&told), told.changed), (Reason::TrailerMismatch, true));
    // At rest again.
    let told = scrub_one(&Scrubber::new().threads(1), &path);
    assert_eq!((told.verdict, told.changed), slice_verdict(&new));
}

fn slice_verdict(bytes: &[u8]) -> (Verdict, bool) {
    (slice_says(bytes).0, false)
}

#[test]
fn a_file_that_is_damaged_at_rest_has_not_changed() {
    let directory = directory();
    let mut frame = samples::frame_of(&noise(2 * BUFFER_LEN, 5));
    frame[BUFFER_LEN] ^= 1;
    let told = scrub_one(&Scrubber::new(), write(directory.path(), "damaged", &frame));
    assert_eq!((reason(&told), told.changed), (Reason::TrailerMismatch, false));
}

#[test]
fn a_file_that_is_replaced_or_removed_while_it_is_read_is_read_to_its_end() {
    let directory = directory();
    let payload = noise(4 * BUFFER_LEN, 6);
    let path = write(directory.path(), "renamed", &samples::frame_of(&payload));
    let told = scrub_and_change(&path, || {
        let new = write(directory.path(), "new", b"no frame");
        fs::rename(new, &path).expect("the same directory");
    });
    assert_eq!(told.verdict, Verdict::Sound(sha256(&payload)));
    let path = write(directory.path(), "removed", &samples::frame_of(&payload));
    let told = scrub_and_change(&path, || fs::remove_file(&path).expect("it is there"));
    assert_eq!(told.verdict, Verdict::Sound(sha256(&payload)));
}

/// Rewrites a file in many ways until it is told to end.
fn disturb(path: &Path, frames: &[Vec<u8>; 2], over: &AtomicBool) -> u32 {
    let file = open_for_writing(path);
    let mut round = 0;
    while !over.load(Ordering::Relaxed) {
        let frame = &frames[round as usize % 2];
        match round % 5 {
            0 => file.set_len(u64::from(round * 7919) % frame.len() as u64).expect("it can be cut"),
            1 => file.write_all_at(&frame[..frame.len() / 2], 0).expect("room"),
            2 => file.set_len(frame.len() as u64 + u64::from(round)).expect("room"),
            _ => {
                file.write_all_at(frame, 0).expect("room");
                file.set_len(frame.len() as u64).expect("it can be cut");
            }
        }
        round += 1;
        if round % 8 == 0 {
            // Long enough for a scrub to find it at rest now and then.
            thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    round
}

#[test]
fn files_that_change_all_the_time_are_sound_only_when_they_were() {
    let directory = directory();
    let frames = [8, 9].map(|seed| samples::frame_of(&noise(3 * BUFFER_LEN, seed)));
    let sound = frames.each_ref().map(|frame| slice_says(frame).0);
    let path = write(directory.path(), "disturbed.blob", &frames[0]);
    let still = write(directory.path(), "still.blob", &frames[1]);
    let over = AtomicBool::new(false);
    let (rounds, disturbed) = thread::scope(|scope| {
        let disturber = scope.spawn(|| disturb(&path, &frames, &over));
        let mut disturbed = Vec::new();
        for round in 0..150 {
            let scrubber = Scrubber::new().threads(1 + round % 2).direct(round % 3 == 0);
            let (_, told) = scrub(&scrubber, directory.path());
            let [one, other] = told.try_into().expect("two files");
            assert_eq!((&other.path, &other.verdict), (&still, &sound[1]));
            disturbed.push(one);
        }
        over.store(true, Ordering::Relaxed);
        (disturber.join().expect("it writes"), disturbed)
    });
    assert!(rounds > 150, "{rounds}");
    let (whole, torn): (Vec<_>, Vec<_>) = disturbed.into_iter().partition(is_sound);
    assert!(!torn.is_empty());
    assert!(torn.iter().any(|told| told.changed));
    for told in &whole {
        assert!(sound.contains(&told.verdict), "{told:?}");
    }
    for told in &torn {
        assert!(matches!(told.verdict, Verdict::Damaged(_)), "{told:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_be_read_gets_no_verdict_on_its_bytes() {
    // Nothing lies at its beginning.
    let told = scrub_one(&Scrubber::new().threads(1), "/proc/self/mem");
    match told.verdict {
        Verdict::Unreadable(_, text) => assert!(text.starts_with("Input/output error"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!((told.bytes_read, told.claims), (0, None));
}

/// The call by which a file is read that is cached.
#[cfg(target_os = "linux")]
const READ: &str = if cfg!(portable_scrub) { "pread64" } else { "preadv2" };

/// The lines that [`scrub_and_print`] prints when some of its system calls fail, or `None` without strace.
#[cfg(target_os = "linux")]
fn scrub_with_faults(directory: &Path, inject: &[&str], direct: bool) -> Option<Vec<String>> {
    let strace_works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !strace_works.is_ok_and(|status| status.success()) {
        return None;
    }
    let child = child("faults::scrub_and_print");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    // Not the reads of the loader.
    for file in ["large.blob", "small.blob"] {
        command.arg("-P").arg(directory.join(file));
    }
    for inject in inject {
        command.args(["-e", &format!("inject={inject}")]);
    }
    command.arg(child.get_program()).args(child.get_args());
    command.env(GIVEN_PATH, directory).env("SCRUB_DIRECT", direct.to_string());
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().filter_map(|line| line.strip_prefix("told ")).map(String::from).collect())
}

#[test]
#[ignore = "a process that other tests start"]
fn scrub_and_print() {
    let direct = std::env::var("SCRUB_DIRECT").is_ok_and(|direct| direct == "true");
    let (_, told) = scrub(&Scrubber::new().threads(1).direct(direct), given_path());
    // The line that is there names the test.
    println!();
    for told in told {
        let name = told.path.file_name().expect("a name").to_string_lossy().into_owned();
        let verdict = match told.verdict {
            Verdict::Sound(_) => "sound".into(),
            Verdict::Damaged(error) => error.to_string(),
            Verdict::Unreadable(kind, _) => format!("unreadable {kind:?}"),
            Verdict::Vanished => "vanished".into(),
        };
        println!("told {name} {verdict}");
    }
}

/// One file of three buffers and a bit, all of it zeros where that can be, and a small one.
#[cfg(target_os = "linux")]
fn two_files() -> tempfile::TempDir {
    let directory = directory();
    write(directory.path(), "large.blob", &samples::frame_of(&vec![0; 3 * BUFFER_LEN]));
    write(directory.path(), "small.blob", &samples::frame_of(b"payload"));
    directory
}

#[test]
#[cfg(not(portable_scrub))]
#[cfg(target_os = "linux")]
fn a_disk_that_fails_gives_no_verdict_on_its_file_and_the_scrub_goes_on() {
    let directory = two_files();
    // The calls of which each number fails; the small file needs one.
    for (call, direct) in [(READ, false), ("pread64", true)] {
        for number in 1..=5 {
            let inject = format!("{call}:error=EIO:when={number}");
            let Some(told) = scrub_with_faults(directory.path(), &[&inject], direct) else { return };
            let failed = told.iter().filter(|line| line.contains("unreadable")).count();
            let sound = told.iter().filter(|line| line.contains("sound")).count();
            assert_eq!((told.len(), failed, sound), (2, 1, 1), "{inject}: {told:?}");
        }
    }
    // One call fails for ever.
    let Some(told) = scrub_with_faults(directory.path(), &[&format!("{READ}:error=EIO")], false) else { return };
    assert!(told.iter().all(|line| line.contains("unreadable")), "{told:?}");
}

#[test]
fn errors_keep_their_kind() {
    let directory = directory();
    let told = scrub_one(&Scrubber::new(), directory.path().join("nothing"));
    let expected = "No such file or directory (os error 2)";
    assert_eq!(told.verdict, Verdict::Unreadable(ErrorKind::NotFound, expected.into()));
    let through = write(directory.path(), "file", b"").join("below");
    assert!(matches!(scrub_one(&Scrubber::new(), through).verdict, Verdict::Unreadable(ErrorKind::NotADirectory, _)));
    let nul = scrub_one(&Scrubber::new(), PathBuf::from("nul\0here"));
    assert_eq!(nul.path, PathBuf::from("nul?here"));
    let expected = "a path cannot hold a NUL (shown as ?)";
    assert_eq!(nul.verdict, Verdict::Unreadable(ErrorKind::InvalidInput, expected.into()));
}
#[test]
fn a_file_that_was_empty_when_it_was_opened_is_judged_by_what_is_read() {
    let directory = directory();
    let sound = samples::frame_of(&noise(2 * BUFFER_LEN, 7));
    // The identity ends in the first buffer, and what row 6 asks for after it does not.
    let cuts = (BUFFER_LEN - 8..BUFFER_LEN + 8).map(|end| {
        let identity_len = BUFFER_LEN - 26;
        let mut frame = samples::frame_of(b"");
        frame[10..14].copy_from_slice(&(identity_len as u32).to_le_bytes());
        frame.resize(end, b' ');
        frame
    });
    for bytes in [sound].into_iter().chain(cuts) {
        let path = write(directory.path(), "empty", b"");
        // A path that was asked for is opened before its selection is asked about.
        let log = Log::new().selects(|file| {
            open_for_writing(&file.path()).write_all_at(&bytes, 0).expect("room");
            true
        });
        Scrubber::new().threads(1).run([path], &log);
        let [told] = log.told().try_into().expect("one file");
        assert_eq!(told.verdict, slice_says(&bytes).0, "{} bytes", bytes.len());
    }
}
#[test]
#[cfg(all(target_os = "linux", not(portable_scrub)))]
fn reads_that_are_interrupted_refused_or_empty_change_no_verdict() {
    let directory = two_files();
    let sound = ["large.blob sound", "small.blob sound"];
    let cases = [
        (&["preadv2:error=EINTR:when=1..3"][..], false),
        (&["pread64:error=EINTR:when=1..3"], true),
        // A file system that does not tell what is cached, or a kernel that does not know the call.
        (&["preadv2:error=EOPNOTSUPP:when=1"], false),
        (&["preadv2:error=EOPNOTSUPP"], false),
        (&["preadv2:error=ENOSYS"], false),
        (&["preadv2:error=EINVAL:when=3"], false),
        // Nothing is ever cached.
        (&["preadv2:error=EAGAIN"], false),
        (&["preadv2:error=EAGAIN:when=2"], false),
        // Linux 5.9 and 5.10 may say that nothing is left where something is.
        (&["preadv2:retval=0:when=1"], false),
        (&["preadv2:retval=0:when=3"], false),
        (&["preadv2:retval=0"], false),
        // Direct reads are refused at once, or later.
        (&["pread64:error=EINVAL:when=1"], true),
        (&["pread64:error=EINVAL:when=3"], true),
        (&["fadvise64:error=EBADF"], false),
    ];
    for (inject, direct) in cases {
        let Some(told) = scrub_with_faults(directory.path(), inject, direct) else { return };
        assert_eq!(told, sound, "{inject:?}");
    }
}
#[test]
#[cfg(all(target_os = "linux", not(portable_scrub)))]
fn a_direct_read_that_is_short_does_not_end_the_file() {
    let directory = directory();
    // The buffer holds zeros when the third piece is read, so a read that does nothing gives what is there.
    write(directory.path(), "large.blob", &samples::frame_of(&vec![0; 5 * BUFFER_LEN]));
    for short in [4096, 1000] {
        let inject = format!("pread64:retval={short}:when=3");
        let Some(told) = scrub_with_faults(directory.path(), &[&inject], true) else { return };
        assert_eq!(told, ["large.blob sound"], "{short}");
    }
}
