//! The fixtures, made by an implementation of the format that shares no code with this one.

use std::fs;
use std::path::{Path, PathBuf};

use membrane_codec::{Digest, Error, FrameReader, ReadError, Reason, Verifier, canonicalize, parse_canonical};

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder)
}

/// Every file below `folder` with this extension, in the order of the paths.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() { collect(&path, found) } else { found.push(path) }
        }
    }
    let mut found = Vec::new();
    collect(&fixtures(folder), &mut found);
    found.retain(|path| path.extension().is_some_and(|is| is == extension));
    found.sort();
    found
}

/// The error that slice and stream agree on.
fn error_of(path: &Path) -> Error {
    let bytes = fs::read(path).expect("a readable file");
    let error = parse_canonical(&bytes).expect_err(&format!("{} is refused", path.display()));
    let reader = FrameReader::new().max_identity_len(u32::MAX);
    match reader.open(bytes.as_slice()).and_then(|stream| stream.verify()) {
        Err(ReadError::Frame(streamed)) => {
            assert_eq!((streamed.reason(), streamed.offset()), (error.reason(), error.offset()), "{}", path.display());
        }
        other => panic!("{}: the stream says {other:?}", path.display()),
    }
    error
}

#[test]
fn frames_are_sound_and_lie_under_their_keys() {
    let frames = files("frames", "blob");
    assert_eq!(frames.len(), 16);
    for path in frames {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let key: Digest = stem.parse().expect("a key");
        assert!(path.parent().is_some_and(|parent| parent.ends_with(format!("{}/{}", &stem[..2], &stem[2..4]))));

        let bytes = fs::read(&path).expect("a readable file");
        let verifier = Verifier::new().check_payload_hash(true).expect_key(key);
        let (frame, findings) = verifier.verify(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(findings.is_empty(), "{}: {findings:?}", path.display());
        assert_eq!(frame.payload_digest(), key);
    }
}

#[test]
fn each_damaged_file_fails_as_its_name_says() {
    let damaged = files("damaged", "frame");
    let mut reasons: Vec<_> = Reason::OF_FRAMES.iter().map(|reason| reason.as_str()).collect();
    reasons.sort_unstable();
    let names: Vec<_> = damaged.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    assert_eq!(names, reasons, "one file per reason");
    for path in &damaged {
        let error = error_of(path);
        assert_eq!(path.file_stem().expect("a name"), error.reason().as_str());
    }
}

#[test]
fn attacks_are_refused_with_the_stated_reason() {
    let expected = fs::read_to_string(fixtures("attacks").join("expected.json")).expect("a readable file");
    let expected: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
    let attacks = files("attacks", "frame");
    assert_eq!(attacks.len(), expected.as_object().expect("an object").len(), "every attack has its line");
    for path in attacks {
        let error = error_of(&path);
        let stated = &expected[path.file_name().and_then(|name| name.to_str()).expect("a name")];
        assert_eq!(error.reason().as_str(), stated["reason"], "{}", path.display());
        assert_eq!(error.class().as_str(), stated["class"], "{}", path.display());
    }
}

#[test]
fn odd_frames_are_accepted() {
    let odd = files("odd", "frame");
    assert_eq!(odd.len(), 13);
    for path in odd {
        let bytes = fs::read(&path).expect("a readable file");
        let frame = parse_canonical(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let again = canonicalize(&frame.identity().to_identity(), frame.payload()).expect("a small frame");
        let read_again = parse_canonical(&again).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(read_again.identity(), frame.identity(), "{}", path.display());
    }
}
