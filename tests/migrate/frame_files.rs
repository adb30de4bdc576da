//! Files and trees.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use membrane_codec::migrate::{FrameMigrator, FrameVersion, migrate_frame};

use crate::samples::frame_of;
use crate::support::{
    Fate, Log, OLD_STARTS, as_version, directory, frame_vectors, migrate, names_in, noise, read, v4_of, write, writers,
};

#[test]
fn vectors() {
    for writer in writers() {
        let directory = directory();
        let cases = frame_vectors();
        for (name, before, _) in &cases {
            write(directory.path(), &format!("{name}.blob"), before);
        }
        let expect =
            |path: &Path| cases.iter().find(|(name, ..)| path.ends_with(format!("{name}.blob"))).expect("a case");

        // A dry run says what the other does, and does nothing.
        let (_, would) = migrate(&FrameMigrator::new(), directory.path());
        assert_eq!(would.len(), cases.len());
        for (path, fate) in &would {
            let (name, before, _) = expect(path);
            let expected = match migrate_frame(before) {
                Err(error) => Fate::Refused(error),
                Ok(frame) if frame.version() == FrameVersion::V5 => Fate::Current,
                Ok(frame) => Fate::Convertible(frame.version()),
            };
            assert_eq!((fate, &read(path)), (&expected, before), "{name}");
        }

        let (summary, did) = migrate(&writer, directory.path());
        assert_eq!((summary.leftovers_removed, summary.passed_over), (0, Default::default()));
        for ((path, fate), (_, would)) in did.iter().zip(would) {
            let (name, before, after) = expect(path);
            let expected = if let Fate::Convertible(version) = would { Fate::Converted(version) } else { would };
            assert_eq!(fate, &expected, "{name}");
            assert_eq!(&read(path), after.as_ref().unwrap_or(before), "{name}");
        }
        assert_eq!(names_in(directory.path()).len(), cases.len());

        // Once more is nothing more.
        let (_, again) = migrate(&writer, directory.path());
        for (path, fate) in again {
            let (name, before, after) = expect(&path);
            assert_eq!(fate == Fate::Current, after.is_some(), "{name}");
            assert_eq!(&read(&path), after.as_ref().unwrap_or(before), "{name}");
        }
    }
}

/// Lengths around those of buffers and of pieces that are copied.
#[test]
fn any_length() {
    const BUFFER: usize = 256 * 1024;
    for writer in writers() {
        let directory = directory();
        let lengths = [0, 1, 63, 64, 4096, BUFFER - 400, BUFFER, BUFFER + 1, 3 * BUFFER + 77, (4 << 20) - 300];
        let file = |(number, len): (usize, usize)| {
            let frame = frame_of(&noise(len, number as u64));
            let (version, _) = OLD_STARTS[number % 4];
            let path = write(directory.path(), &format!("{number}/{len}.frame"), &as_version(version, frame.clone()));
            (path, frame, version)
        };
        let frames: Vec<_> = lengths.into_iter().enumerate().map(file).collect();
        let (_, told) = migrate(&writer, directory.path());
        assert_eq!(told.len(), frames.len());
        for (path, frame, version) in frames {
            assert!(told.contains(&(path.clone(), Fate::Converted(version))), "{path:?}: {told:?}");
            assert!(read(&path) == frame, "{path:?}");
        }
    }
}

/// Device, inode, and the times of the last writing and the last change of any kind.
fn state(path: &Path) -> (u64, u64, i64, i64, i64, i64) {
    let now = fs::metadata(path).expect("it is there");
    (now.dev(), now.ino(), now.mtime(), now.mtime_nsec(), now.ctime(), now.ctime_nsec())
}

#[test]
fn what_is_v5_is_not_touched_sound_or_not() {
    let directory = directory();
    let mut damaged = frame_of(b"damaged");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let sound = write(directory.path(), "sound.blob", &frame_of(b"sound"));
    let damaged = write(directory.path(), "damaged.blob", &damaged);
    let before = (state(&sound), state(&damaged));
    for writer in writers() {
        let (_, told) = migrate(&writer, directory.path());
        assert_eq!(told, [(damaged.clone(), Fate::Current), (sound.clone(), Fate::Current)]);
        assert_eq!((state(&sound), state(&damaged)), before);
    }
}

#[test]
fn names_that_are_taken_and_names_that_are_not() {
    let directory = directory();
    let frame = v4_of(b"payload");
    for name in ["a.blob", "b.frame", "c.bin", ".d.tmp", "e"] {
        write(directory.path(), name, &frame);
    }
    let (summary, told) = migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!((summary.passed_over.other_files, summary.passed_over.temporary_files), (2, 1));
    assert_eq!(told.len(), 2);
    let (summary, told) = migrate(&FrameMigrator::new().write(true).every_file(true), directory.path());
    assert_eq!((summary.passed_over.other_files, summary.passed_over.temporary_files), (0, 1));
    assert_eq!(told.len(), 4);
    assert_eq!(read(&directory.path().join("c.bin")), frame_of(b"payload"));
    assert_eq!(read(&directory.path().join(".d.tmp")), frame);
}

