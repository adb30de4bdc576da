//! Envelopes in files: JSON documents and JSON Lines.

use std::collections::HashMap;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::document::EnvelopeCounts;
use super::envelope::EnvelopeMigrator;
use super::envelope_file::{EnvelopeFile, Telling, Told};
use super::leftovers::{ABOUT_SPECIAL_FILES, Leftovers, Met, Stop};
use super::observer::EnvelopeObserver;
use super::report::{EnvelopeFate, EnvelopeFileReport, MigrationSummary};
use super::rewrite::Rewrite;
use super::temporary::is_leftover;
use crate::frame::Accepts;
use crate::scrub::{
    Entry, FileReport, FileStamp, FileVerdict, FoundFile, FrameFile, Observer, Preparation, Prepared, Scrubber, Survey,
    Terms, is_out_of_files, is_temporary,
};
use crate::tenant::TenantId;

/// Converts the envelopes in files to v5 (specification, section 7), as [`EnvelopeMigrator`] converts one.
///
/// A file holds JSON values one after another, one in each line or over many, each an envelope or an array of them. One that
/// is JSON throughout and no longer than [`max_document_len`](EnvelopeFileMigrator::max_document_len) is taken as a whole.
/// Any other is taken line by line, if one of its lines, as far as that length reaches, is an object by itself, or the first
/// one alone is longer: memory is then bounded by that length, a longer line is refused, and so is each line that is not JSON.
/// If none is, the file is refused as a whole.
///
/// What is refused stays, and so does everything that is not an old envelope, byte for byte: other JSON, blank lines, the
/// ends of lines and of the file. A file without old envelopes is not written. One with some is written anew beside itself,
/// read again and compared with what was to be written, and then takes the old one's place under the conditions of
/// [`FrameMigrator`](super::FrameMigrator): above all, no writer may have the files open meanwhile, or what it writes later is
/// lost.
///
/// Cost: three passes over the text to find the old envelopes, and three more over each of these; to write, another to copy
/// and one to compare.
#[derive(Clone, Debug)]
pub struct EnvelopeFileMigrator {
    scrubber: Scrubber,
    tenant: TenantId,
    max_document_len: u64,
    write: bool,
}

impl EnvelopeFileMigrator {
    /// The longest document, or line, unless [`EnvelopeFileMigrator::max_document_len`] sets another: 64 MiB.
    pub const DEFAULT_MAX_DOCUMENT_LEN: u64 = 64 * 1024 * 1024;

    /// A migrator that only says what it would do, takes `*.json`, `*.jsonl` and `*.ndjson` in directories, and gives
    /// envelopes without a tenant to this one.
    pub fn new(tenant: TenantId) -> Self {
        Self { scrubber: Scrubber::new(), tenant, max_document_len: Self::DEFAULT_MAX_DOCUMENT_LEN, write: false }
    }

    /// Whether to convert. Without this, a dry run: everything is read, nothing written.
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// The number of threads, each with a file of its own; 0 is taken for 1. By default as many as there are cores.
    pub fn threads(mut self, threads: usize) -> Self {
        self.scrubber = self.scrubber.threads(threads);
        self
    }

    /// Reads at most this many bytes per second, all threads together. `None`: as fast as it goes.
    pub fn limit_rate(mut self, bytes_per_second: Option<NonZeroU64>) -> Self {
        self.scrubber = self.scrubber.limit_rate(bytes_per_second);
        self
    }

    /// The longest document that is taken as a whole, and the longest line, in bytes. Each thread needs some times as much
    /// memory.
    pub fn max_document_len(mut self, bytes: u64) -> Self {
        self.max_document_len = bytes;
        self
    }

    /// Migrates the files at `paths` and those below the directories among them, and tells `observer`. Returns when all is
    /// done or the observer stops it. A file is looked at once, however many of the paths lead to where it lies.
    ///
    /// # Panics
    /// When the observer or `paths` does.
    pub fn run<P, O>(&self, paths: P, observer: &O) -> MigrationSummary
    where
        P: IntoIterator<Item = PathBuf>,
        P::IntoIter: Send,
        O: EnvelopeObserver + ?Sized,
    {
        let run = Run { options: self, observer, leftovers: Leftovers::new(self.write), put_off: Mutex::default() };
        let takes = |name: &[u8]| is_named_as_json(name) || is_leftover(name);
        let terms = Terms {
            accepts: Accepts::Current,
            takes,
            each_once: true,
            about_special_files: ABOUT_SPECIAL_FILES,
            preparation: &run,
        };
        let summary = self.scrubber.run_on(&terms, paths, &run);
        run.leftovers.into_summary(&summary)
    }

