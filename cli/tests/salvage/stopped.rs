//! Signals, limits, full disks and images that go: nothing is left half-written.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::images::{event, in_short, name_of, salvage, saved, saved_names, with_image};
use crate::support::{self, Run, Running, SmallDisk, frame_of, json_lines, names_in, run, whole_lines};

#[test]
fn an_image_that_cannot_be_read_any_more_loses_no_other_frame() {
    // Somebody cuts the image while it is searched.
    let large = frame_of(&vec![7; 200 << 20]);
    let directory = with_image(&large);
    drop(large);
    let mut child = Command::new(support::PROGRAM)
        .args(["salvage", "image", "-o", "saved", "--json"])
        .current_dir(directory.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_for_temporary(&directory.path().join("saved"));
    let image = fs::OpenOptions::new().write(true).open(directory.path().join("image")).expect("it opens");
    image.set_len(1 << 20).expect("it is ours");
    let mut stdout = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().expect("piped"), &mut stdout).expect("text");
    let status = child.wait().expect("it ends");
    let (lines, summary) = json_lines(&stdout);
    if lines[0]["status"] == "saved" {
        eprintln!("skipped: the copy was done before the image was cut");
        return;
    }
    assert_eq!((status.code(), &lines[0]["status"], &summary["failed"]), (Some(2), &json!("failed"), &json!(1)));
    let detail = lines[0]["detail"].as_str().expect("words");
    assert_eq!(detail, "cannot read the frame: the source is shorter than it said");
    assert_eq!(saved_names(&directory), [""; 0]);
}

