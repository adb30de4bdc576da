//! Images to search, and what was found in them in short.

use std::fs;

use membrane_codec::{canonicalize, sha256};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Run, directory, identity_of, names_in, run};

/// A directory that holds `image`.
pub(crate) fn with_image(bytes: &[u8]) -> TempDir {
    let directory = directory();
    fs::write(directory.path().join("image"), bytes).expect("it can be written");
    directory
}

pub(crate) fn salvage(directory: &TempDir) -> Run {
    run(&["salvage", "image", "-o", "saved", "--json"], directory.path())
}

pub(crate) fn saved(directory: &TempDir, name: &str) -> Vec<u8> {
    fs::read(directory.path().join("saved").join(name)).expect("it is there")
}

pub(crate) fn saved_names(directory: &TempDir) -> Vec<String> {
    names_in(&directory.path().join("saved"))
}

pub(crate) fn name_of(payload: &[u8]) -> String {
    format!("{}.blob", sha256(payload))
}

/// The key of `named` over another payload.
pub(crate) fn frame_named(named: &[u8], payload: &[u8]) -> Vec<u8> {
    canonicalize(&identity_of(named), payload).expect("a small frame")
}

/// What happened, in short.
pub(crate) fn in_short(lines: &[Value]) -> Vec<(String, u64, Value)> {
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

pub(crate) fn event(event: &str, offset: usize, what: impl Into<Value>) -> (String, u64, Value) {
    (event.into(), offset as u64, what.into())
}

/// The text without the line that says how long it took.
pub(crate) fn without_rate(text: &str) -> String {
    let is_rate = |line: &str| line.ends_with("/s)");
    assert_eq!(text.lines().filter(|line| is_rate(line)).count(), 1, "{text}");
    text.split_inclusive('\n').filter(|line| !is_rate(line.trim_end())).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
