//! Stores of old frames.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::{age, frame_of, write_store};

/// The same frame as v4 wrote it.
pub(crate) fn v4_of(payload: &[u8]) -> Vec<u8> {
    let mut frame = frame_of(payload);
    frame[..6].copy_from_slice(&[0xC0, 0xDE, 0x01, 0x04, 4, 0]);
    frame
}

/// A store of frames in v4; their paths from `directory` on, and what they become.
pub(crate) fn write_v4_store(directory: &Path, payloads: impl IntoIterator<Item = Vec<u8>>) -> Vec<(String, Vec<u8>)> {
    let paths = write_store(directory, payloads);
    let old = |path: String| {
        let full = directory.join(&path);
        let current = fs::read(&full).expect("it is there");
        let mut frame = current.clone();
        frame[..6].copy_from_slice(&[0xC0, 0xDE, 0x01, 0x04, 4, 0]);
        fs::write(&full, frame).expect("it can be written");
        age(&full, Duration::from_secs(3600));
        (path, current)
    };
    paths.into_iter().map(old).collect()
}

/// How many files are v5 by now; each must be what it was or what it becomes.
pub(crate) fn count_converted(directory: &Path, store: &[(String, Vec<u8>)]) -> usize {
    let is_converted = |(path, current): &&(String, Vec<u8>)| {
        let now = fs::read(directory.join(path)).expect("it is there");
        assert!(now[6..] == current[6..], "{path}");
        assert!(now[..6] == current[..6] || now[..6] == [0xC0, 0xDE, 0x01, 0x04, 4, 0], "{path}");
        now[..6] == current[..6]
    };
    store.iter().filter(is_converted).count()
}

pub(crate) fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path.file_name().expect("a name").to_string_lossy().into_owned()),
        }
    }
    found.sort();
    found
}