#[test]
fn links() {
    let directory = directory();
    let frame = v4_of(b"payload");
    let outside = write(directory.path(), "outside/real.frame", &frame);
    let tree = directory.path().join("tree");
    let one = write(&tree, "one.blob", &frame);
    fs::hard_link(&one, tree.join("two.blob")).expect("room");
    fs::hard_link(&one, directory.path().join("backup.blob")).expect("room");
    std::os::unix::fs::symlink(&outside, tree.join("link.blob")).expect("room");

    let log = Log::new();
    let summary = FrameMigrator::new().write(true).run([tree.clone()], &log);
    assert_eq!(summary.passed_over.symlinks, 1);
    let mut names = log.links();
    names.sort_unstable();
    // The second was opened before or after the first was parted.
    assert!(names == [2, 3] || names == [3, 3], "{names:?}");
    let converted = Fate::Converted(FrameVersion::V4);
    assert_eq!(log.told(), [(one.clone(), converted.clone()), (tree.join("two.blob"), converted.clone())]);
    // Each name that was found is v5 now; the one that was not, and the file behind the link, are what they were.
    for (path, current) in [(one, true), (tree.join("two.blob"), true), (directory.path().join("backup.blob"), false)] {
        assert_eq!(read(&path) == frame_of(b"payload"), current, "{path:?}");
        assert_eq!(fs::metadata(&path).expect("it is there").nlink(), 1);
    }
    assert_eq!(read(&outside), frame);

    // A link that is asked for stays one, and the file behind it is replaced where it lies.
    let (_, told) = migrate(&FrameMigrator::new().write(true), &tree.join("link.blob"));
    assert_eq!(told, [(tree.join("link.blob"), converted)]);
    assert_eq!(read(&outside), frame_of(b"payload"));
    assert!(fs::symlink_metadata(tree.join("link.blob")).expect("it is there").is_symlink());
    assert_eq!(names_in(&tree), ["link.blob", "one.blob", "two.blob"]);
    assert_eq!(names_in(outside.parent().expect("a directory")), ["real.frame"]);
}

/// Paths that lead to the same files: in an order where the file comes first, and one where its directory does.
#[test]
fn a_file_that_several_paths_lead_to_is_looked_at_once() {
    let directory = directory();
    let (tree, inner) = (directory.path().join("tree"), directory.path().join("tree/inner"));
    let file = write(&inner, "a.blob", &v4_of(b"payload"));
    let outside = write(&tree, "b.bin", &v4_of(b"other payload"));
    fs::hard_link(&file, tree.join("c.blob")).expect("room");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&tree, &link).expect("room");
    let paths = [
        file.clone(),
        link.join("inner/../inner/a.blob"),
        outside.clone(),
        tree.clone(),
        inner.clone(),
        link.clone(),
        link.join("b.bin"),
        file.clone(),
    ];
    let backward = || paths.iter().rev().cloned();
    let lens = fs::metadata(&file).expect("it is there").len() * 2 + fs::metadata(&outside).expect("it is there").len();
    for migrator in [FrameMigrator::new().threads(1), FrameMigrator::new().threads(3)] {
        for order in [paths.to_vec(), backward().collect()] {
            let log = Log::new();
            migrator.run(order.clone(), &log);
            let fates: Vec<_> = log.told().into_iter().map(|(_, fate)| fate).collect();
            // The hard link is another place.
            assert_eq!(fates, vec![Fate::Convertible(FrameVersion::V4); 3]);
            let survey = migrator.survey(order, || false);
            assert_eq!((survey.files, survey.bytes), (3, lens));
        }
    }
    // Its directory was listed long before it is named.
    let late = [vec![inner.clone()], vec![outside.clone(); 40], vec![file.clone()]].concat();
    let log = Log::new();
    FrameMigrator::new().threads(1).run(late, &log);
    assert_eq!(log.told().len(), 2);
    let log = Log::new();
    FrameMigrator::new().write(true).threads(3).run(backward(), &log);
    let fates: Vec<_> = log.told().into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(fates, vec![Fate::Converted(FrameVersion::V4); 3]);
    for path in [file, tree.join("c.blob")] {
        assert_eq!(read(&path), frame_of(b"payload"), "{path:?}");
    }
    assert_eq!(read(&outside), frame_of(b"other payload"));
}

#[test]
fn what_is_no_file_is_told_of() {
    let directory = directory();
    let missing = directory.path().join("missing.blob");
    let pipe = directory.path().join("pipe.blob");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("room");
    let (summary, told) = migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!((summary.passed_over.special_files, told), (1, vec![]));
    for path in [missing, pipe] {
        let (_, told) = migrate(&FrameMigrator::new().write(true), &path);
        assert!(matches!(&told[..], [(told, Fate::Failed(_))] if *told == path), "{told:?}");
    }
    let (_, told) = migrate(&FrameMigrator::new(), std::path::Path::new("/dev/null"));
    let fate = Fate::Failed("is not a regular file: only those can be converted in their places".into());
    assert_eq!(told, [("/dev/null".into(), fate)]);
}

