//! Envelopes in files: JSON documents and JSON Lines.

use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::document::{EnvelopeCounts, is_object, migrate_document};
use super::envelope::EnvelopeMigrator;
use super::leftovers::{Leftovers, Met, Stop};
use super::replacement::outdated;
use super::report::{EnvelopeFate, EnvelopeFileReport, EnvelopeObserver, MigrationSummary, Refusal};
use super::rewrite::Rewrite;
use super::temporary::is_leftover;
use crate::error::Error;
use crate::frame::Accepts;
use crate::scrub::{
    Entry, FileReport, FileVerdict, FoundFile, FrameFile, Observer, Preparation, Prepared, Scrubber, Survey, Terms,
    is_temporary,
};
use crate::tenant::TenantId;

/// Converts the envelopes in files to v5 (specification, section 7), as [`EnvelopeMigrator`] converts one.
///
/// A file holds JSON values one after another, one in each line or over many, each an envelope or an array of them. One that
/// is JSON throughout and no longer than [`max_document_len`](EnvelopeFileMigrator::max_document_len) is taken as a whole.
/// Any other is taken line by line, if one of its first two lines is an object by itself: memory is then bounded by that
/// length, a longer line is refused, and so is each line that is not JSON.
///
/// What is refused stays, and so does everything that is not an old envelope, byte for byte: other JSON, blank lines, the
/// ends of lines and of the file. A file without old envelopes is not written. One with some is written anew beside itself,
/// read again and compared with what was to be written, and then takes the old one's place under the conditions of
/// [`FrameMigrator`](super::FrameMigrator).
///
/// Cost: three passes over the text to read it; to write, another to copy and one to compare.
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
    /// done or the observer stops it.
    ///
    /// # Panics
    /// When the observer or `paths` does.
    pub fn run<P, O>(&self, paths: P, observer: &O) -> MigrationSummary
    where
        P: IntoIterator<Item = PathBuf>,
        P::IntoIter: Send,
        O: EnvelopeObserver,
    {
        let run = Run { options: self, observer, leftovers: Leftovers::new(self.write) };
        let takes = |name: &[u8]| is_named_as_json(name) || is_leftover(name);
        let terms = Terms { accepts: Accepts::Current, takes, preparation: &run };
        let summary = self.scrubber.run_on(&terms, paths, &run);
        run.leftovers.into_summary(&summary)
    }

    /// Counts the files that a run would look at and their lengths.
    pub fn survey<P>(&self, paths: P, stops: impl Fn() -> bool + Sync) -> Survey
    where
        P: IntoIterator<Item = PathBuf>,
    {
        self.scrubber.survey_of(is_named_as_json, paths, &Stop(stops))
    }
}

fn is_named_as_json(name: &[u8]) -> bool {
    let extensions: [&[u8]; 3] = [b".json", b".jsonl", b".ndjson"];
    let has = |extension: &&[u8]| name.len() > extension.len() && name.ends_with(extension);
    !is_temporary(name) && extensions.iter().any(has)
}

struct Run<'r, O> {
    options: &'r EnvelopeFileMigrator,
    observer: &'r O,
    leftovers: Leftovers,
}

impl<O: EnvelopeObserver> Preparation for Run<'_, O> {
    fn prepare(&self, entry: &Entry, file: FrameFile, passed: &dyn Fn(u64) -> bool) -> io::Result<Prepared> {
        let found = FoundFile::new(entry, false);
        let len = file.stamp().len;
        match self.leftovers.meet(entry) {
            Met::Another => {}
            Met::Leftover => return Ok(Prepared::Settled),
            Met::Somebodys(error) => {
                let (fate, counts) = (EnvelopeFate::Failed(&error), EnvelopeCounts::default());
                self.observer.file(&EnvelopeFileReport { file: &found, fate, counts, len });
                return Ok(Prepared::Settled);
            }
        }
        let source = file.as_fd().try_clone_to_owned()?.into();
        let mut work = Work {
            run: self,
            found: &found,
            source: &source,
            migrator: EnvelopeMigrator::new(self.options.tenant.clone()),
            counts: EnvelopeCounts::default(),
            rewrite: Rewrite::new(entry, file, &source),
            passed,
        };
        let done = work.migrate(len);
        let Work { counts, rewrite, .. } = work;
        let tell = |fate| self.observer.file(&EnvelopeFileReport { file: &found, fate, counts, len });
        let finished = match done {
            Ok(false) => return Ok(Prepared::NotYet),
            Ok(true) => rewrite.finish(),
            Err(error) => Err(error),
        };
        match finished {
            Ok(true) => tell(EnvelopeFate::Converted),
            Ok(false) if counts.old() > 0 => tell(EnvelopeFate::Convertible),
            Ok(false) => tell(EnvelopeFate::Unchanged),
            Err(error) => tell(EnvelopeFate::Failed(&error)),
        }
        Ok(Prepared::Settled)
    }
}

