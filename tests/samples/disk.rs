//! A source that can be read at any place, with all the ways in which a disk disappoints.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::rc::Rc;

#[derive(Clone)]
pub(crate) struct Disk {
    pub(crate) bytes: Vec<u8>,
    /// What it says its length is.
    pub(crate) claimed_len: u64,
    /// Reading any of these fails.
    pub(crate) bad: Vec<Range<u64>>,
    /// How many reads of bad ranges fail before all can be read.
    pub(crate) failures: usize,
    /// Whether a read that begins before a bad range gives what comes before it, as those of an operating system do.
    pub(crate) gives_what_it_can: bool,
    /// The most that one read gives, over and over; 0 is an interruption.
    pub(crate) pieces: Vec<usize>,
    /// Where nothing was ever written, as a file system tells it.
    pub(crate) holes: Vec<Range<u64>>,
    /// How many bytes were read, shared with all its clones.
    pub(crate) read: Rc<Cell<u64>>,
    pub(crate) at: u64,
    /// How many reads there were, shared as well.
    pub(crate) reads: Rc<Cell<usize>>,
}

impl Disk {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.into(),
            claimed_len: bytes.len() as u64,
            bad: Vec::new(),
            failures: usize::MAX,
            gives_what_it_can: true,
            pieces: vec![usize::MAX],
            holes: Vec::new(),
            read: Rc::default(),
            at: 0,
            reads: Rc::default(),
        }
    }

    pub(crate) fn bad(mut self, ranges: &[Range<u64>]) -> Self {
        self.bad = ranges.into();
        self
    }

    pub(crate) fn holes(mut self, ranges: &[Range<u64>]) -> Self {
        self.holes = ranges.into();
        self
    }

    /// Where data begins at or after a place; moves the disk, as such a question does.
    pub(crate) fn next_data(&mut self, mut at: u64) -> io::Result<u64> {
        while let Some(hole) = self.holes.iter().find(|hole| hole.contains(&at)) {
            at = hole.end;
        }
        self.at = at;
        Ok(at)
    }

    pub(crate) fn pieces(mut self, pieces: &[usize]) -> Self {
        self.pieces = pieces.into();
        self
    }
}

impl Read for Disk {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads.set(self.reads.get() + 1);
        let piece = self.pieces[self.reads.get() % self.pieces.len()];
        if piece == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let left = self.bytes.get(self.at as usize..).unwrap_or_default();
        let mut wanted = piece.min(buffer.len()).min(left.len());
        let end = self.at + wanted as u64;
        let first_bad = self.bad.iter().filter(|bad| bad.start < end && bad.end > self.at).map(|bad| bad.start).min();
        if let Some(first_bad) = first_bad {
            let before = first_bad.saturating_sub(self.at);
            if before == 0 || !self.gives_what_it_can {
                self.failures -= 1;
                if self.failures == 0 {
                    self.bad.clear();
                }
                return Err(io::Error::from_raw_os_error(5));
            }
            wanted = before as usize;
        }
        buffer[..wanted].copy_from_slice(&left[..wanted]);
        self.at += wanted as u64;
        self.read.set(self.read.get() + wanted as u64);
        Ok(wanted)
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => self.claimed_len.checked_add_signed(by).expect("within the disk"),
            SeekFrom::Current(by) => self.at.checked_add_signed(by).expect("within the disk"),
        };
        Ok(self.at)
    }
}