#[test]
fn a_stop_leaves_every_file_old_or_new_and_nothing_else() {
    let directory = directory();
    let names: Vec<_> = (0..60).map(|number| format!("{number:02}.blob")).collect();
    let (current, old) = (frame_of(&noise(10_000, 7)), v4_of(&noise(10_000, 7)));
    names.iter().for_each(|name| _ = write(directory.path(), name, &old));
    let count = || {
        assert_eq!(names_in(directory.path()), names);
        let files: Vec<_> = names.iter().map(|name| read(&directory.path().join(name))).collect();
        assert!(files.iter().all(|file| *file == current || *file == old));
        files.iter().filter(|file| **file == current).count()
    };
    let mut before = 0;
    // Each goes on where the one before was stopped: what is done is told of first, or soon.
    for stop_after in [0, 7, 30] {
        let log = Log::new().stops(|told| told >= stop_after);
        assert!(FrameMigrator::new().write(true).threads(1).run([directory.path().to_owned()], &log).stopped);
        let converted = log.told().iter().filter(|(_, fate)| *fate == Fate::Converted(FrameVersion::V4)).count();
        let now = count();
        assert_eq!(now, before + converted);
        before = now;
    }
    assert!(before > 0);
    migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!(count(), names.len());
}

#[test]
fn what_a_killed_run_left_is_removed_and_what_a_living_one_works_on_is_not() {
    let directory = directory();
    write(directory.path(), "a.blob", &v4_of(b"payload"));
    write(directory.path(), ".1-0.migrate.tmp", b"left");
    let locked = fs::File::create(directory.path().join(".1-1.migrate.tmp")).expect("room");
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).expect("nobody else has it");
    let others = write(directory.path(), ".blob.tmp", b"a store's");

    let (summary, _) = migrate(&FrameMigrator::new(), directory.path());
    assert_eq!((summary.leftovers_removed, summary.passed_over.temporary_files), (0, 3));
    assert_eq!(names_in(directory.path()).len(), 4);

    let (summary, _) = migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!((summary.leftovers_removed, summary.passed_over.temporary_files), (1, 2));
    assert_eq!(names_in(directory.path()), [".1-1.migrate.tmp", ".blob.tmp", "a.blob"]);
    assert_eq!(read(&others), b"a store's");
}

/// Directories below directories, deeper than any path may be long.
#[test]
fn what_a_killed_run_left_beside_files_that_are_named() {
    let directory = directory();
    let paths = ["a.blob", "b.blob"].map(|name| write(directory.path(), name, &v4_of(b"payload")));
    for name in [".1-0.migrate.tmp", ".2-0.migrate.tmp", ".other.migrate.tmp", ".2-0.tmp", "sub/.1-0.migrate.tmp"] {
        write(directory.path(), name, b"half");
    }
    // Somebody works on this one.
    let living = fs::File::open(directory.path().join(".2-0.migrate.tmp")).expect("it is there");
    rustix::fs::flock(&living, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    // It came in the last moment before a run was killed: neither the inode nor the rest is what the name says.
    let somebodys = write(directory.path(), ".1-2-3-4-5.migrate.tmp", b"newer");
    let names = names_in(directory.path());

    let log = Log::new();
    let summary = FrameMigrator::new().run(paths.clone(), &log);
    assert_eq!((summary.passed_over.temporary_files, summary.leftovers_removed), (4, 0));
    assert_eq!((log.told().len(), names_in(directory.path())), (2, names));

    let log = Log::new();
    let summary = FrameMigrator::new().write(true).run(paths.clone(), &log);
    assert_eq!((summary.passed_over.temporary_files, summary.leftovers_removed), (0, 1));
    let told = log.told();
    assert_eq!(told.len(), 3);
    assert!(matches!(&told[0], (path, Fate::Failed(_)) if path.file_name() == somebodys.file_name()), "{told:?}");
    assert_eq!(read(&somebodys), b"newer");
    assert_eq!(
        names_in(directory.path()),
        [".1-2-3-4-5.migrate.tmp", ".2-0.migrate.tmp", ".2-0.tmp", ".other.migrate.tmp", "a.blob", "b.blob", "sub"]
    );
    assert_eq!(names_in(&directory.path().join("sub")), [".1-0.migrate.tmp"]);
}

#[test]
fn deeper_than_a_path_is_long() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};

    let directory = directory();
    let mut at = fs::File::open(directory.path()).expect("it is ours");
    let name = "d".repeat(200);
    for _ in 0..25 {
        mkdirat(&at, &name, Mode::RWXU).expect("room");
        at = openat(&at, &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is ours").into();
    }
    let open = |flags| openat(&at, "deep.blob", flags, Mode::RUSR | Mode::WUSR).map(fs::File::from);
    let mut file = open(OFlags::WRONLY | OFlags::CREATE).expect("room");
    std::io::Write::write_all(&mut file, &v4_of(b"payload")).expect("room");
    let (_, told) = migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!(told.into_iter().map(|(_, fate)| fate).collect::<Vec<_>>(), [Fate::Converted(FrameVersion::V4)]);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut open(OFlags::RDONLY).expect("it is there"), &mut bytes).expect("it is ours");
    assert_eq!(bytes, frame_of(b"payload"));
}
