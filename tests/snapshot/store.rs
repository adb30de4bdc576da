//! A state directory in quiet times, on a full disk, and where it may not be written.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use membrane_codec::snapshot::{
    EpochGuard, Operation, Restored, Snapshot, SnapshotStore, StoreError, StoreErrorClass, StoreProblem,
};

use crate::small_disk::SmallDisk;
use crate::support::{names_in, node, snapshot, state_dir};

fn io_problem(error: &StoreError) -> (Operation, io::ErrorKind) {
    assert_eq!((error.class(), error.reason()), (StoreErrorClass::Io, "io"));
    match error.problem() {
        StoreProblem::Io(operation, error) | StoreProblem::Stale { operation, error, .. } => (*operation, error.kind()),
        other => panic!("{other}"),
    }
}

#[test]
fn everything_may_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<(SnapshotStore, Snapshot, Restored, StoreError, membrane_codec::snapshot::SnapshotError)>();
    crosses::<(membrane_codec::snapshot::Latest, membrane_codec::snapshot::Replicas<'_>)>();
}

#[test]
fn a_checkpoint_and_back() {
    let (directory, store) = state_dir();
    let node = node("node-1");
    assert_eq!(store.load(&node).expect("nothing there"), None);
    assert_eq!(store.restore(&node, EpochGuard::new(u64::MAX)).expect("nothing there"), Restored::Absent);
    assert!(!store.remove(&node).expect("nothing there"));
    for epoch in [1, 2] {
        store.checkpoint(&node, &snapshot(epoch, 1000)).expect("it goes");
        assert_eq!(store.load(&node).expect("a snapshot"), Some(snapshot(epoch, 1000)));
        assert_eq!(names_in(directory.path()), ["node-1.json"]);
    }
    let path = store.path_of(&node);
    assert_eq!(path, directory.path().join("node-1.json"));
    assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
    assert_eq!(fs::read(&path).expect("it is there"), snapshot(2, 1000).to_json());
    assert!(store.remove(&node).expect("it goes"));
    assert_eq!(names_in(directory.path()), [""; 0]);
}

#[test]
fn stale_snapshots_are_deleted_and_others_are_not() {
    let (directory, store) = state_dir();
    let node = node("n");
    for (persisted, live, accepted) in [
        (0, 0, true),
        (0, 1, true),
        (0, 2, false),
        (17, 18, true),
        (17, 19, false),
        (19, 17, true),
        (u64::MAX, u64::MAX, true),
        (u64::MAX, 0, true),
        (u64::MAX - 1, u64::MAX, true),
        (u64::MAX - 2, u64::MAX, false),
    ] {
        store.checkpoint(&node, &snapshot(persisted, 2)).expect("it goes");
        let restored = store.restore(&node, EpochGuard::new(live)).expect("a snapshot");
        if accepted {
            assert_eq!(restored, Restored::Accepted(Box::new(snapshot(persisted, 2))));
            assert_eq!(names_in(directory.path()), ["n.json"]);
        } else {
            assert_eq!(restored, Restored::Stale { cluster_epoch: persisted });
            assert_eq!(names_in(directory.path()), [""; 0]);
            assert_eq!(store.restore(&node, EpochGuard::new(live)).expect("nothing there"), Restored::Absent);
        }
    }
}

#[test]
fn the_latest_is_the_one_that_was_captured_last() {
    let (_directory, store) = state_dir();
    assert!(store.latest().expect("a directory").newest.is_none());
    let captured = |epoch, seconds| {
        let mut snapshot = snapshot(epoch, 0);
        snapshot.captured_at = membrane_codec::snapshot::CapturedAt::from_unix_seconds(seconds).expect("a time");
        snapshot
    };
    for (name, epoch, seconds, newest) in [
        ("c", 9, 10.0, "c"),
        ("b", 1, 10.5, "b"),
        // The same time and a higher epoch; the same epoch too.
        ("d", 2, 10.5, "d"),
        ("e", 2, 10.5, "d"),
        ("a", 2, 10.5, "a"),
        ("f", 99, 2.0, "a"),
    ] {
        store.checkpoint(&node(name), &captured(epoch, seconds)).expect("it goes");
        let latest = store.latest().expect("a directory");
        let (found, snapshot) = latest.newest.expect("there are some");
        assert_eq!((found.as_str(), latest.unread.len()), (newest, 0), "{name}");
        assert_eq!(store.load(&found).expect("it is there"), Some(snapshot));
    }
    fs::write(store.path_of(&node("bad")), "{").expect("room");
    let latest = store.latest().expect("a directory");
    assert_eq!(latest.newest.expect("there are some").0.as_str(), "a");
    let unread: Vec<_> = latest.unread.iter().map(|error| (error.path().to_owned(), error.reason())).collect();
    assert_eq!(unread, [(store.path_of(&node("bad")), "snapshot_json")]);
    let nodes: Vec<_> = store.list().expect("a directory").iter().map(ToString::to_string).collect();
    assert_eq!(nodes, ["a", "b", "bad", "c", "d", "e", "f"]);
}