    /// Counts the files that a run would look at and their lengths.
    pub fn survey<P>(&self, paths: P, stops: impl Fn() -> bool + Sync) -> Survey
    where
        P: IntoIterator<Item = PathBuf>,
    {
        self.scrubber.survey_of(is_named_as_json, true, paths, &Stop(stops))
    }
}

fn is_named_as_json(name: &[u8]) -> bool {
    let extensions: [&[u8]; 3] = [b".json", b".jsonl", b".ndjson"];
    let has = |extension: &&[u8]| name.len() > extension.len() && name.ends_with(extension);
    !is_temporary(name) && extensions.iter().any(has)
}

struct Run<'r, O: ?Sized> {
    options: &'r EnvelopeFileMigrator,
    observer: &'r O,
    leftovers: Leftovers,
    /// What was told of files that are to be opened again, by device and inode.
    put_off: Mutex<HashMap<(u64, u64), (FileStamp, Told)>>,
}

impl<O: EnvelopeObserver + ?Sized> Run<'_, O> {
    fn put_off(&self) -> MutexGuard<'_, HashMap<(u64, u64), (FileStamp, Told)>> {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was told of this file before, if it is what it was then.
    fn told_before(&self, stamp: FileStamp) -> Told {
        let before = self.put_off().remove(&(stamp.device, stamp.inode));
        before.filter(|(was, _)| *was == stamp).map_or(Told::default(), |(_, told)| told)
    }
}

impl<O: EnvelopeObserver + ?Sized> Preparation for Run<'_, O> {
    fn prepare(&self, entry: &Entry, file: FrameFile, passed: &dyn Fn(u64) -> bool) -> io::Result<Prepared> {
        let found = FoundFile::new(entry, false);
        let stamp = file.stamp();
        let tell = |fate, counts, links| {
            self.observer.file(&EnvelopeFileReport { file: &found, fate, counts, len: stamp.len, links });
        };
        match self.leftovers.meet(entry) {
            Met::Another => self.leftovers.look_beside(entry, |left, error| {
                let (file, fate, counts) =
                    (&FoundFile::new(left, false), EnvelopeFate::Failed(error), EnvelopeCounts::default());
                self.observer.file(&EnvelopeFileReport { file, fate, counts, len: 0, links: 1 });
            })?,
            Met::Leftover => return Ok(Prepared::Settled),
            Met::Somebodys(error) => {
                tell(EnvelopeFate::Failed(&error), EnvelopeCounts::default(), 1);
                return Ok(Prepared::Settled);
            }
        }
        let source = file.as_fd().try_clone_to_owned()?.into();
        let telling = Telling::new(self.observer, &found, self.told_before(stamp));
        let mut work = EnvelopeFile {
            source: &source,
            cap: self.options.max_document_len,
            write: self.options.write,
            migrator: EnvelopeMigrator::new(self.options.tenant.clone()),
            counts: EnvelopeCounts::default(),
            rewrite: Rewrite::new(entry, file, &source),
            telling,
            passed,
        };
        let done = work.migrate(stamp.len);
        let EnvelopeFile { counts, rewrite, telling, .. } = work;
        let finished = match done {
            Ok(false) => return Ok(Prepared::NotYet),
            Ok(true) => rewrite.finish(),
            Err(error) => Err(error),
        };
        match finished {
            Ok(Some(links)) => tell(EnvelopeFate::Converted, counts, links),
            Ok(None) if counts.old() > 0 => tell(EnvelopeFate::Convertible, counts, 1),
            Ok(None) => tell(EnvelopeFate::Unchanged, counts, 1),
            // To be tried again when others are closed.
            Err(error) if is_out_of_files(&error) => {
                self.put_off().insert((stamp.device, stamp.inode), (stamp, telling.told()));
                return Err(error);
            }
            Err(error) => tell(EnvelopeFate::Failed(&error), counts, 1),
        }
        Ok(Prepared::Settled)
    }
}

impl<O: EnvelopeObserver + ?Sized> Observer for Run<'_, O> {
    /// Nothing is left to a verdict: this is what could not be opened.
    fn verdict(&self, report: &FileReport<'_>) {
        let file = report.file();
        let tell = |fate| {
            let counts = EnvelopeCounts::default();
            self.observer.file(&EnvelopeFileReport { file: &file, fate, counts, len: 0, links: 1 });
        };
        match report.verdict() {
            FileVerdict::Vanished => tell(EnvelopeFate::Vanished),
            FileVerdict::Unreadable(error) => tell(EnvelopeFate::Failed(error)),
            _ => {}
        }
    }

    fn stops(&self) -> bool {
        self.observer.stops()
    }
}
