//! State directories that somebody prepared.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use membrane_codec::snapshot::{
    DirectoryWarning, EpochGuard, Snapshot, SnapshotStore, StateFileKind, StoreError, StoreErrorClass,
};
use rustix::fs::{CWD, FileType, Mode};

use crate::support::{names_in, node, snapshot, state_dir};

fn told(error: &StoreError) -> (StoreErrorClass, &'static str) {
    assert_eq!((error.offset(), error.field()), (None, None));
    (error.class(), error.reason())
}

#[test]
fn a_symbolic_link_is_neither_read_nor_written_through() {
    let (directory, store) = state_dir();
    let at = |name: &str| directory.path().join(name);
    let node = node("node-1");
    let json = snapshot(17, 1).to_json();
    fs::write(at("elsewhere"), &json).expect("room");
    for target in ["elsewhere", "nowhere", "/etc/passwd", "."] {
        symlink(target, at("node-1.json")).expect("it is ours");
        let message = format!(
            "{}: is a symbolic link, which is neither followed nor replaced: remove it, or put the file itself there",
            at("node-1.json").display()
        );
        let refused = [
            store.load(&node).expect_err("a link"),
            store.restore(&node, EpochGuard::new(1000)).expect_err("a link"),
            store.checkpoint(&node, &snapshot(18, 1)).expect_err("a link"),
        ];
        for error in refused {
            assert_eq!(told(&error), (StoreErrorClass::Io, "symbolic_link"));
            assert_eq!(error.to_string(), message);
        }
        assert!(!store.remove(&node).expect("nothing to remove"));
        assert_eq!(store.list().expect("a directory"), []);
        assert_eq!(fs::read_link(at("node-1.json")).expect("it is there").to_str(), Some(target));
        assert_eq!(fs::read(at("elsewhere")).expect("it is there"), json);
        assert_eq!(names_in(directory.path()), ["elsewhere", "node-1.json"], "no temporary file is left");
        fs::remove_file(at("node-1.json")).expect("it is ours");
    }
}

#[test]
fn what_is_no_file_is_neither_read_nor_replaced() {
    let (directory, store) = state_dir();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("a.json")).expect("it is ours");
    rustix::fs::mknodat(CWD, at("b.json"), FileType::Fifo, Mode::RWXU, 0).expect("it is ours");
    let _socket = std::os::unix::net::UnixListener::bind(at("c.json")).expect("it is ours");
    for name in ["a", "b", "c"] {
        let refused = [
            store.load(&node(name)).expect_err("no file"),
            store.checkpoint(&node(name), &snapshot(18, 1)).expect_err("no file"),
        ];
        for error in refused {
            assert_eq!(told(&error), (StoreErrorClass::Io, "not_a_file"));
            let path = at(&format!("{name}.json"));
            let message = format!("{}: is not a regular file: move it out of the state directory", path.display());
            assert_eq!(error.to_string(), message);
        }
        assert!(!store.remove(&node(name)).expect("nothing to remove"));
    }
    assert_eq!(names_in(directory.path()), ["a.json", "b.json", "c.json"]);
}

/// Where the temporary file belongs, somebody may have put anything: nothing is written through it.
#[test]
fn planted_temporary_files_are_cleared_away() {
    let (directory, store) = state_dir();
    let at = |name: &str| directory.path().join(name);
    let node = node("node-1");
    fs::write(at("victim"), "precious").expect("room");
    for plant in 0..4 {
        match plant {
            0 => symlink("victim", at(".node-1.tmp")).expect("it is ours"),
            1 => fs::hard_link(at("victim"), at(".node-1.tmp")).expect("it is ours"),
            2 => rustix::fs::mknodat(CWD, at(".node-1.tmp"), FileType::Fifo, Mode::RWXU, 0).expect("it is ours"),
            _ => {
                fs::write(at(".node-1.tmp"), "a leftover").expect("room");
                fs::set_permissions(at(".node-1.tmp"), fs::Permissions::from_mode(0o666)).expect("it is ours");
            }
        }
        store.checkpoint(&node, &snapshot(plant, 3)).expect("it goes");
        assert_eq!(store.load(&node).expect("a snapshot"), Some(snapshot(plant, 3)));
        assert_eq!(fs::read(at("victim")).expect("it is there"), b"precious");
        assert_eq!(names_in(directory.path()), ["node-1.json", "victim"]);
        let written = fs::metadata(at("node-1.json")).expect("it is there");
        assert_eq!((written.mode() & 0o7777, written.nlink()), (0o600, 1));
    }
    fs::create_dir(at(".node-1.tmp")).expect("it is ours");
    let error = store.checkpoint(&node, &snapshot(9, 3)).expect_err("a directory is in the way");
    assert_eq!(
        error.to_string(),
        format!(
            "{}: cannot be changed, since its temporary file cannot be created or locked: the directory .node-1.tmp stands \
             where its temporary file belongs",
            at("node-1.json").display()
        )
    );
    assert_eq!(store.load(&node).expect("a snapshot"), Some(snapshot(3, 3)));
}