#[test]
fn what_is_no_snapshot_stays_and_is_named() {
    let (_directory, store) = state_dir();
    let node = node("node 1\u{202e}");
    let path = store.path_of(&node);
    fs::write(&path, "{\"schema_version\": 4}").expect("room");
    for error in [
        store.load(&node).expect_err("another version"),
        store.restore(&node, EpochGuard::new(u64::MAX)).expect_err("another version"),
    ] {
        assert_eq!((error.class(), error.reason()), (StoreErrorClass::Schema, "snapshot_version"));
        assert_eq!((error.offset(), error.field()), (Some(19), Some("schema_version")));
        let text = error.to_string();
        // What would turn the line around is not printed.
        assert!(
            text.ends_with(
                "node 1\\u{202e}.json\": snapshot_version at byte 19: schema_version: found 4, expected the integer 5"
            ),
            "{text}"
        );
    }
    assert_eq!(fs::read_to_string(&path).expect("it stays"), "{\"schema_version\": 4}");
    // A checkpoint replaces it: the node is alive, and knows better.
    store.checkpoint(&node, &snapshot(1, 1)).expect("it goes");
    assert_eq!(store.load(&node).expect("a snapshot"), Some(snapshot(1, 1)));
}

#[test]
fn a_longest_name_and_odd_ones() {
    let (directory, store) = state_dir();
    let names = ["n".repeat(250), "\u{30ce}".repeat(83), "-".into(), " ".into(), "a.b".into()];
    for name in &names {
        store.checkpoint(&node(name), &snapshot(7, 2)).expect("it goes");
        assert_eq!(store.load(&node(name)).expect("a snapshot"), Some(snapshot(7, 2)));
    }
    assert_eq!(names_in(directory.path()).len(), names.len());
}

#[test]
fn directories_that_cannot_be_opened() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| parent.path().join(name);
    fs::write(at("file"), "").expect("room");
    for (error, kind) in [
        (SnapshotStore::open(at("nowhere")).expect_err("not there"), io::ErrorKind::NotFound),
        (SnapshotStore::open(at("file")).expect_err("a file"), io::ErrorKind::NotADirectory),
        (SnapshotStore::open_or_create(at("file")).expect_err("a file"), io::ErrorKind::AlreadyExists),
        (SnapshotStore::open_or_create(at("no/where")).expect_err("no parent"), io::ErrorKind::NotFound),
    ] {
        assert_eq!(io_problem(&error), (Operation::OpenDirectory, kind));
    }
    SnapshotStore::open_or_create(at("state")).expect("it can be made");
    SnapshotStore::open_or_create(at("state")).expect("it is there");
    assert_eq!(SnapshotStore::open(at("state")).expect("it is there").directory(), at("state"));
}

#[test]
fn a_full_disk_leaves_the_old_snapshot_and_nothing_else() {
    let Some(disk) = SmallDisk::mount(4 << 20) else { return };
    let store = SnapshotStore::open(disk.path()).expect("it is there");
    let node = node("node-1");
    store.checkpoint(&node, &snapshot(1, 1000)).expect("there is room");
    for room in [0, 4096, 300 << 10, 1 << 20] {
        disk.fill_up_to(room);
        let error = store.checkpoint(&node, &snapshot(2, 10_000)).expect_err("there is no room");
        assert_eq!(io_problem(&error), (Operation::Write, io::ErrorKind::StorageFull));
        assert!(
            error.to_string().contains("node-1.json: cannot be written, and is as it was: No space left"),
            "{error}"
        );
        assert_eq!(names_in(disk.path()), ["filler", "node-1.json"]);
        assert_eq!(store.load(&node).expect("the old one"), Some(snapshot(1, 1000)));
        fs::remove_file(disk.path().join("filler")).expect("it is ours");
    }
    // Without room for anything, a stale snapshot can still be deleted.
    disk.fill_up_to(0);
    assert_eq!(store.restore(&node, EpochGuard::new(9)).expect("it goes"), Restored::Stale { cluster_epoch: 1 });
    fs::remove_file(disk.path().join("filler")).expect("it is ours");
    store.checkpoint(&node, &snapshot(2, 10_000)).expect("there is room");
    assert_eq!(store.load(&node).expect("the new one"), Some(snapshot(2, 10_000)));
}