fn wait_for_temporary(directory: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_there = || {
        fs::read_dir(directory).is_ok_and(|mut names| {
            names.any(|entry| {
                entry.is_ok_and(|entry| entry.metadata().is_ok_and(|file| file.len() > 0 && file.is_file()))
            })
        })
    };
    while !is_there() {
        assert!(Instant::now() < deadline, "a temporary file appears");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn interrupted_runs_take_their_temporary_file_along() {
    for signal in [Signal::INT, Signal::TERM] {
        // The first is saved before, and there to stay.
        let image = [frame_of(b"first"), frame_of(&vec![7; 200 << 20])].concat();
        let directory = with_image(&image);
        drop(image);
        let running = Running::start(&["salvage", "image", "-o", "saved", "--json"], directory.path());
        let first = directory.path().join("saved").join(name_of(b"first"));
        while !first.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Of the second: nothing else is there now but the first.
        let second_temporary = || names_in(&directory.path().join("saved")).iter().any(|name| name.starts_with('.'));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !second_temporary() {
            assert!(Instant::now() < deadline, "a temporary file appears");
            std::thread::sleep(Duration::from_millis(1));
        }
        running.signal(signal);
        let result = running.wait();
        assert_eq!(saved_names(&directory), [name_of(b"first")], "after {signal:?}");
        let at = frame_of(b"first").len();
        let message = format!(
            "membrane-codec: interrupted\n  stopped at byte {at} of image; what was saved is whole, and the same command, \
             run again, saves the rest\n"
        );
        assert_eq!((result.status, result.stderr), (Some(2), message));
        // Nothing is told that an image would hold which ended there, and no summary.
        let told = in_short(&whole_lines(&result.stdout));
        assert_eq!(told, [event("frame", 0, "saved")]);
        assert_eq!(saved(&directory, &name_of(b"first")), frame_of(b"first"));
    }
}

#[test]
fn a_limit_on_files_leaves_nothing_half() {
    let directory = with_image(&[frame_of(b"small"), frame_of(&vec![7; 1 << 20]), frame_of(b"last")].concat());
    let script = "ulimit -f 100; exec \"$0\" salvage image -o saved";
    let result: Run = Command::new("sh")
        .args(["-c", script, support::PROGRAM])
        .current_dir(directory.path())
        .output()
        .expect("it starts")
        .into();
    assert_eq!(result.status, Some(2));
    let name = name_of(&[7; 1 << 20]);
    let message = format!(
        "membrane-codec: saved/{name}: File too large (os error 27)\n  stopped at byte 321 of image; what was saved is \
         whole, and the same command, run again, saves the rest\n"
    );
    assert_eq!(result.stderr, message);
    assert_eq!(saved_names(&directory), [name_of(b"small")]);
    // As it says.
    let (lines, _) = json_lines(&salvage(&directory).stdout);
    let statuses: Vec<_> = lines.iter().map(|line| line["status"].as_str().expect("a word")).collect();
    assert_eq!(statuses, ["already_there", "saved", "saved"]);
}

#[test]
fn a_full_disk_leaves_nothing_half() {
    let frames = [frame_of(&[1; 400_000]), frame_of(&[2; 400_000]), frame_of(&[3; 400_000])];
    let directory = with_image(&frames.concat());
    let Some(disk) = SmallDisk::mount(1 << 20) else { return };
    let disk = disk.path();
    let shown = disk.to_str().expect("text");
    let result = run(&["salvage", "image", "-o", shown], directory.path());
    assert_eq!(result.status, Some(2));
    let third = name_of(&[3; 400_000]);
    let start = format!("membrane-codec: {shown}/{third}: No space left on device (os error 28)\n");
    assert!(result.stderr.starts_with(&start), "{}", result.stderr);
    assert_eq!(result.stdout.lines().filter(|line| line.starts_with("saved")).count(), 2);
    let mut names = [name_of(&[1; 400_000]), name_of(&[2; 400_000])];
    names.sort();
    assert_eq!(names_in(disk), names);
    for (payload, frame) in [1, 2].into_iter().zip(&frames) {
        assert!(fs::read(disk.join(name_of(&[payload; 400_000]))).expect("it is there") == *frame);
    }
}

#[test]
fn a_disk_is_searched_and_never_written() {
    let directory = with_image(&[]);
    let at = |name: &str| directory.path().join(name);
    let image = fs::OpenOptions::new().write(true).open(at("image")).expect("it opens");
    image.set_len(16 << 20).expect("it is ours");
    let done = |command: &mut Command| {
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).expect("text").trim().to_owned())
    };
    fs::create_dir(at("disk")).expect("it is ours");
    let device = done(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(at("image")))
        .and_then(|_| done(Command::new("losetup").args(["-f", "--show"]).arg(at("image"))));
    let Some(device) = device else {
        eprintln!("skipped: no ext4 or no loop device here");
        return;
    };
    // Mounted is a device that lies on that one, as a partition or an encrypted volume does.
    let upper = done(Command::new("losetup").args(["-f", "--show", &device]));
    let mounted = upper.as_ref().is_some_and(|upper| done(Command::new("mount").arg(upper).arg(at("disk"))).is_some());
    if mounted {
        fs::write(at("disk/frame"), frame_of(&[7; 100_000])).expect("it can be written");
        assert!(done(&mut Command::new("sync")).is_some());
        fs::remove_file(at("disk/frame")).expect("it is ours");
    }
    let on = [upper.as_deref().unwrap_or_default(), &device, "image"];
    let refused = on.map(|searched| run(&["salvage", searched, "-o", "disk/new/saved"], directory.path()));
    let names = names_in(&at("disk"));
    let searched = run(&["salvage", &device, "-o", "saved", "--json"], directory.path());
    // A file system in memory lies on no device, or on any for all that can be told.
    let unknown = SmallDisk::mount(1 << 20).map(|memory| {
        run(&["salvage", &device, "-q", "-o", memory.path().to_str().expect("text")], directory.path()).stderr
    });
    let _ = Command::new("umount").arg(at("disk")).status();
    for device in upper.iter().chain([&device]) {
        let _ = Command::new("losetup").args(["-d", device]).status();
    }
    if !mounted {
        eprintln!("skipped: may not mount a disk here");
        return;
    }
    let message = "membrane-codec: disk/new/saved: lies on the device that is searched; name one on another disk\n";
    for refused in refused {
        assert_eq!((refused.status, refused.stderr.as_str()), (Some(2), message));
    }
    assert_eq!(names, ["lost+found"]);
    if let Some(said) = unknown {
        let warning = ": whether it lies on the device that is searched cannot be told; if so, stop: writing there destroys \
                       what is looked for\n";
        assert!(said.ends_with(warning), "{said}");
    }
    // What was deleted is still there.
    assert_eq!(searched.status, Some(1), "{}", searched.stderr);
    assert_eq!(saved_names(&directory), [name_of(&[7; 100_000])]);
    assert!(saved(&directory, &name_of(&[7; 100_000])) == frame_of(&[7; 100_000]));
}