#[test]
fn whoever_else_may_write_to_the_directory_is_named() {
    let (directory, store) = state_dir();
    let with_mode = |mode| {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
        store.warnings().expect("it can be looked at")
    };
    assert_eq!(with_mode(0o755), []);
    assert_eq!(with_mode(0o700), []);
    assert_eq!(with_mode(0o775), [DirectoryWarning::WritableByGroup]);
    assert_eq!(with_mode(0o777), [DirectoryWarning::WritableByAll]);
    assert_eq!(with_mode(0o1777), [DirectoryWarning::WritableByAll]);
    with_mode(0o755);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(directory.path(), Some(65534), None).expect("root may");
        assert_eq!(store.warnings().expect("it can be looked at"), [DirectoryWarning::OwnedByAnother(65534)]);
    } else {
        eprintln!("skipped: only the superuser gives directories away");
    }
}

#[test]
fn everything_in_a_directory_is_named_for_what_it_is() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    let (directory, store) = state_dir();
    let at = |name: &str| directory.path().join(name);
    let longest = "n".repeat(250);
    for name in [
        "node-1.json",
        ".node-1.tmp",
        "notes.txt",
        ".json",
        ".tmp",
        "..tmp",
        "a\\b.json",
        ".hidden.json",
        "x.JSON",
        "..json",
    ] {
        fs::write(at(name), "").expect("room");
    }
    fs::write(at(&format!("{longest}.json")), "").expect("room");
    fs::write(at(&format!(".{longest}.tmp")), "").expect("room");
    fs::write(directory.path().join(OsString::from_vec(b"\xff.json".to_vec())), "").expect("room");
    symlink("node-1.json", at("link.json")).expect("it is ours");
    symlink("node-1.json", at("link")).expect("it is ours");
    symlink("node-1.json", at(".link.tmp")).expect("it is ours");
    fs::create_dir(at("directory.json")).expect("it is ours");
    fs::create_dir(at("directory")).expect("it is ours");
    let longest = node(&longest);
    let expected = [
        ("..json", StateFileKind::Foreign),
        ("..tmp", StateFileKind::Foreign),
        (".hidden.json", StateFileKind::Foreign),
        (".json", StateFileKind::Foreign),
        (".link.tmp", StateFileKind::Foreign),
        (&format!(".{longest}.tmp"), StateFileKind::Temporary(longest.clone())),
        (".node-1.tmp", StateFileKind::Temporary(node("node-1"))),
        (".tmp", StateFileKind::Foreign),
        ("a\\b.json", StateFileKind::Foreign),
        ("directory", StateFileKind::Foreign),
        ("directory.json", StateFileKind::NotAFile(node("directory"))),
        ("link", StateFileKind::Foreign),
        ("link.json", StateFileKind::SymbolicLink(node("link"))),
        (&format!("{longest}.json"), StateFileKind::Snapshot(longest.clone())),
        ("node-1.json", StateFileKind::Snapshot(node("node-1"))),
        ("notes.txt", StateFileKind::Foreign),
        ("x.JSON", StateFileKind::Foreign),
    ];
    let found = store.survey().expect("a directory");
    let (last, found) = found.split_last().expect("there are some");
    assert_eq!((last.name.to_str(), &last.kind), (None, &StateFileKind::Foreign));
    let found: Vec<_> = found.iter().map(|file| (file.name.to_str().expect("text"), file.kind.clone())).collect();
    assert_eq!(found, expected);
    assert_eq!(store.list().expect("a directory"), [longest, node("node-1")]);
}