/// What an ordinary user is told, and that nothing changes.
#[test]
fn a_directory_that_may_not_be_written() {
    let (directory, store) = state_dir();
    store.checkpoint(&node("n"), &snapshot(1, 1)).expect("it goes");
    fs::set_permissions(store.path_of(&node("n")), fs::Permissions::from_mode(0o644)).expect("it is ours");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).expect("it is ours");
    let refused = || {
        let store = SnapshotStore::open(directory.path()).expect("it can be read");
        let errors = [
            store.checkpoint(&node("n"), &snapshot(2, 1)).expect_err("not allowed"),
            store.restore(&node("n"), EpochGuard::new(9)).expect_err("not allowed"),
            store.remove(&node("n")).expect_err("not allowed"),
        ];
        assert!(errors.iter().all(|error| io_problem(error) == (Operation::TakeTurn, io::ErrorKind::PermissionDenied)));
        let stale = store.restore(&node("n"), EpochGuard::new(1000)).expect_err("it may not be deleted");
        let problem = "is stale, of epoch 1, and cannot be changed, since its temporary file cannot be created or locked: \
                       Permission denied (os error 13)";
        assert_eq!(stale.problem().to_string(), problem);
        let Restored::Accepted(snapshot) = store.restore(&node("n"), EpochGuard::new(1)).expect("it may be read")
        else {
            panic!("it is fresh")
        };
        assert_eq!(snapshot.cluster_epoch, 1);
    };
    as_ordinary_user(refused);
    assert_eq!(
        Snapshot::from_json(fs::read(store.path_of(&node("n"))).expect("it is there")).expect("sound"),
        snapshot(1, 1)
    );
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::set_permissions(store.path_of(&node("n")), fs::Permissions::from_mode(0o000)).expect("it is ours");
    as_ordinary_user(|| {
        let store = SnapshotStore::open(directory.path()).expect("it can be read");
        let error = store.load(&node("n")).expect_err("not allowed");
        assert_eq!(io_problem(&error), (Operation::Read, io::ErrorKind::PermissionDenied));
    });
}

/// Whether a temporary file is a leftover cannot be told by who may not open it: it stays, and who is told what to do.
#[test]
fn a_temporary_file_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only the superuser becomes somebody else");
        return;
    }
    let (directory, store) = state_dir();
    std::os::unix::fs::chown(directory.path(), Some(65534), None).expect("root may");
    let temporary = directory.path().join(".n.tmp");
    fs::write(&temporary, "a leftover").expect("room");
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o600)).expect("it is ours");
    as_ordinary_user(|| {
        let error = store.checkpoint(&node("n"), &snapshot(1, 1)).expect_err("it may be in use");
        assert_eq!(io_problem(&error), (Operation::TakeTurn, io::ErrorKind::PermissionDenied));
        assert_eq!(
            error.problem().to_string(),
            "cannot be changed, since its temporary file cannot be created or locked: .n.tmp belongs to another user and may \
             not be opened: if none of their processes is writing a checkpoint, remove it (Permission denied (os error 13))"
        );
        fs::remove_file(&temporary).expect("as it was told");
        store.checkpoint(&node("n"), &snapshot(1, 1)).expect("it goes");
    });
    assert_eq!(names_in(directory.path()), ["n.json"]);
}

/// The superuser may do anything: this thread becomes somebody else for a while.
fn as_ordinary_user(work: impl FnOnce() + Send) {
    use rustix::process::{Uid, geteuid};
    use rustix::thread::set_thread_res_uid;

    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = Uid::from_raw(65534);
                set_thread_res_uid(nobody, nobody, nobody).expect("root may");
            }
            work();
        });
        worker.join().expect("it holds");
    });
}
