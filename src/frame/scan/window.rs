//! A piece of a source that can be read anywhere, in memory; and where the source cannot be read.
//!
//! Memory follows the bytes that arrive, never a length that they claim: a window is 512 KiB long unless a longer piece
//! is asked for in one, and then grows as that piece is read.

use std::io::{self, Read, Seek, SeekFrom};

/// How much is held, and read at once: fits a second-level cache, so that what was read is searched and hashed there.
const WINDOW_LEN: usize = 512 * 1024;

/// What a window grows to, at most, by what has arrived: identities of the default cap make it grow once.
const GROWTH: usize = 8;

/// What is given up at once where reading fails, in bytes: what a disk gives up.
const BLOCK_LEN: u64 = 4096;

/// The bytes of a source from `start` on, as many as were read.
pub(super) struct Window<R> {
    source: Positioned<R>,
    /// Where data begins at or after a place, for sources that know where they have none.
    next_data: Option<fn(&mut R, u64) -> io::Result<u64>>,
    /// Length of the source in bytes.
    source_len: u64,
    buffer: Vec<u8>,
    longest_held: usize,
    start: u64,
    filled: usize,
    /// Up to here reading goes block by block, because more at once failed.
    careful_until: u64,
    /// Where the bytes end that follow the window and cannot be read.
    unreadable_until: Option<u64>,
    error: Option<io::Error>,
}

impl<R: Read + Seek> Window<R> {
    pub(super) fn new(mut source: R) -> io::Result<Self> {
        let source_len = source.seek(SeekFrom::End(0))?;
        Ok(Self {
            source: Positioned { source, position: None },
            next_data: None,
            source_len,
            buffer: vec![0; WINDOW_LEN],
            longest_held: WINDOW_LEN / 2,
            start: 0,
            filled: 0,
            careful_until: 0,
            unreadable_until: None,
            error: None,
        })
    }

    /// The same window, empty, of another length.
    pub(super) fn with_len(self, bytes: usize) -> Self {
        let buffer = vec![0; bytes.max(1)];
        Self { longest_held: buffer.len() / 2, buffer, filled: 0, ..self }
    }

    pub(super) fn set_next_data(&mut self, next_data: fn(&mut R, u64) -> io::Result<u64>) {
        self.next_data = Some(next_data);
    }

    /// Where the zeros end that a hole of the source has from `at` on; `at` where there is none, where nobody knows, and
    /// where bringing `wanted` bytes would read nothing.
    pub(super) fn skip_hole(&mut self, at: u64, wanted: usize) -> u64 {
        let Some(next_data) = self.next_data.filter(|_| self.must_read(at, wanted)) else { return at };
        self.source.position = None;
        // A hole that cannot be told is read as what it is.
        next_data(&mut self.source.source, at).map_or(at, |data| data.clamp(at, self.source_len))
    }

    /// Length of the source in bytes.
    pub(super) fn source_len(&self) -> u64 {
        self.source_len
    }

    /// The longest piece that makes no window grow.
    pub(super) fn longest_held(&self) -> usize {
        self.longest_held
    }

    /// Why reading failed last.
    pub(super) fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Whether the window ends at `end` because what follows cannot be read.
    pub(super) fn ends_unreadable_at(&self, end: u64) -> bool {
        self.unreadable_until.is_some() && self.end() == end
    }

    fn end(&self) -> u64 {
        self.start + self.filled as u64
    }

    /// Whether nothing can be read behind the window.
    fn is_last(&self) -> bool {
        self.end() == self.source_len || self.unreadable_until.is_some()
    }

    /// How many of its bytes lie before `at`; `None` when `at` lies outside it.
    fn before(&self, at: u64) -> Option<usize> {
        let skip = usize::try_from(at.checked_sub(self.start)?).ok()?;
        Some(skip).filter(|skip| *skip <= self.filled)
    }

    /// What the window holds of the bytes at and after `at`.
    fn held(&self, at: u64) -> &[u8] {
        self.before(at).map(|skip| &self.buffer[skip..self.filled]).unwrap_or_default()
    }

