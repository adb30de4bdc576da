//! What is found below directories, and what is made of things that are no frames.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use membrane_codec::scrub::{PassedOver, ScrubSummary, Scrubber, Survey};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};
use tempfile::TempDir;

use crate::samples;
use crate::support::{
    GIVEN_PATH, Log, Told, Verdict, child, directory, given_path, is_sound, names, scrub, scrub_all, scrub_one, write,
};

fn frame() -> Vec<u8> {
    samples::frame_of(b"payload")
}

fn one_and_two_threads() -> [Scrubber; 2] {
    [1, 2].map(|threads| Scrubber::new().threads(threads))
}

fn passed_over(other_files: u64, temporary_files: u64, symlinks: u64, special_files: u64) -> PassedOver {
    let mut passed_over = PassedOver::default();
    passed_over.other_files = other_files;
    passed_over.temporary_files = temporary_files;
    passed_over.symlinks = symlinks;
    passed_over.special_files = special_files;
    passed_over
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("room");
}

/// A survey of the same paths counts what a scrub gives verdicts on.
fn assert_survey(scrubber: &Scrubber, path: &Path, told: &[Told]) {
    let bytes = told.iter().filter_map(|told| told.stamp).map(|stamp| stamp.len).sum();
    let survey = scrubber.survey([path.to_owned()], &Log::new());
    let mut expected = Survey::default();
    (expected.files, expected.bytes) = (told.len() as u64, bytes);
    assert_eq!(survey, expected);
}

#[test]
fn names_say_what_is_a_frame() {
    let directory = directory();
    for name in [
        "a.blob",
        "b.frame",
        "c/d/e.blob",
        "c/.hidden.frame",
        "c/.directory.tmp/f.blob",
        "g.blob/h.blob",
        "visible.tmp",
        "i.BLOB",
        "j.blob.bak",
        "blob",
        ".blob",
        ".k.blob.tmp",
        ".tmp",
        "c/.l.tmp",
    ] {
        write(directory.path(), name, &frame());
    }
    let frames = [".hidden.frame", "a.blob", "b.frame", "e.blob", "f.blob", "h.blob"];
    let others = [".blob", "blob", "i.BLOB", "j.blob.bak", "visible.tmp"];
    for scrubber in one_and_two_threads() {
        for (scrubber, expected, other_files) in [
            (scrubber.clone(), frames.to_vec(), others.len() as u64),
            (scrubber.every_file(true), [&frames[..], &others].concat(), 0),
        ] {
            let (summary, told) = scrub(&scrubber, directory.path());
            let mut names = names(&told);
            names.sort();
            let mut expected = expected;
            expected.sort_unstable();
            assert_eq!(names, expected);
            assert!(told.iter().all(is_sound));
            assert_eq!(summary.passed_over, passed_over(other_files, 3, 0, 0));
            assert_survey(&scrubber, directory.path(), &told);
        }
    }
    // Whatever the name of a path that was asked for.
    for name in ["c/.l.tmp", "i.BLOB"] {
        assert!(is_sound(&scrub_one(&Scrubber::new(), directory.path().join(name))));
    }
}

/// Links of every kind: two to files, four to directories, two that lead nowhere.
fn links() -> TempDir {
    let directory = directory();
    let root = directory.path();
    write(root, "real/a.blob", &frame());
    write(root, "outside.dat", &frame());
    symlink("real/a.blob", root.join("link.blob")).expect("room");
    symlink("outside.dat", root.join("other.frame")).expect("room");
    symlink("real", root.join("again")).expect("room");
    symlink(".", root.join("real/self")).expect("room");
    symlink("..", root.join("real/parent")).expect("room");
    symlink(root, root.join("real/root")).expect("room");
    symlink("nothing", root.join("dangling.blob")).expect("room");
    symlink("circle.blob", root.join("circle.blob")).expect("room");
    directory
}

#[test]
fn links_are_not_followed() {
    let directory = links();
    for scrubber in one_and_two_threads() {
        let (summary, told) = scrub(&scrubber, directory.path());
        assert_eq!(names(&told), ["a.blob"]);
        assert_eq!(summary.passed_over, passed_over(1, 0, 8, 0));
        assert_survey(&scrubber, directory.path(), &told);
    }
}

#[test]
fn links_are_followed_once_to_each_directory() {
    let directory = links();
    for scrubber in one_and_two_threads() {
        let scrubber = scrubber.follow_links(true);
        let (summary, told) = scrub(&scrubber, directory.path());
        // The directory is there by two names: whichever comes first.
        let mut names = names(&told);
        names.sort();
        assert_eq!(names, ["a.blob", "link.blob", "other.frame"]);
        assert!(told.iter().all(is_sound));
        assert_eq!(summary.passed_over, passed_over(1, 0, 6, 0));
        assert_survey(&scrubber, directory.path(), &told);
    }
}

