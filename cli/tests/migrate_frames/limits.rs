//! Rights, room and open files that a run does not have.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;

use crate::stores::{count_converted, files_below, v4_of, write_v4_store};
use crate::support::{self, SmallDisk, directory, frame_of, json_lines, names_in, run, set_mode, small_payloads};

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
