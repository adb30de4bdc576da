//! Runs the built program, and frames to run it on.

#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use membrane_codec::{PayloadIdentity, canonicalize, sha256};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_membrane-codec");

pub(crate) fn program() -> Command {
    Command::new(PROGRAM)
}

/// What a run gave: exit status, standard output, standard error.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

pub(crate) fn run(arguments: &[&str], directory: &Path) -> Run {
    program().args(arguments).current_dir(directory).output().expect("it starts").into()
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join("fixtures")
}

pub(crate) fn vectors(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixtures().join("vectors").join(file)).expect("the vectors are there");
    serde_json::from_str(&text).expect("the vectors are JSON")
}

/// A plain identity that names `payload`.
pub(crate) fn identity_of(payload: &[u8]) -> PayloadIdentity {
    let text = format!(
        r#"{{"payload_hash": "{}", "model_id": "llama-3-8b", "model_revision": "", "tokenizer_name": "llama-3-8b",
            "tokenizer_revision": "", "layer_range": [0, 31], "head_range": [-1, -1], "token_span": [0, 127],
            "dtype": "float16", "shape": [1, 32, 8, 128, 64]}}"#,
        sha256(payload)
    );
    PayloadIdentity::from_json(text.as_bytes()).expect("an identity")
}

pub(crate) fn frame_of(payload: &[u8]) -> Vec<u8> {
    canonicalize(&identity_of(payload), payload).expect("a small frame")
}

/// An empty directory that anybody may enter.
pub(crate) fn directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    #[cfg(unix)]
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    directory
}

/// The names in a directory, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a readable directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The lines of `--json` in the order of their paths, the summary apart.
pub(crate) fn json_lines(stdout: &str) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let mut last = lines.pop().expect("there is a summary");
    lines.sort_by_key(|line| (line["path"].as_str().map(str::to_owned), line["offset"].as_u64()));
    (lines, last["summary"].take())
}

/// Runs the program on `directory`, as a user who must ask for permission there. `closed` is what that user may not read.
#[cfg(unix)]
pub(crate) fn run_as_ordinary_user(arguments: &[&str], directory: &Path, closed: &Path) -> Run {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    // Where an ordinary user can get at it.
    let copy = directory.join("program");
    fs::copy(PROGRAM, &copy).expect("it can be copied");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let rights = fs::metadata(closed).expect("it is there").permissions();
    fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).expect("it is ours");
    let mut command = std::process::Command::new(copy);
    command.args(arguments).current_dir(directory);
    // The superuser reads everything: become somebody else.
    if fs::read(closed).is_ok() || fs::read_dir(closed).is_ok() {
        command.uid(65534).gid(65534);
    }
    let output = loop {
        match command.output() {
            // Another test's child still holds the copy, from before it became what it is.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("it starts"),
        }
    };
    fs::set_permissions(closed, rights).expect("it is ours");
    output.into()
}