#[test]
fn each_of_many_directories_is_visited_when_links_are_followed() {
    let directory = directory();
    for number in 0..100 {
        write(directory.path(), &format!("{number:02}/a.blob"), &frame());
        symlink(format!("{number:02}"), directory.path().join(format!("link {number:02}"))).expect("room");
    }
    for scrubber in one_and_two_threads() {
        let (summary, told) = scrub(&scrubber.follow_links(true), directory.path());
        assert_eq!((told.len(), summary.passed_over), (100, passed_over(0, 0, 100, 0)));
        assert!(told.iter().all(is_sound));
    }
}

#[test]
fn paths_that_are_asked_for_may_be_links() {
    let directory = links();
    let at = |name: &str| directory.path().join(name);
    assert!(is_sound(&scrub_one(&Scrubber::new(), at("link.blob"))));
    let (_, told) = scrub(&Scrubber::new(), at("again"));
    assert_eq!(told.iter().map(|told| told.path.clone()).collect::<Vec<_>>(), [at("again/a.blob")]);
    let dangling = scrub_one(&Scrubber::new(), at("dangling.blob")).verdict;
    assert!(matches!(dangling, Verdict::Unreadable(ErrorKind::NotFound, _)), "{dangling:?}");
    let circle = scrub_one(&Scrubber::new(), at("circle.blob")).verdict;
    assert!(matches!(circle, Verdict::Unreadable(..)), "{circle:?}");
}

