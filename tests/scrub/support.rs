//! An observer that keeps what it is told, files to scrub, and processes of their own for what needs one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use membrane_codec::scrub::{FileReport, FileStamp, FileVerdict, FoundFile, Observer, ScrubSummary, Scrubber};
use membrane_codec::{Digest, Error, FrameReader, PayloadIdentity, parse_canonical};
use tempfile::TempDir;

/// The length of a file's buffer, at whose borders mistakes would lie.
pub(crate) const BUFFER_LEN: usize = 256 * 1024;

/// A verdict that can be kept and compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Sound(Digest),
    Damaged(Error),
    Unreadable(io::ErrorKind, String),
    Vanished,
}

/// What a scrub told of one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) path: PathBuf,
    pub(crate) verdict: Verdict,
    /// Identity and payload_len.
    pub(crate) claims: Option<(PayloadIdentity, u64)>,
    pub(crate) bytes_read: u64,
    pub(crate) changed: bool,
    pub(crate) stamp: Option<FileStamp>,
    pub(crate) may_hide_files: bool,
}

impl Told {
    fn new(report: &FileReport<'_>) -> Self {
        let verdict = match report.verdict() {
            FileVerdict::Sound { payload_digest } => Verdict::Sound(payload_digest),
            FileVerdict::Damaged(error) => Verdict::Damaged(error),
            FileVerdict::Unreadable(error) => Verdict::Unreadable(error.kind(), error.to_string()),
            FileVerdict::Vanished => Verdict::Vanished,
            other => panic!("another kind of verdict: {other:?}"),
        };
        Self {
            path: report.path(),
            verdict,
            claims: report.claims().map(|claims| (claims.identity.to_identity(), claims.payload_len)),
            bytes_read: report.bytes_read(),
            changed: report.changed_while_read(),
            stamp: report.stamp(),
            may_hide_files: report.may_hide_files(),
        }
    }
}

/// Keeps what it is told.
pub(crate) struct Log<'f> {
    told: Mutex<Vec<Told>>,
    read: AtomicU64,
    selects: Box<dyn Fn(&FoundFile<'_>) -> bool + Send + Sync + 'f>,
    /// After each piece, with the number of bytes so far.
    after_read: Box<dyn Fn(u64) + Send + Sync + 'f>,
    stops: Box<dyn Fn() -> bool + Send + Sync + 'f>,
}

impl<'f> Log<'f> {
    pub(crate) fn new() -> Self {
        Self {
            told: Mutex::default(),
            read: AtomicU64::new(0),
            selects: Box::new(|_| true),
            after_read: Box::new(|_| {}),
            stops: Box::new(|| false),
        }
    }

    pub(crate) fn selects(mut self, selects: impl Fn(&FoundFile<'_>) -> bool + Send + Sync + 'f) -> Self {
        self.selects = Box::new(selects);
        self
    }

    pub(crate) fn after_read(mut self, after_read: impl Fn(u64) + Send + Sync + 'f) -> Self {
        self.after_read = Box::new(after_read);
        self
    }

    pub(crate) fn stops(mut self, stops: impl Fn() -> bool + Send + Sync + 'f) -> Self {
        self.stops = Box::new(stops);
        self
    }

    /// How many bytes were read.
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// How many verdicts there are.
    pub(crate) fn count(&self) -> usize {
        self.told.lock().expect("nobody panicked").len()
    }

    /// What was told, in the order of the paths.
    pub(crate) fn told(self) -> Vec<Told> {
        let mut told = self.told.into_inner().expect("nobody panicked");
        told.sort_by(|one, other| one.path.cmp(&other.path));
        told
    }
}

impl Observer for Log<'_> {
    fn verdict(&self, report: &FileReport<'_>) {
        let told = Told::new(report);
        self.told.lock().expect("nobody panicked").push(told);
    }

    fn selects(&self, file: &FoundFile<'_>) -> bool {
        (self.selects)(file)
    }

    fn read(&self, bytes: u64) {
        (self.after_read)(self.read.fetch_add(bytes, Ordering::Relaxed) + bytes);
    }

    fn stops(&self) -> bool {
        (self.stops)()
    }
}

/// Scrubs one path; the summary, and what was told in the order of the paths.
pub(crate) fn scrub(scrubber: &Scrubber, path: impl Into<PathBuf>) -> (ScrubSummary, Vec<Told>) {
    scrub_all(scrubber, [path.into()])
}

pub(crate) fn scrub_all(
    scrubber: &Scrubber,
    paths: impl IntoIterator<Item = PathBuf, IntoIter: Send>,
) -> (ScrubSummary, Vec<Told>) {
    let log = Log::new();
    let summary = scrubber.run(paths, &log);
    assert!(!summary.stopped);
    let read = log.read();
    let told = log.told();
    assert_eq!(told.iter().map(|told| told.bytes_read).sum::<u64>(), read);
    (summary, told)
}

/// The only file of a scrub.
pub(crate) fn scrub_one(scrubber: &Scrubber, path: impl Into<PathBuf>) -> Told {
    let (_, told) = scrub(scrubber, path);
    let [told] = told.try_into().expect("one file");
    told
}

/// Scrubbers of one, two and five threads, through the page cache and past it.
pub(crate) fn scrubbers() -> impl Iterator<Item = Scrubber> {
    let threads = |direct| [1, 2, 5].map(|threads| Scrubber::new().threads(threads).direct(direct));
    [false, true].into_iter().flat_map(threads)
}

/// What a slice of these bytes gets: the verdict, and what the frame says of itself when it can be read.
pub(crate) fn slice_says(bytes: &[u8]) -> (Verdict, Option<(PayloadIdentity, u64)>) {
    let verdict = match parse_canonical(bytes) {
        Ok(frame) => Verdict::Sound(frame.payload_digest()),
        Err(error) => Verdict::Damaged(error),
    };
    let claims = FrameReader::new().max_identity_len(u32::MAX).open(bytes).ok().map(|stream| {
        let identity = stream.identity().expect("it was checked").to_identity();
        (identity, stream.payload_len())
    });
    (verdict, claims)
}

/// Names of paths, for what a scrub told of several.
pub(crate) fn names(told: &[Told]) -> Vec<String> {
    told.iter().map(|told| told.path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
}

pub(crate) fn is_sound(told: &Told) -> bool {
    matches!(told.verdict, Verdict::Sound(_))
}

pub(crate) fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A new file of this name, with the directories above it.
pub(crate) fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("room");
    fs::write(&path, bytes).expect("room");
    path
}

/// Bytes without a pattern that a mistake could fit.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    use rand::{Rng, SeedableRng};
    let mut bytes = vec![0; len];
    rand_chacha::ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// Runs one of the ignored tests of this file in a process of its own. What it is to work on goes by the environment.
pub(crate) fn child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command
}

/// The path that a process was told to work on.
pub(crate) fn given_path() -> PathBuf {
    std::env::var_os(GIVEN_PATH).expect("started by another test").into()
}

pub(crate) const GIVEN_PATH: &str = "SCRUB_PATH";
