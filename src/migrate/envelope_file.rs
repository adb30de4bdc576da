//! One file of envelopes at work.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

use super::document::{EnvelopeCounts, is_object, migrate_document};
use super::envelope::EnvelopeMigrator;
use super::observer::EnvelopeObserver;
use super::replacement::outdated;
use super::report::Refusal;
use super::rewrite::Rewrite;
use crate::error::Error;
use crate::scrub::FoundFile;

/// A file, and what is done to it.
pub(super) struct EnvelopeFile<'w, O: ?Sized> {
    pub(super) source: &'w File,
    /// The longest document, and the longest line.
    pub(super) cap: u64,
    pub(super) write: bool,
    pub(super) migrator: EnvelopeMigrator,
    pub(super) counts: EnvelopeCounts,
    pub(super) rewrite: Rewrite<'w>,
    pub(super) telling: Telling<'w, O>,
    /// Is told of what was read, for the rate; whether to go on.
    pub(super) passed: &'w dyn Fn(u64) -> bool,
}

/// How much was told of a file.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    refusals: u64,
    bytes: u64,
}

/// Tells the observer of a file what it was not told before, when the same file was begun and put off.
pub(super) struct Telling<'w, O: ?Sized> {
    observer: &'w O,
    found: &'w FoundFile<'w>,
    before: Told,
    now: Told,
}

impl<'w, O: EnvelopeObserver + ?Sized> Telling<'w, O> {
    pub(super) fn new(observer: &'w O, found: &'w FoundFile<'w>, before: Told) -> Self {
        Self { observer, found, before, now: Told::default() }
    }

    pub(super) fn told(&self) -> Told {
        let Self { before, now, .. } = self;
        Told { refusals: before.refusals.max(now.refusals), bytes: before.bytes.max(now.bytes) }
    }

    fn refused(&mut self, line: u64, why: &Refusal) {
        self.now.refusals += 1;
        if self.now.refusals > self.before.refusals {
            self.observer.refused(self.found, line, why);
        }
    }

    fn advanced(&mut self, bytes: u64) {
        let told = self.told().bytes;
        self.now.bytes += bytes;
        if self.now.bytes > told {
            self.observer.advanced(self.now.bytes - told);
        }
    }
}

/// What became of a piece of text.
enum Piece {
    /// It was passed on.
    Done,
    NotJson(Error),
    /// The observer wants no more.
    Stopped,
}