/// The directory is the one that was opened, whatever has its name later.
#[test]
fn a_directory_that_is_replaced_is_not_written_to() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| parent.path().join(name);
    let store = SnapshotStore::open_or_create(at("state")).expect("it can be made");
    assert_eq!(fs::metadata(at("state")).expect("it is there").mode() & 0o777, 0o700);
    fs::rename(at("state"), at("moved")).expect("it is ours");
    fs::create_dir(at("victims")).expect("it is ours");
    symlink("victims", at("state")).expect("it is ours");
    store.checkpoint(&node("n"), &snapshot(1, 1)).expect("it goes");
    assert_eq!(names_in(&at("victims")), [""; 0]);
    assert_eq!(names_in(&at("moved")), ["n.json"]);
}

/// What a start shows to be no snapshot is not read further; what is longer than the limit is not either.
#[test]
fn files_without_end() {
    let (directory, store) = state_dir();
    let path = directory.path().join("n.json");
    let file = fs::File::create(&path).expect("room");
    file.set_len(1 << 40).expect("room for nothing but zeros");
    let measured = allocation_counter::measure(|| {
        let error = store.load(&node("n")).expect_err("no snapshot");
        assert_eq!(
            (error.class(), error.reason(), error.offset()),
            (StoreErrorClass::Schema, "snapshot_json", Some(0))
        );
    });
    assert!(measured.bytes_max < 256 * 1024, "{} bytes", measured.bytes_max);
    // A character that the start cuts is not what is wrong.
    fs::write(&path, format!("xy{}", "\u{30ce}".repeat(100_000))).expect("room");
    let error = store.load(&node("n")).expect_err("no snapshot");
    assert_eq!((error.reason(), error.offset()), ("snapshot_json", Some(0)), "{error}");

    let json = snapshot(17, 1000).to_json();
    let limited = |len| {
        let store = SnapshotStore::open(directory.path()).expect("it is there").with_max_len(len as u64);
        fs::write(&path, &json).expect("room");
        store.load(&node("n"))
    };
    assert_eq!(limited(json.len()).expect("it fits"), Some(snapshot(17, 1000)));
    let error = limited(json.len() - 1).expect_err("one byte too long");
    assert_eq!(
        error.to_string(),
        format!(
            "{}: cannot be read: longer than {} bytes: raise the limit, or move it aside if it is no snapshot",
            path.display(),
            json.len() - 1
        )
    );
    assert_eq!(told(&error), (StoreErrorClass::Io, "io"));
    assert!(path.exists());
    // White space may come first, more of it than a start.
    let spaced = [" \n\t\r".repeat(50_000).into_bytes(), json.clone()].concat();
    fs::write(&path, &spaced).expect("room");
    assert_eq!(store.load(&node("n")).expect("a snapshot"), Some(snapshot(17, 1000)));
}

#[test]
fn a_gibibyte_of_brackets() {
    let (directory, store) = state_dir();
    // So much only where it is asked for; the ratio is the same.
    let len = std::env::var("SNAPSHOT_BRACKETS").map_or(64 << 20, |text| text.parse().expect("a number"));
    println!("{len} brackets (SNAPSHOT_BRACKETS sets how many)");
    for start in ["", "{\"x\":"] {
        let mut json = start.as_bytes().to_vec();
        json.resize(len, b'[');
        fs::write(directory.path().join("n.json"), &json).expect("room");
        drop(json);
        let measured = allocation_counter::measure(|| {
            let error = store.load(&node("n")).expect_err("no snapshot");
            assert_eq!((error.class(), error.reason()), (StoreErrorClass::Schema, "snapshot_json"));
        });
        assert!(measured.bytes_max < len as u64 + 64 * 1024, "{} bytes", measured.bytes_max);
    }
    assert!(Snapshot::from_json("[").is_err());
}