    /// The bytes at and after `at`: at least `wanted`, or all up to the end of the source or to what cannot be read.
    ///
    /// A window that has to move or grow for it then holds twice as much, so that it does neither again before it was
    /// searched for another `wanted` bytes: whatever is asked for, each byte is moved a few times at most.
    pub(super) fn bring(&mut self, at: u64, wanted: usize) -> &[u8] {
        if self.must_read(at, wanted) {
            self.move_to(at);
            self.fill(wanted.saturating_mul(2));
        }
        self.held(at)
    }

    fn must_read(&self, at: u64, wanted: usize) -> bool {
        let all_there = self.is_last() && self.before(at).is_some();
        self.held(at).len() < wanted && !all_there
    }

    fn move_to(&mut self, at: u64) {
        match self.before(at) {
            Some(skip) => {
                self.buffer.copy_within(skip..self.filled, 0);
                self.filled -= skip;
            }
            None => (self.filled, self.unreadable_until) = (0, None),
        }
        self.start = at;
    }

    /// Reads on until the window is full and has room for `room` bytes, or there is no more.
    fn fill(&mut self, room: usize) {
        while !self.is_last() {
            let full = self.buffer.len();
            if self.filled == full {
                if full >= room {
                    return;
                }
                let grown = room.min(full.saturating_mul(GROWTH));
                self.buffer.reserve_exact(grown - full);
                self.buffer.resize(grown, 0);
            }
            self.read_on();
        }
    }

    /// Reads once, behind what is held.
    fn read_on(&mut self) {
        let end = self.end();
        let to_block_end = BLOCK_LEN - end % BLOCK_LEN;
        let room = &mut self.buffer[self.filled..];
        let most = if end < self.careful_until { to_block_end } else { u64::MAX };
        let wanted = (room.len() as u64).min(self.source_len - end).min(most);
        // Fits: at most the room.
        match self.source.read_at(end, &mut room[..wanted as usize]) {
            Ok(0) => (self.unreadable_until, self.error) = (Some(self.source_len), Some(shorter())),
            Ok(got) => self.filled += got,
            // Some of it may be readable.
            Err(_) if wanted > to_block_end => self.careful_until = end + wanted,
            Err(error) => (self.unreadable_until, self.error) = (Some(end + wanted), Some(error)),
        }
    }

    /// Goes on behind what cannot be read and follows the window, block by block; gives its end.
    pub(super) fn skip_unreadable(&mut self) -> u64 {
        while let Some(until) = self.unreadable_until.take() {
            (self.start, self.filled) = (until, 0);
            if until < self.source_len {
                // One block is enough to know; the rest of the window comes when it is wanted.
                self.careful_until = self.careful_until.max(until + 1);
                self.read_on();
            }
        }
        self.start
    }

    /// Reads from `at` on: first what the window holds, then past it, leaving it as it is.
    pub(super) fn reader(&mut self, at: u64) -> WindowReader<'_, R> {
        WindowReader { window: self, at }
    }
}

/// Reads a source behind its window.
pub(super) struct WindowReader<'w, R> {
    window: &'w mut Window<R>,
    at: u64,
}

impl<R: Read + Seek> Read for WindowReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.window.source_len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let buffer = &mut buffer[..most];
        if buffer.is_empty() {
            return Ok(0);
        }
        let got = match self.window.held(self.at) {
            [] => self.window.source.read_at(self.at, buffer)?,
            mut held => held.read(buffer)?,
        };
        if got == 0 {
            return Err(shorter());
        }
        self.at += got as u64;
        Ok(got)
    }
}

/// A source and where it stands.
struct Positioned<R> {
    source: R,
    /// Unknown after a failure: where that leaves a source, nobody says.
    position: Option<u64>,
}

impl<R: Read + Seek> Positioned<R> {
    /// Reads some bytes at `at`; none only at the end.
    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position.take() != Some(at) {
            self.source.seek(SeekFrom::Start(at))?;
        }
        loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(got) if got > buffer.len() => {
                    return Err(io::Error::other("the source gave more than was asked for"));
                }
                Ok(got) => {
                    self.position = Some(at + got as u64);
                    return Ok(got);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the source is shorter than it said")
}