impl<O: EnvelopeObserver + ?Sized> EnvelopeFile<'_, O> {
    /// Whether it came to its end; the observer may stop it before.
    pub(super) fn migrate(&mut self, len: u64) -> io::Result<bool> {
        let cap = self.cap;
        let whole = if len <= cap {
            let mut document = Vec::new();
            At::start(self.source).take(cap.saturating_add(1)).read_to_end(&mut document)?;
            if document.len() as u64 > cap {
                return Err(outdated());
            }
            if !(self.passed)(document.len() as u64) {
                return Ok(false);
            }
            match self.migrate_piece(&document, 1)? {
                Piece::Done => return Ok(self.done_with(len)),
                Piece::Stopped => return Ok(false),
                Piece::NotJson(error) => Some(in_its_line(&document, error)),
            }
        } else {
            None
        };
        match (self.is_in_lines()?, whole) {
            (None, _) => return Ok(false),
            (Some(true), _) => return self.migrate_lines(),
            (Some(false), Some((line, error))) => self.refuse(line, &Refusal::Invalid(error)),
            (Some(false), None) => self.refuse(1, &Refusal::TooLong { cap }),
        }
        Ok(self.done_with(len))
    }

    /// Converts what is in a piece that starts in this line, and passes it on.
    fn migrate_piece(&mut self, piece: &[u8], first_line: u64) -> io::Result<Piece> {
        let Self { telling, migrator, passed, .. } = self;
        // They come in order: each line is counted once.
        let (mut counted, mut line) = (0, first_line);
        let refused = |start: usize, error: Error| {
            line += newlines(&piece[counted..start]);
            counted = start;
            telling.refused(line, &Refusal::Invalid(error));
        };
        let migrated = match migrate_document(migrator, piece, refused, || passed(0)) {
            Ok(Some(migrated)) => migrated,
            Ok(None) => return Ok(Piece::Stopped),
            Err(error) => return Ok(Piece::NotJson(error)),
        };
        self.counts.add(migrated.counts);
        match migrated.text.filter(|_| self.write) {
            Some(text) => self.rewrite.replace(text.as_bytes())?,
            None => self.rewrite.keep(piece)?,
        }
        Ok(Piece::Done)
    }

    /// Whether a line is an object by itself, of those within the longest document that is taken, or the first one alone is
    /// longer than that; `None` when the observer stops it.
    fn is_in_lines(&self) -> io::Result<Option<bool>> {
        let mut lines = Lines::new(self.source, self.cap);
        let mut line = Vec::new();
        let (mut read, mut seen) = (0, false);
        while read <= self.cap {
            let whole = lines.next(&mut line)?;
            if line.is_empty() {
                break;
            }
            if !(self.passed)(line.len() as u64) {
                return Ok(None);
            }
            let tells = if whole { is_object(&line) } else { !seen };
            if tells {
                return Ok(Some(true));
            }
            read += line.len() as u64;
            seen |= !line.trim_ascii().is_empty();
        }
        Ok(Some(false))
    }

    fn migrate_lines(&mut self) -> io::Result<bool> {
        let mut lines = Lines::new(self.source, self.cap);
        let mut line = Vec::new();
        for number in 1.. {
            let whole = lines.next(&mut line)?;
            if line.is_empty() {
                break;
            }
            if !whole {
                self.refuse(number, &Refusal::TooLong { cap: self.cap });
                self.rewrite.keep(&line)?;
            } else {
                match self.migrate_piece(&line, number)? {
                    Piece::Done => {}
                    Piece::Stopped => return Ok(false),
                    Piece::NotJson(error) => {
                        self.refuse(number, &Refusal::Invalid(error));
                        self.rewrite.keep(&line)?;
                    }
                }
            }
            if !self.pass(line.len() as u64) {
                return Ok(false);
            }
            while let Some(len) = lines.rest(|some| self.rewrite.keep(some))? {
                if !self.pass(len) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn refuse(&mut self, line: u64, why: &Refusal) {
        self.counts.refused += 1;
        self.telling.refused(line, why);
    }

    /// So many bytes were read and are done with; whether to go on.
    fn pass(&mut self, bytes: u64) -> bool {
        self.telling.advanced(bytes);
        (self.passed)(bytes)
    }

    /// So many bytes are done with, of which was told what was read; whether to go on.
    fn done_with(&mut self, bytes: u64) -> bool {
        self.telling.advanced(bytes);
        (self.passed)(0)
    }
}

/// A file line by line, none held beyond `cap` bytes and its end.
struct Lines<'f> {
    reader: BufReader<At<'f>>,
    cap: u64,
    /// The last one was given as far as it may be held, and goes on.
    goes_on: bool,
}

impl<'f> Lines<'f> {
    fn new(file: &'f File, cap: u64) -> Self {
        Self { reader: BufReader::new(At::start(file)), cap, goes_on: false }
    }

    /// The next line with its end, empty after the last one; whether that is all of it. If not, [`Lines::rest`] gives more.
    fn next(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let most = self.cap.saturating_add(1);
        self.reader.by_ref().take(most).read_until(b'\n', line)?;
        self.goes_on = line.len() as u64 == most && line.last() != Some(&b'\n');
        Ok(!self.goes_on)
    }

    /// Gives more of a line that goes on; how much, and `None` when there is no more.
    fn rest(&mut self, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<Option<u64>> {
        if !self.goes_on {
            return Ok(None);
        }
        let some = self.reader.fill_buf()?;
        let end = memchr::memchr(b'\n', some).map(|at| at + 1);
        let len = end.unwrap_or(some.len());
        take(&some[..len])?;
        self.reader.consume(len);
        self.goes_on = end.is_none() && len > 0;
        Ok(Some(len as u64).filter(|len| *len > 0))
    }
}

/// The number of the line that an error lies in, from 1, and the error as it is in this line by itself.
fn in_its_line(text: &[u8], error: Error) -> (u64, Error) {
    let offset = usize::try_from(error.offset()).unwrap_or(text.len()).min(text.len());
    let before = &text[..offset];
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    (1 + newlines(before), error.moved_back(start as u64))
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// A file from its start, whatever else reads it.
struct At<'f> {
    file: &'f File,
    offset: u64,
}

impl<'f> At<'f> {
    fn start(file: &'f File) -> Self {
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
