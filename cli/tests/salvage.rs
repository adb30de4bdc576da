//! `salvage`: every intact frame saved byte for byte, nothing overwritten, nothing half-written, and all that was not a frame
//! told.

mod support;

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use membrane_codec::{PayloadIdentity, canonicalize, sha256};
use serde_json::{Value, json};
use support::{Run, directory, fixtures, frame_of, identity_of, json_lines, names_in, run};
use tempfile::TempDir;

/// A directory that holds `image`.
fn with_image(bytes: &[u8]) -> TempDir {
    let directory = directory();
    fs::write(directory.path().join("image"), bytes).expect("it can be written");
    directory
}

fn salvage(directory: &TempDir) -> Run {
    run(&["salvage", "image", "-o", "saved", "--json"], directory.path())
}

fn saved(directory: &TempDir, name: &str) -> Vec<u8> {
    fs::read(directory.path().join("saved").join(name)).expect("it is there")
}

fn saved_names(directory: &TempDir) -> Vec<String> {
    names_in(&directory.path().join("saved"))
}

fn name_of(payload: &[u8]) -> String {
    format!("{}.blob", sha256(payload))
}

/// The key of `named` over another payload.
fn frame_named(named: &[u8], payload: &[u8]) -> Vec<u8> {
    canonicalize(&identity_of(named), payload).expect("a small frame")
}

/// What happened, in short.
fn in_short(lines: &[Value]) -> Vec<(String, u64, Value)> {
    let short = |line: &Value| {
        let event = line["event"].as_str().expect("a word").to_owned();
        let what = match event.as_str() {
            "frame" => line["status"].clone(),
            "refused" => line["reason"].clone(),
            _ => line["len"].clone(),
        };
        (event, line["offset"].as_u64().expect("a number"), what)
    };
    lines.iter().map(short).collect()
}

fn event(event: &str, offset: usize, what: impl Into<Value>) -> (String, u64, Value) {
    (event.into(), offset as u64, what.into())
}

/// The text without the line that says how long it took.
fn without_rate(text: &str) -> String {
    let is_rate = |line: &str| line.ends_with("/s)");
    assert_eq!(text.lines().filter(|line| is_rate(line)).count(), 1, "{text}");
    text.split_inclusive('\n').filter(|line| !is_rate(line.trim_end())).collect()
}

#[test]
fn all_fixtures_one_after_another() {
    let mut files = Vec::new();
    for outer in names_in(&fixtures().join("frames")) {
        for inner in names_in(&fixtures().join("frames").join(&outer)) {
            let directory = fixtures().join("frames").join(&outer).join(inner);
            files.extend(names_in(&directory).into_iter().map(|name| directory.join(name)));
        }
    }
    let frames: Vec<_> = files.iter().map(|file| fs::read(file).expect("it can be read")).collect();
    let names: Vec<_> = files.iter().map(|file| file.file_name().expect("a name").to_string_lossy()).collect();
    let directory = with_image(&frames.concat());
    let result = salvage(&directory);
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    let (lines, summary) = json_lines(&result.stdout);
    let len = frames.concat().len();
    assert_eq!(
        summary,
        json!({"bytes": len, "frames": 16, "saved": 16, "already_there": 0, "failed": 0, "refused": 0, "too_deep": 0,
               "frame_bytes": len, "zero_bytes": 0, "other_bytes": 0, "unreadable_bytes": 0})
    );
    let told: Vec<_> = lines.iter().map(|line| line["name"].as_str().expect("a name")).collect();
    assert_eq!(told, names);
    assert_eq!(saved_names(&directory), names);
    for (name, frame) in names.iter().zip(&frames) {
        assert!(saved(&directory, name) == *frame, "{name}");
    }
    let verified = run(&["verify", "--check-key", "--check-hash", "saved"], directory.path());
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);

    // Once more: all is there, and nothing is touched.
    let again = salvage(&directory);
    let (lines, summary) = json_lines(&again.stdout);
    assert_eq!((again.status, &summary["saved"], &summary["already_there"]), (Some(0), &json!(0), &json!(16)));
    assert!(lines.iter().zip(&names).all(|(line, name)| line["status"] == "already_there" && line["name"] == **name));
    assert_eq!(saved_names(&directory), names);
}

