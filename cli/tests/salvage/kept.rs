//! The files that are saved: by name, nothing overwritten.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use membrane_codec::{canonicalize, sha256};
use serde_json::json;

use crate::images::{frame_named, name_of, salvage, saved, saved_names, with_image};
use crate::support::{self, directory, frame_of, identity_of, json_lines, names_in, run};

#[test]
fn frames_of_one_name() {
    let frames = [b"one", b"two", b"six"].map(|payload| frame_named(b"one", payload));
    let long = frame_named(b"one", &[1; 300_000]);
    // Each twice, in another order.
    let image =
        [&frames[0], &frames[1], &frames[1], &long, &frames[2], &frames[0], &long, &frames[2]].map(Vec::as_slice);
    let directory = with_image(&image.concat());
    let result = salvage(&directory);
    assert_eq!(result.status, Some(0));
    let key = sha256(b"one");
    let names = [format!("{key}.blob"), format!("{key}.2.blob"), format!("{key}.3.blob"), format!("{key}.4.blob")];
    let (lines, summary) = json_lines(&result.stdout);
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let name = names.iter().position(|name| line["name"] == *name).expect("one of these");
            (line["status"].as_str().expect("a word"), name)
        })
        .collect();
    let [new, old] = ["saved", "already_there"];
    assert_eq!(told, [(new, 0), (new, 1), (old, 1), (new, 2), (new, 3), (old, 0), (old, 2), (old, 3)]);
    assert_eq!((&summary["saved"], &summary["already_there"]), (&json!(4), &json!(4)));
    for (name, frame) in names.iter().zip([&frames[0], &frames[1], &long, &frames[2]]) {
        assert!(saved(&directory, name) == *frame, "{name}");
    }
    assert_eq!(saved_names(&directory).len(), 4);
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let frame = frame_of(b"payload");
    let name = name_of(b"payload");
    let second = name.replace(".blob", ".2.blob");
    // As long as the frame, shorter, longer, empty.
    let mut other = frame.clone();
    other[320] ^= 1;
    for other in [&other[..], &frame[1..], &[&frame[..], b"x"].concat(), b""] {
        let directory = with_image(&frame);
        fs::create_dir(directory.path().join("saved")).expect("it is ours");
        fs::write(directory.path().join("saved").join(&name), other).expect("it can be written");
        let result = salvage(&directory);
        assert_eq!(json_lines(&result.stdout).0[0]["name"], second);
        assert_eq!((result.status, saved(&directory, &name)), (Some(0), other.to_vec()));
        assert_eq!(saved(&directory, &second), frame);
    }
    let directory = with_image(&frame);
    fs::create_dir_all(directory.path().join("saved").join(&name)).expect("it is ours");
    assert_eq!(salvage(&directory).status, Some(0));
    assert_eq!(saved_names(&directory), [second, name]);
}

#[test]
fn runs_at_the_same_time_lose_nothing_to_one_another() {
    let frames: Vec<_> = (0..60_u8).map(|number| frame_named(b"one", &vec![number; 10_000])).collect();
    let directory = directory();
    let runs: Vec<_> = frames
        .chunks(20)
        .enumerate()
        .map(|(number, frames)| {
            let image = format!("image-{number}");
            fs::write(directory.path().join(&image), frames.concat()).expect("it can be written");
            let mut command = std::process::Command::new(support::PROGRAM);
            command.args(["salvage", &image, "-o", "saved"]).current_dir(directory.path());
            command.stdout(std::process::Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    for mut run in runs {
        assert_eq!(run.wait().expect("it ends").code(), Some(0));
    }
    let mut there: Vec<_> = saved_names(&directory).iter().map(|name| saved(&directory, name)).collect();
    there.sort();
    let mut frames = frames;
    frames.sort();
    assert!(there == frames, "{} of {}", there.len(), frames.len());
}

#[test]
fn a_payload_hash_in_upper_case_is_a_name_in_lower_case() {
    let mut identity = identity_of(b"payload");
    let hash = identity.payload_hash.to_string();
    identity.payload_hash = hash.to_uppercase().parse().expect("hexadecimal");
    let frame = canonicalize(&identity, b"payload").expect("a small frame");
    let directory = with_image(&frame);
    let (lines, _) = json_lines(&salvage(&directory).stdout);
    assert_eq!(
        (&lines[0]["payload_hash"], &lines[0]["name"]),
        (&json!(hash.to_uppercase()), &json!(format!("{hash}.blob")))
    );
    assert_eq!(saved_names(&directory), [format!("{hash}.blob")]);
}

#[test]
fn saved_files_have_the_rights_of_any_other() {
    let directory = with_image(&frame_of(b"payload"));
    assert_eq!(salvage(&directory).status, Some(0));
    let mode =
        |path: &str| fs::metadata(directory.path().join(path)).expect("it is there").permissions().mode() & 0o7777;
    assert_eq!(mode(&format!("saved/{}", name_of(b"payload"))), mode("image"));
}

#[test]
fn what_is_already_there_is_left_as_it_is() {
    let directory = with_image(&frame_of(b"payload"));
    assert_eq!(salvage(&directory).status, Some(0));
    let path = directory.path().join("saved").join(name_of(b"payload"));
    let before = fs::metadata(&path).expect("it is there").ino();
    assert_eq!(salvage(&directory).status, Some(0));
    assert_eq!(fs::metadata(&path).expect("it is there").ino(), before);
}

#[test]
fn links_pipes_and_devices() {
    let frame = frame_of(b"payload");
    let name = name_of(b"payload");
    let second = name.replace(".blob", ".2.blob");
    let directory = with_image(&frame);
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("saved")).expect("it is ours");
    // A link to nothing is a name that is taken.
    symlink("nowhere", at("saved").join(&name)).expect("it is ours");
    // So is a pipe, which must not hold the run up.
    let pipe = at("saved").join(&second);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let (lines, _) = json_lines(&salvage(&directory).stdout);
    assert_eq!(lines[0]["name"], name.replace(".blob", ".3.blob"));
    assert!(!at("nowhere").exists() && !at("saved/nowhere").exists());
    // DIR may be a link, FILE as well.
    fs::create_dir(at("elsewhere")).expect("it is ours");
    symlink("elsewhere", at("link")).expect("it is ours");
    symlink("image", at("link-to-image")).expect("it is ours");
    assert_eq!(run(&["salvage", "link-to-image", "-o", "link"], directory.path()).status, Some(0));
    assert_eq!(names_in(&at("elsewhere")), [name]);
    for special in [pipe.to_str().expect("a path"), "/dev/null", "/dev/zero"] {
        let result = run(&["salvage", special, "-o", "none"], directory.path());
        assert_eq!(result.status, Some(2));
        assert!(result.stderr.ends_with(": is neither a regular file nor a block device\n"), "{}", result.stderr);
    }
    assert!(!at("none").exists());
}

#[test]
fn the_directory_is_made_with_those_above_it() {
    let directory = with_image(&frame_of(b"payload"));
    let result = run(&["salvage", "image", "-o", "a/b/../c/saved"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    assert_eq!(names_in(&directory.path().join("a/c/saved")), [name_of(b"payload")]);
}

#[test]
fn a_directory_that_cannot_be_written() {
    let directory = with_image(&frame_of(b"payload"));
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).expect("it is ours");
    let arguments = ["salvage", "image", "-o", "closed"];
    let result = support::run_as_ordinary_user(&arguments, directory.path(), &closed);
    assert_eq!(result.status, Some(2));
    assert!(result.stderr.contains("Permission denied"), "{}", result.stderr);
    assert_eq!(names_in(&closed), [""; 0]);
}