impl<O: EnvelopeObserver> Observer for Run<'_, O> {
    /// Nothing is left to a verdict: this is what could not be opened.
    fn verdict(&self, report: &FileReport<'_>) {
        let file = report.file();
        let tell = |fate| {
            self.observer.file(&EnvelopeFileReport { file: &file, fate, counts: EnvelopeCounts::default(), len: 0 });
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

/// One file at work.
struct Work<'w, O> {
    run: &'w Run<'w, O>,
    found: &'w FoundFile<'w>,
    source: &'w std::fs::File,
    migrator: EnvelopeMigrator,
    counts: EnvelopeCounts,
    rewrite: Rewrite<'w>,
    passed: &'w dyn Fn(u64) -> bool,
}

impl<O: EnvelopeObserver> Work<'_, O> {
    /// Whether it came to its end; the observer may stop it before.
    fn migrate(&mut self, len: u64) -> io::Result<bool> {
        let cap = self.run.options.max_document_len;
        let whole = if len <= cap {
            let mut document = Vec::new();
            At::start(self.source).take(cap + 1).read_to_end(&mut document)?;
            if document.len() as u64 > cap {
                return Err(outdated());
            }
            match self.migrate_piece(&document, 1)? {
                Ok(()) => return Ok(self.pass(document.len() as u64)),
                Err(error) => Some((line_of(&document, error.offset()), error)),
            }
        } else {
            None
        };
        if self.is_in_lines(cap)? {
            return self.migrate_lines(cap);
        }
        match whole {
            Some((line, error)) => self.refuse(line, Refusal::Invalid(error)),
            None => self.refuse(1, Refusal::TooLong { cap }),
        }
        Ok(self.pass(len))
    }

    /// Converts what is in a piece that starts in this line, and passes it on.
    fn migrate_piece(&mut self, piece: &[u8], first_line: u64) -> io::Result<Result<(), Error>> {
        let Self { run, found, migrator, .. } = self;
        let refused = |start: usize, error: Error| {
            let line = first_line + line_of(piece, start as u64) - 1;
            run.observer.refused(found, line, &Refusal::Invalid(error));
        };
        let migrated = match migrate_document(migrator, piece, refused) {
            Ok(migrated) => migrated,
            Err(error) => return Ok(Err(error)),
        };
        self.counts.add(migrated.counts);
        match migrated.text.filter(|_| self.run.options.write) {
            Some(text) => self.rewrite.replace(text.as_bytes())?,
            None => self.rewrite.keep(piece)?,
        }
        Ok(Ok(()))
    }

    /// Whether one of the first two lines that are not blank is an object by itself.
    fn is_in_lines(&self, cap: u64) -> io::Result<bool> {
        let mut lines = BufReader::new(At::start(self.source));
        let mut seen = 0;
        while seen < 2 {
            let mut line = Vec::new();
            if lines.by_ref().take(cap).read_until(b'\n', &mut line)? == 0 {
                return Ok(false);
            }
            if is_object(&line) {
                return Ok(true);
            }
            seen += u32::from(!line.trim_ascii().is_empty());
        }
        Ok(false)
    }

    fn migrate_lines(&mut self, cap: u64) -> io::Result<bool> {
        let mut lines = BufReader::new(At::start(self.source));
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if lines.by_ref().take(cap).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.len() as u64 == cap && line.last() != Some(&b'\n') && !lines.fill_buf()?.is_empty() {
                self.refuse(number, Refusal::TooLong { cap });
                if !self.keep_rest_of_line(&line, &mut lines)? {
                    return Ok(false);
                }
                continue;
            }
            if let Err(error) = self.migrate_piece(&line, number)? {
                self.refuse(number, Refusal::Invalid(error));
                self.rewrite.keep(&line)?;
            }
            if !self.pass(line.len() as u64) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes on a line that is too long, of which `start` was read; whether to go on.
    fn keep_rest_of_line(&mut self, start: &[u8], lines: &mut impl BufRead) -> io::Result<bool> {
        self.rewrite.keep(start)?;
        if !self.pass(start.len() as u64) {
            return Ok(false);
        }
        loop {
            let some = lines.fill_buf()?;
            let end = memchr::memchr(b'\n', some).map(|at| at + 1);
            let len = end.unwrap_or(some.len());
            self.rewrite.keep(&some[..len])?;
            lines.consume(len);
            if !self.pass(len as u64) {
                return Ok(false);
            }
            if end.is_some() || len == 0 {
                return Ok(true);
            }
        }
    }

    fn refuse(&mut self, line: u64, why: Refusal) {
        self.counts.refused += 1;
        self.run.observer.refused(self.found, line, &why);
    }

    /// Tells that so many bytes were done; whether to go on.
    fn pass(&self, bytes: u64) -> bool {
        self.run.observer.advanced(bytes);
        (self.passed)(bytes)
    }
}

/// The number of the line that holds this byte, from 1.
fn line_of(text: &[u8], offset: u64) -> u64 {
    let offset = usize::try_from(offset).unwrap_or(text.len()).min(text.len());
    1 + memchr::memchr_iter(b'\n', &text[..offset]).count() as u64
}

/// A file from its start, whatever else reads it.
struct At<'f> {
    file: &'f std::fs::File,
    offset: u64,
}

impl<'f> At<'f> {
    fn start(file: &'f std::fs::File) -> Self {
        Self { file, offset: 0 }
    }
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(buffer, self.offset)?;
        self.offset += got as u64;
        Ok(got)
    }
}
