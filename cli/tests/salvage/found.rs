//! What is found and saved.

use std::fs;
use std::io::{Seek, SeekFrom, Write};

use membrane_codec::{PayloadIdentity, canonicalize, sha256};
use serde_json::json;

use crate::images::{event, in_short, name_of, salvage, saved, saved_names, with_image};
use crate::support::{directory, fixtures, frame_of, identity_of, json_lines, names_in, run};

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
    assert_eq!(depth("2").status, Some(1));
    // A frame may be there that is not saved: it is neither called none nor is all called saved.
    let result = depth("1");
    assert_eq!(result.status, Some(2));
    assert!(
        result
            .stdout
            .contains("not checked      byte 616: too_deep: not checked, it lies inside too many damaged ones\n")
    );
    let hint = "\n1 place not checked, inside too many damaged frames: a larger --max-depth checks more\n";
    assert!(result.stdout.ends_with(hint), "{}", result.stdout);
    let result = run(&["salvage", "image", "--dry-run", "--max-depth", "1", "--json"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((&summary["refused"], &summary["too_deep"], result.status), (&json!(2), &json!(1), Some(2)));
    assert_eq!(lines.iter().filter(|line| line["reason"] == "too_deep").count(), 1);
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
