//! Frames of older versions, and an observer that keeps what it is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use membrane_codec::Error;
use membrane_codec::migrate::{
    FrameFate, FrameFileReport, FrameMigrator, FrameObserver, FrameVersion, MigrationSummary,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::samples::frame_of;

/// The first six bytes of each version that is converted.
pub(crate) const OLD_STARTS: [(FrameVersion, [u8; 6]); 4] = [
    (FrameVersion::V2, [0xC0, 0xDE, 0x01, 0x02, 2, 0]),
    (FrameVersion::V4, [0xC0, 0xDE, 0x01, 0x04, 4, 0]),
    (FrameVersion::V5OverSchema2, [0xC0, 0xDE, 0x01, 0x05, 2, 0]),
    (FrameVersion::V5OverSchema4, [0xC0, 0xDE, 0x01, 0x05, 4, 0]),
];

/// The same frame as an older version wrote it.
pub(crate) fn as_version(version: FrameVersion, mut frame: Vec<u8>) -> Vec<u8> {
    let (_, start) = OLD_STARTS.into_iter().find(|(of, _)| *of == version).expect("an old one");
    frame[..6].copy_from_slice(&start);
    frame
}

pub(crate) fn v4_of(payload: &[u8]) -> Vec<u8> {
    as_version(FrameVersion::V4, frame_of(payload))
}

pub(crate) fn vectors() -> Vec<Value> {
    let path = format!("{}/fixtures/vectors/migrations.json", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the vectors are JSON")
}

/// Name, bytes before, and bytes after, none when the frame is to be refused, of each case about a frame.
pub(crate) fn frame_vectors() -> Vec<(String, Vec<u8>, Option<Vec<u8>>)> {
    let bytes = |hex: &Value| base16ct::mixed::decode_vec(hex.as_str().expect("text")).expect("hexadecimal");
    let cases: Vec<_> = vectors().into_iter().filter(|case| case.get("before_hex").is_some()).collect();
    assert_eq!(cases.len(), 39);
    let case = |case: &Value| {
        let after = Some(&case["after_hex"]).filter(|after| !after.is_null()).map(bytes);
        (case["name"].as_str().expect("a name").to_owned(), bytes(&case["before_hex"]), after)
    };
    cases.iter().map(case).collect()
}

/// A fate that can be kept and compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    Current,
    Convertible(FrameVersion),
    Converted(FrameVersion),
    Refused(Error),
    Failed(String),
    Vanished,
}

/// Keeps what it is told, and does something while files are read.
pub(crate) struct Log<'f> {
    told: Mutex<Vec<(PathBuf, Fate)>>,
    links: Mutex<Vec<u64>>,
    on_advance: Box<dyn Fn() + Sync + 'f>,
    stops: Box<dyn Fn(usize) -> bool + Sync + 'f>,
}

impl<'f> Log<'f> {
    pub(crate) fn new() -> Self {
        Self {
            told: Mutex::default(),
            links: Mutex::default(),
            on_advance: Box::new(|| {}),
            stops: Box::new(|_| false),
        }
    }

    pub(crate) fn on_advance(mut self, on_advance: impl Fn() + Sync + 'f) -> Self {
        self.on_advance = Box::new(on_advance);
        self
    }

    /// Stops by the number of reports so far.
    pub(crate) fn stops(mut self, stops: impl Fn(usize) -> bool + Sync + 'f) -> Self {
        self.stops = Box::new(stops);
        self
    }

    /// What was told, in the order of the paths.
    pub(crate) fn told(self) -> Vec<(PathBuf, Fate)> {
        let mut told = self.told.into_inner().expect("nobody panicked");
        told.sort_by(|one, other| one.0.cmp(&other.0));
        told
    }

    /// How many names converted files had.
    pub(crate) fn links(&self) -> Vec<u64> {
        self.links.lock().expect("nobody panicked").clone()
    }
}

impl FrameObserver for Log<'_> {
    fn file(&self, report: &FrameFileReport<'_>) {
        let version = || report.version().expect("its header was read");
        let fate = match report.fate() {
            FrameFate::Current => Fate::Current,
            FrameFate::Convertible => Fate::Convertible(version()),
            FrameFate::Converted => {
                self.links.lock().expect("nobody panicked").push(report.links());
                Fate::Converted(version())
            }
            FrameFate::Refused(error) => Fate::Refused(error),
            FrameFate::Failed(error) => Fate::Failed(error.to_string()),
            FrameFate::Vanished => Fate::Vanished,
            other => panic!("another fate: {other:?}"),
        };
        self.told.lock().expect("nobody panicked").push((report.path(), fate));
    }

    fn advanced(&self, _: u64) {
        (self.on_advance)();
    }

    fn stops(&self) -> bool {
        (self.stops)(self.told.lock().expect("nobody panicked").len())
    }
}

pub(crate) fn migrate(migrator: &FrameMigrator, path: &Path) -> (MigrationSummary, Vec<(PathBuf, Fate)>) {
    let log = Log::new();
    let summary = migrator.run([path.to_owned()], &log);
    assert!(!summary.stopped);
    (summary, log.told())
}

/// Writing migrators of one, two and five threads.
pub(crate) fn writers() -> impl Iterator<Item = FrameMigrator> {
    [1, 2, 5].into_iter().map(|threads| FrameMigrator::new().write(true).threads(threads))
}

pub(crate) fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

pub(crate) fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("room");
    fs::write(&path, bytes).expect("room");
    path
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("it is there")
}

/// The names in a directory, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("it can be read").file_name();
    let names = fs::read_dir(directory).expect("a directory").map(name);
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Bytes without a pattern that a mistake could fit.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    use rand::{Rng, SeedableRng};
    let mut bytes = vec![0; len];
    rand_chacha::ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}