#[test]
fn a_line_in_full() {
    let frame = frame_of(b"payload");
    let identity = identity_of(b"payload");
    let directory = with_image(&[&[0; 10], &frame[..], b"junk", &frame[..50]].concat());
    let (lines, _) = json_lines(&salvage(&directory).stdout);
    let hash = sha256(b"payload").to_string();
    let end = 10 + frame.len();
    assert_eq!(
        lines,
        [
            json!({"event": "gap", "offset": 0, "len": 10, "zeros": true}),
            json!({"event": "frame", "offset": 10, "len": frame.len(), "status": "saved", "name": format!("{hash}.blob"),
                   "payload_len": 7, "payload_hash": hash, "payload_sha256": hash,
                   "fingerprint": identity.fingerprint().to_string()}),
            json!({"event": "refused", "offset": end + 4, "reason": "identity_length",
                   "detail": "identity_length at byte 10: found identity_len 286 in 50 bytes, expected at least 316 bytes for it"}),
            json!({"event": "gap", "offset": end, "len": 54, "zeros": false}),
        ]
    );
}

#[test]
fn text_for_people() {
    let [one, two] = [frame_of(b"one"), frame_of(b"two")];
    let mut damaged = frame_of(b"damaged");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let [first, second, third] = [one.len(), one.len() + damaged.len(), one.len() + damaged.len() + two.len()];
    let directory = with_image(&[&one[..], &damaged, &two, &[0; 512]].concat());
    let result = run(&["salvage", "image", "-o", "saved"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(1), ""));
    let (one, two) = (name_of(b"one"), name_of(b"two"));
    assert_eq!(
        without_rate(&result.stdout),
        format!(
            "saved            byte 0, 319 bytes: {one}\n\
             no frame         byte {first}: trailer_mismatch at byte 315: found trailer {}, expected {}, the first 8 bytes of \
             the payload's SHA-256\n\
             gap              byte {first}, 323 bytes\n\
             saved            byte {second}, 319 bytes: {two}\n\
             zeros            byte {third}, 512 bytes\n\
             \n        2  saved\n        1  with a magic, but no intact frame\n\
             \n323 bytes belong to no intact frame\n\
             \n512 bytes between frames are zero\n",
            hex(&damaged[315..]),
            hex(&sha256(b"damaged").trailer()),
        )
    );
    let again = run(&["salvage", "image", "-o", "saved"], directory.path());
    assert!(again.stdout.starts_with(&format!("already_there    byte 0, 319 bytes: {one}\n")), "{}", again.stdout);
    assert!(again.stdout.contains("\n        2  already there\n"), "{}", again.stdout);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn exit_statuses() {
    let frame = frame_of(b"payload");
    for (image, status, frames) in [
        (vec![], 0, 0),
        (vec![0; 10_000], 0, 0),
        (frame.clone(), 0, 1),
        ([&[0; 100], &frame[..], &[0; 1]].concat(), 0, 1),
        ([&frame[..], b"x"].concat(), 1, 1),
        (frame[1..].to_vec(), 1, 0),
        (b"x".to_vec(), 1, 0),
    ] {
        let directory = with_image(&image);
        let result = salvage(&directory);
        let (_, summary) = json_lines(&result.stdout);
        assert_eq!(
            (result.status, &summary["frames"], &summary["bytes"]),
            (Some(status), &json!(frames), &json!(image.len()))
        );
        assert_eq!(saved_names(&directory).len(), frames);
    }
}

#[test]
fn a_log_that_was_cut_and_written_over() {
    let mut log = [frame_of(&[7; 5000]), frame_of(b"first"), frame_of(b"last")].concat();
    let over = frame_of(b"over");
    log[..over.len()].copy_from_slice(&over);
    let first = frame_of(&[7; 5000]).len();
    let last = first + frame_of(b"first").len();
    log.pop();
    let directory = with_image(&log);
    let result = salvage(&directory);
    assert_eq!(result.status, Some(1));
    assert_eq!(
        in_short(&json_lines(&result.stdout).0),
        [
            event("frame", 0, "saved"),
            event("gap", over.len(), first - over.len()),
            event("frame", first, "saved"),
            event("refused", last, "truncated"),
            event("gap", last, log.len() - last),
        ]
    );
    let mut names = [name_of(b"over"), name_of(b"first")];
    names.sort();
    assert_eq!(saved_names(&directory), names);
}

#[test]
fn a_frame_in_a_frame() {
    let inner = frame_of(b"inner");
    let mut outer = frame_of(&inner);
    let directory = with_image(&outer);
    assert_eq!(salvage(&directory).status, Some(0));
    assert_eq!(saved_names(&directory), [name_of(&inner)]);
    let last = outer.len() - 1;
    outer[last] ^= 1;
    let directory = with_image(&outer);
    assert_eq!(salvage(&directory).status, Some(1));
    assert_eq!(saved_names(&directory), [name_of(b"inner")]);
    assert_eq!(saved(&directory, &name_of(b"inner")), inner);
}

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
fn a_payload_hash_that_would_be_a_path_is_no_frame() {
    let frame = frame_of(b"payload");
    let hash = sha256(b"payload").to_string();
    let at = frame.windows(64).position(|window| window == hash.as_bytes()).expect("it is named");
    let hostile = format!("{:0<64}", "../../../../../../tmp/owned");
    let mut frame = frame;
    frame[at..at + 64].copy_from_slice(hostile.as_bytes());
    let directory = with_image(&frame);
    let result = salvage(&directory);
    assert_eq!(result.status, Some(1));
    let (lines, _) = json_lines(&result.stdout);
    assert_eq!(in_short(&lines), [event("refused", 0, "identity_field"), event("gap", 0, frame.len())]);
    assert_eq!(saved_names(&directory), [""; 0]);
}

#[test]
fn only_some_of_many_places_are_printed() {
    let image = [0xC0, 0xDE, 0x01, 0x05].repeat(1000);
    let directory = with_image(&image);
    let result = run(&["salvage", "image", "--dry-run"], directory.path());
    assert_eq!(result.status, Some(1));
    let lines: Vec<_> = result.stdout.lines().collect();
    assert_eq!(lines[0], "no frame         byte 0: schema_version at byte 4: found schema 57024, expected 5");
    assert!(lines[9].starts_with("no frame         byte 36: "));
    assert_eq!(lines[10], "no frame         990 more places; --json tells all");
    assert_eq!(lines[11], "gap              byte 0, 4000 bytes");
    let result = run(&["salvage", "image", "--dry-run", "--json"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((lines.len(), &summary["refused"]), (1001, &json!(1000)));

    // In each gap anew.
    let directory = with_image(&[&image[..], &frame_of(b"payload"), &image].concat());
    let result = run(&["salvage", "image", "--dry-run"], directory.path());
    let told = |text: &str| result.stdout.lines().filter(|line| line.contains(text)).count();
    assert_eq!((told("schema_version"), told("990 more places")), (20, 2));
}

#[test]
fn a_dry_run_writes_nothing() {
    let frame = frame_of(b"payload");
    let directory = with_image(&frame);
    for arguments in [&["salvage", "image", "--dry-run"][..], &["salvage", "image", "--dry-run", "-o", "saved"]] {
        let result = run(arguments, directory.path());
        assert_eq!(result.status, Some(0));
        let found = format!("found            byte 0, {} bytes: {}\n\n", frame.len(), sha256(b"payload"));
        assert_eq!(without_rate(&result.stdout), found);
        assert_eq!(names_in(directory.path()), ["image"]);
    }
}

#[test]
fn the_depth_is_told() {
    // Two that claim all that follows, and a sound one.
    let sound = frame_of(b"sound");
    let claim = |payload_len: usize| {
        let mut claim = frame_of(b"");
        claim.truncate(claim.len() - 16);
        claim.extend((payload_len as u64).to_le_bytes());
        claim
    };
    let inner = [claim(sound.len() - 8), sound.clone()].concat();
    let image = [claim(inner.len() - 8), inner].concat();
    let directory = with_image(&image);
    let depth = |depth| run(&["salvage", "image", "--dry-run", "--max-depth", depth], directory.path());
    assert!(depth("2").stdout.contains("\nfound            byte 616, 321 bytes: "), "{}", depth("2").stdout);
    let result = depth("1");
    assert_eq!(result.status, Some(1));
    assert!(
        result
            .stdout
            .contains("no frame         byte 616: too_deep: not checked, it lies inside too many damaged ones\n")
    );
    let hint = "\n1 place not checked, inside too many damaged frames: a larger --max-depth checks more\n";
    assert!(result.stdout.ends_with(hint), "{}", result.stdout);
}

#[test]
fn a_sparse_image_of_64_gib() {
    let directory = directory();
    let frame = frame_of(b"payload");
    // A frame over a hole: what of its payload is zero was never written.
    let payload = [&[7; 1000][..], &vec![0; 3 << 20], &[7; 1000]].concat();
    let mut large = frame_of(&payload);
    let mut file = fs::File::create(directory.path().join("image")).expect("it can be created");
    // Across the borders of anything that is a power of two.
    let [first, second] = [(2 << 30) - 100, (6 << 30) - (1 << 20) - 1_u64];
    file.seek(SeekFrom::Start(first)).and_then(|_| file.write_all(&frame)).expect("it can be written");
    let after = large.len() - 1008;
    for (at, part) in [(0, &large[..after - (3 << 20)]), (after, &large[after..])] {
        file.seek(SeekFrom::Start(second + at as u64)).and_then(|_| file.write_all(part)).expect("it can be written");
    }
    file.set_len(64 << 30).expect("a sparse file");
    drop(file);

    let result = salvage(&directory);
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    let (lines, summary) = json_lines(&result.stdout);
    let [first_end, second_end] = [first + frame.len() as u64, second + large.len() as u64];
    assert_eq!(
        in_short(&lines),
        [
            event("gap", 0, first),
            event("frame", first as usize, "saved"),
            event("gap", first_end as usize, second - first_end),
            event("frame", second as usize, "saved"),
            event("gap", second_end as usize, (64 << 30) - second_end),
        ]
    );
    assert_eq!(summary["zero_bytes"], (64_u64 << 30) - (frame.len() + large.len()) as u64);
    assert_eq!(saved(&directory, &name_of(b"payload")), frame);
    assert!(saved(&directory, &name_of(&payload)) == large);
    large.clear();
}

#[test]
fn wrong_usage_and_what_cannot_be_searched() {
    let directory = with_image(&frame_of(b"payload"));
    fs::create_dir(directory.path().join("store")).expect("it is ours");
    fs::write(directory.path().join("store/image"), frame_of(b"payload")).expect("it can be written");
    let refused = |arguments: &[&str]| {
        let result = run(&[&["salvage"], arguments].concat(), directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        result.stderr
    };
    assert!(refused(&["image"]).starts_with("error: "));
    assert!(refused(&[]).starts_with("error: "));
    assert_eq!(refused(&["none", "-o", "saved"]), "membrane-codec: none: No such file or directory (os error 2)\n");
    assert_eq!(refused(&["store", "-o", "saved"]), "membrane-codec: store: is a directory, expected a file\n");
    assert_eq!(refused(&["-", "-o", "saved"]), "membrane-codec: standard input: cannot be searched; name a file\n");
    assert_eq!(refused(&["image", "-o", "image"]), "membrane-codec: image: is not a directory\n");
    assert_eq!(refused(&["image", "-o", "image/saved"]), "membrane-codec: image/saved: is not a directory\n");
    assert!(refused(&["image", "-o", "-"]).contains("- names no file here; for a file of this name give ./-"));
    for (image, its_own) in [("image", "."), ("store/image", "store"), ("store/image", "store/../store")] {
        let message = format!("membrane-codec: {its_own}: is where FILE lies; name another directory\n");
        assert_eq!(refused(&[image, "-o", its_own]), message);
    }
    assert_eq!(names_in(directory.path()), ["image", "store"]);
    assert_eq!(names_in(&directory.path().join("store")), ["image"]);
}

#[test]
fn the_cap_on_identities_can_be_set() {
    let mut identity: PayloadIdentity = identity_of(b"");
    identity.model_id = "m".repeat(2 << 20);
    let frame = canonicalize(&identity, b"").expect("a frame");
    let directory = with_image(&frame);
    let (lines, _) = json_lines(&salvage(&directory).stdout);
    assert_eq!(in_short(&lines), [event("refused", 0, "identity_length"), event("gap", 0, frame.len())]);
    let arguments = ["salvage", "image", "-o", "saved", "--max-identity-len", "3000000"];
    assert_eq!(run(&arguments, directory.path()).status, Some(0));
    assert!(saved(&directory, &name_of(b"")) == frame);
}

#[test]
fn the_directory_is_made_with_those_above_it() {
    let directory = with_image(&frame_of(b"payload"));
    let result = run(&["salvage", "image", "-o", "a/b/../c/saved"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    assert_eq!(names_in(&directory.path().join("a/c/saved")), [name_of(b"payload")]);
}

#[test]
fn quiet_prints_what_is_neither_frame_nor_zeros() {
    let [frame, mut damaged] = [frame_of(b"payload"), frame_of(b"damaged")];
    let directory = with_image(&[&frame[..], &[0; 100]].concat());
    let result = run(&["salvage", "image", "-o", "saved", "-q"], directory.path());
    assert_eq!((result.status, result.stdout.as_str(), result.stderr.as_str()), (Some(0), "", ""));
    *damaged.last_mut().expect("a trailer") ^= 1;
    let directory = with_image(&[&frame[..], &damaged, &frame].concat());
    let result = run(&["salvage", "image", "-o", "saved", "--quiet"], directory.path());
    let starts: Vec<_> = result.stdout.lines().map(|line| line.split("  ").next().unwrap_or_default()).collect();
    assert_eq!((result.status, starts), (Some(1), vec!["no frame", "gap"]));
    let progress = ["salvage", "image", "-o", "saved", "--quiet", "--progress-every", "1"];
    assert_eq!(run(&progress, directory.path()).status, Some(2));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::process::Signal;
    use support::{Running, whole_lines};

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

    #[test]
    fn progress_in_a_log_is_plain_lines() {
        // One that is read for more than a second: a frame in which others are nested, each of which is hashed.
        let claim = |payload_len: usize| {
            let mut claim = frame_of(b"");
            claim.truncate(claim.len() - 16);
            claim.extend((payload_len as u64).to_le_bytes());
            claim
        };
        let one = claim(0).len();
        let len = 400 * one + (64 << 20);
        let mut image: Vec<u8> = (1..=400).flat_map(|number| claim(len - number * one - 8)).collect();
        image.resize(len, 1);
        let directory = with_image(&image);
        let mut running = Running::start(&["salvage", "image", "--dry-run", "--progress-every", "1"], directory.path());
        let deadline = Instant::now() + Duration::from_secs(60);
        while !running.has_ended() && running.stderr().is_empty() {
            assert!(Instant::now() < deadline, "a line appears");
            std::thread::sleep(Duration::from_millis(20));
        }
        running.signal(Signal::INT);
        let result = running.wait();
        let first = result.stderr.lines().next().expect("a line");
        let [start, end] = ["membrane-codec: 0 frames, 64.12 MiB of 64.12 MiB (100%), ", ", 0 failures"];
        assert!(first.starts_with(start) && first.ends_with(end), "{first}");
        assert_eq!(result.status, Some(2));
        assert!(
            result.stderr.ends_with("membrane-codec: interrupted\n  stopped at byte 0 of image\n"),
            "{}",
            result.stderr
        );
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
            let second_temporary =
                || names_in(&directory.path().join("saved")).iter().any(|name| name.starts_with('.'));
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

    /// A small disk of its own, until it is dropped.
    struct SmallDisk<'a>(&'a Path);

    impl<'a> SmallDisk<'a> {
        fn mount(at: &'a Path) -> Option<Self> {
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at);
            mount.output().is_ok_and(|output| output.status.success()).then_some(Self(at))
        }
    }

    impl Drop for SmallDisk<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }

    #[test]
    fn a_full_disk_leaves_nothing_half() {
        let frames = [frame_of(&[1; 400_000]), frame_of(&[2; 400_000]), frame_of(&[3; 400_000])];
        let directory = with_image(&frames.concat());
        let disk = directory.path().join("disk");
        fs::create_dir(&disk).expect("it is ours");
        let Some(_mounted) = SmallDisk::mount(&disk) else {
            eprintln!("skipped: may not mount a disk here");
            return;
        };
        let result = run(&["salvage", "image", "-o", "disk"], directory.path());
        assert_eq!(result.status, Some(2));
        let third = name_of(&[3; 400_000]);
        let start = format!("membrane-codec: disk/{third}: No space left on device (os error 28)\n");
        assert!(result.stderr.starts_with(&start), "{}", result.stderr);
        assert_eq!(result.stdout.lines().filter(|line| line.starts_with("saved")).count(), 2);
        let mut names = [name_of(&[1; 400_000]), name_of(&[2; 400_000])];
        names.sort();
        assert_eq!(names_in(&disk), names);
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
        let mounted = done(Command::new("mount").arg(&device).arg(at("disk"))).is_some();
        if mounted {
            fs::write(at("disk/frame"), frame_of(&[7; 100_000])).expect("it can be written");
            assert!(done(&mut Command::new("sync")).is_some());
            fs::remove_file(at("disk/frame")).expect("it is ours");
        }
        let refused = run(&["salvage", &device, "-o", "disk/saved"], directory.path());
        let names = names_in(&at("disk"));
        let searched = run(&["salvage", &device, "-o", "saved", "--json"], directory.path());
        let _ = Command::new("umount").arg(at("disk")).status();
        let _ = Command::new("losetup").args(["-d", &device]).status();
        if !mounted {
            eprintln!("skipped: may not mount a disk here");
            return;
        }
        let message = "membrane-codec: disk/saved: lies on the device that is searched; name one on another disk\n";
        assert_eq!((refused.status, refused.stderr.as_str()), (Some(2), message));
        assert_eq!(names, ["lost+found"]);
        // What was deleted is still there.
        assert_eq!(searched.status, Some(1), "{}", searched.stderr);
        assert_eq!(saved_names(&directory), [name_of(&[7; 100_000])]);
        assert!(saved(&directory, &name_of(&[7; 100_000])) == frame_of(&[7; 100_000]));
    }

    #[test]
    fn results_that_nobody_takes_stop_the_run() {
        let directory = with_image(&frame_of(b"payload"));
        let mut command = Command::new(support::PROGRAM);
        command.args(["salvage", "image", "-o", "saved"]).current_dir(directory.path());
        command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there"));
        let result: Run = command.output().expect("it starts").into();
        assert_eq!(result.status, Some(2));
        let message = "membrane-codec: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!(result.stderr, message);
    }
}