#[test]
fn special_files_hang_nobody() {
    let directory = directory();
    let root = directory.path();
    fifo(&root.join("pipe.blob"));
    let _socket = UnixListener::bind(root.join("socket.blob")).expect("room");
    symlink("/dev/zero", root.join("zero.blob")).expect("room");
    symlink("pipe.blob", root.join("link.blob")).expect("room");
    write(root, "a.blob", &frame());
    for scrubber in one_and_two_threads() {
        let scrubber = scrubber.every_file(true);
        let (summary, told) = scrub(&scrubber, root);
        assert_eq!((names(&told), summary.passed_over), (vec!["a.blob".into()], passed_over(0, 0, 2, 2)));
        let followed = scrubber.clone().follow_links(true);
        let (summary, told) = scrub(&followed, root);
        assert_eq!((names(&told), summary.passed_over), (vec!["a.blob".into()], passed_over(0, 0, 0, 4)));
        assert_survey(&followed, root, &told);

        let paths = ["pipe.blob", "link.blob", "zero.blob", "socket.blob"].map(|name| root.join(name));
        let (_, told) = scrub_all(&scrubber, paths.iter().cloned());
        assert_eq!(told.len(), 4);
        for told in told {
            match told.verdict {
                Verdict::Unreadable(kind, _) if told.path.ends_with("socket.blob") => {
                    assert_ne!(kind, ErrorKind::NotFound)
                }
                Verdict::Unreadable(_, text) => assert!(text.starts_with("is not a regular file"), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        // Nothing of this would be read.
        assert_eq!(scrubber.survey(paths, &Log::new()), Survey::default());
    }
}

#[test]
fn a_directory_of_twenty_thousand() {
    let directory = directory();
    let frame = samples::frame_of(b"");
    for number in 0..20_000 {
        fs::write(directory.path().join(format!("{number:05}.blob")), &frame[..number % 7]).expect("room");
    }
    for threads in [1, 5] {
        let scrubber = Scrubber::new().threads(threads);
        let (_, told) = scrub(&scrubber, directory.path());
        let expected: Vec<_> = (0..20_000).map(|number| format!("{number:05}.blob")).collect();
        assert_eq!(names(&told), expected);
        for (number, told) in told.iter().enumerate() {
            match told.verdict {
                Verdict::Damaged(error) => assert_eq!(error.offset(), number as u64 % 7),
                ref other => panic!("{other:?}"),
            }
        }
        assert_survey(&scrubber, directory.path(), &told);
    }
}

/// Removes a tree whose paths are too long for others.
fn remove_tree(root: &Path) {
    let status = Command::new("rm").arg("-rf").arg(root).status().expect("it starts");
    assert!(status.success());
}

/// A tree of this depth; every hundredth level holds a frame.
fn deep_tree(root: &Path, depth: usize) {
    let mode = Mode::RWXU;
    let mut at = openat(CWD, root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is there");
    for level in 1..=depth {
        mkdirat(&at, "level", mode).expect("room");
        at = openat(&at, "level", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is there");
        if level % 100 == 0 {
            let file = openat(&at, "a.blob", OFlags::WRONLY | OFlags::CREATE, Mode::RUSR).expect("room");
            assert_eq!(rustix::io::write(file, &frame()).expect("room"), frame().len());
        }
    }
}

#[test]
fn a_tree_of_two_thousand_levels() {
    let directory = directory();
    deep_tree(directory.path(), 2000);
    for scrubber in one_and_two_threads() {
        let (_, told) = scrub(&scrubber, directory.path());
        assert_eq!(told.len(), 20);
        assert!(told.iter().all(is_sound));
        // Longer than any path that the system takes.
        let deepest = told.iter().map(|told| told.path.as_os_str().len()).max().expect("there are some");
        assert_eq!(deepest, directory.path().as_os_str().len() + 2000 * "/level".len() + "/a.blob".len());
        assert_survey(&scrubber, directory.path(), &told);
    }
    remove_tree(directory.path());
}

#[test]
#[ignore = "a process that other tests start"]
fn scrub_with_few_files_open() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).expect("it is less");
    for threads in [1, 2, 5] {
        let asked = AtomicUsize::new(0);
        let log = Log::new().selects(|_| {
            asked.fetch_add(1, Ordering::Relaxed);
            true
        });
        Scrubber::new().threads(threads).run([given_path()], &log);
        let told = log.told();
        assert_eq!(told.len(), asked.into_inner(), "once for each file");
        let unsound = told.iter().find(|told| !is_sound(told));
        println!("\ntold {} {unsound:?}", told.len());
    }
}

/// Scrubs in a process that may open few files; what it prints for each number of threads.
fn told_with_few_files_open(root: &Path) -> Vec<String> {
    let output = child("walking::scrub_with_few_files_open").env(GIVEN_PATH, root).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().filter_map(|line| line.strip_prefix("told ")).map(String::from).collect()
}

#[test]
fn many_directories_need_few_open_files() {
    let directory = directory();
    for number in 0..500 {
        let name = |file: &str| format!("{:02}/{number:03}/x/y/{file}.blob", number % 50);
        write(directory.path(), &name("a"), &frame());
        write(directory.path(), &name("b"), &frame());
    }
    assert_eq!(told_with_few_files_open(directory.path()), ["1000 None"; 3]);
}

#[test]
fn deep_trees_need_few_open_files() {
    let directory = directory();
    deep_tree(directory.path(), 1000);
    assert_eq!(told_with_few_files_open(directory.path()), ["10 None"; 3]);
    remove_tree(directory.path());
}

#[test]
#[cfg(target_os = "linux")]
fn names_need_not_be_text() {
    let directory = directory();
    let name = OsStr::from_bytes(b"\xff\xfe\n.blob");
    fs::write(directory.path().join(name), frame()).expect("room");
    fs::create_dir(directory.path().join(OsStr::from_bytes(b"\x80"))).expect("room");
    fs::write(directory.path().join(OsStr::from_bytes(b"\x80/\xc3.frame")), frame()).expect("room");
    let stems = std::sync::Mutex::new(Vec::new());
    let log = Log::new().selects(|file| {
        stems.lock().expect("nobody panicked").push(file.stem().as_bytes().to_vec());
        file.key().is_none()
    });
    Scrubber::new().threads(1).run([directory.path().to_owned()], &log);
    let paths: Vec<_> = log.told().into_iter().filter(is_sound).map(|told| told.path).collect();
    let expected = [OsStr::from_bytes(b"\x80/\xc3.frame"), name].map(|name| directory.path().join(name));
    assert_eq!(paths, expected);
    let mut stems = stems.into_inner().expect("nobody panicked");
    stems.sort();
    assert_eq!(stems, [b"\xc3".to_vec(), b"\xff\xfe\n".to_vec()]);
}

#[test]
fn a_path_that_is_asked_for_twice_is_read_twice() {
    let directory = directory();
    let path = write(directory.path(), "a.blob", &frame());
    for scrubber in one_and_two_threads() {
        let paths = [path.clone(), directory.path().to_owned(), path.clone(), directory.path().to_owned()];
        let (_, told) = scrub_all(&scrubber, paths);
        assert_eq!(told.iter().filter(|told| is_sound(told)).count(), 4);
        assert!(told.iter().all(|told| told.path == path));
    }
}

#[test]
fn no_path_at_all_is_nothing_to_do() {
    let (summary, told) = scrub_all(&Scrubber::new().threads(5), []);
    assert_eq!((summary, told), (ScrubSummary::default(), Vec::new()));
    let empty = directory();
    let (summary, told) = scrub(&Scrubber::new().threads(5), empty.path());
    assert_eq!((summary, told), (ScrubSummary::default(), Vec::new()));
}
