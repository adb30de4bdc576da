//! Runs the built program, and frames to run it on.

#![allow(dead_code)]

mod small_disk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};

use assert_cmd::Command;
use membrane_codec::{PayloadIdentity, canonicalize, sha256};
use serde_json::Value;
use tempfile::TempDir;

#[allow(unused_imports, reason = "each test takes what it needs")]
pub(crate) use self::small_disk::SmallDisk;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_membrane-codec");

pub(crate) fn program() -> Command {
    Command::new(PROGRAM)
}

/// The program, which may open so many files at once.
pub(crate) fn program_within(open_files: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n \"$1\" && shift && exec \"$@\"", "sh", open_files, PROGRAM]);
    command
}

/// What a run gave: exit status, standard output, standard error.
#[derive(Debug)]
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
    lines.sort_by_key(|line| line["path"].as_str().map(|path| (path.to_owned(), line["offset"].as_u64())));
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

/// Writes one frame for each payload, under its key in `directory`; written an hour ago, as a store's are. Their paths,
/// from `directory` on.
pub(crate) fn write_store(directory: &Path, payloads: impl IntoIterator<Item = Vec<u8>>) -> Vec<String> {
    let write = |payload: Vec<u8>| {
        let key = sha256(&payload).to_string();
        let path = format!("store/{}/{key}.blob", &key[..2]);
        let full = directory.join(&path);
        fs::create_dir_all(full.parent().expect("a directory")).expect("it is ours");
        fs::write(&full, frame_of(&payload)).expect("it can be written");
        age(&full, Duration::from_secs(3600));
        path
    };
    payloads.into_iter().map(write).collect()
}

/// Small payloads, all different.
pub(crate) fn small_payloads(count: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|number| format!("payload {number}").into_bytes())
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("it is ours");
}

/// Makes a file look as if it had been written so long ago.
pub(crate) fn age(path: &Path, by: Duration) {
    let file = fs::OpenOptions::new().write(true).open(path).expect("it opens");
    file.set_modified(SystemTime::now() - by).expect("it is ours");
}

/// Changes a byte of the payload.
pub(crate) fn damage(path: &Path) {
    let mut frame = fs::read(path).expect("it is there");
    let at = frame.len() - 9;
    frame[at] ^= 1;
    fs::write(path, frame).expect("it can be written");
}

/// The program at work. What it prints goes to files, so that it never waits for a reader.
#[cfg(unix)]
pub(crate) struct Running {
    child: std::process::Child,
    printed: TempDir,
}

#[cfg(unix)]
impl Running {
    pub(crate) fn start(arguments: &[&str], directory: &Path) -> Self {
        let printed = tempfile::tempdir().expect("a temporary directory");
        let create = |name| fs::File::create(printed.path().join(name)).expect("it can be created");
        let mut command = std::process::Command::new(PROGRAM);
        command.args(arguments).current_dir(directory).stdout(create("stdout")).stderr(create("stderr"));
        let child = command.stdin(std::process::Stdio::null()).spawn().expect("it starts");
        Self { child, printed }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What was printed up to now.
    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.printed.path().join("stdout")).expect("text")
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.printed.path().join("stderr")).expect("text")
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_some()
    }

    pub(crate) fn wait(mut self) -> Run {
        let status = self.child.wait().expect("it ends").code();
        Run { status, stdout: self.stdout(), stderr: self.stderr() }
    }
}

/// The lines of `--json` that were printed to their end; of a run that was killed, too.
pub(crate) fn whole_lines(stdout: &str) -> Vec<Value> {
    let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// The paths of lines with this status.
pub(crate) fn paths_with(lines: &[Value], status: &str) -> Vec<String> {
    let with = lines.iter().filter(|line| line["status"] == status);
    with.map(|line| line["path"].as_str().expect("a path").to_owned()).collect()
}
