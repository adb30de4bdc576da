//! One file in flight: what of it is in its buffer, what has been hashed, and the verdict at its end.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::buffers::Buffers;
use super::file::{FrameFile, Piece};
use super::observer::Observer;
use super::pace::Pace;
use super::report::{FileReport, FileVerdict, FrameClaims};
use super::tree::Entry;
use crate::digest::{Digest, ManyHasher};
use crate::error::Error;
use crate::format::HEADER_LEN;
use crate::frame::{FrameReader, Opening, ReadError, Remainder, open_start, parse_identity};

/// What all jobs of a scrub share.
pub(super) struct Surroundings<'s, O> {
    pub(super) observer: &'s O,
    pub(super) pace: &'s Pace,
    /// One thread was told to stop, or has panicked.
    pub(super) over: &'s AtomicBool,
    pub(super) max_identity_len: u32,
    pub(super) follow_links: bool,
}

impl<O: Observer> Surroundings<'_, O> {
    /// Whether the observer stops the scrub. When it told one thread so, it told all.
    pub(super) fn stops(&self) -> bool {
        let stops = self.over.load(Ordering::Relaxed) || self.observer.stops();
        if stops {
            self.over.store(true, Ordering::Relaxed);
        }
        stops
    }
}

pub(super) struct Job {
    entry: Entry,
    file: FrameFile,
    hasher: ManyHasher,
    frame: Option<FrameInFlight>,
    /// Where the buffer's first byte lies in the file.
    offset: u64,
    /// How much of the buffer is filled.
    filled: usize,
    /// Nothing follows in the file.
    at_end: bool,
    /// What of the buffer is payload.
    payload: Range<usize>,
}

/// What is known of a frame once its start was read.
struct FrameInFlight {
    identity: IdentityPlace,
    remainder: Remainder,
}

enum IdentityPlace {
    /// In the buffer, after the header, with this length: the frame ends in its first piece.
    Buffer(usize),
    Kept(Vec<u8>),
}

/// How far a job is.
pub(super) enum State {
    /// Its piece is not there yet.
    Waiting,
    /// Its piece is there.
    Ready,
}

impl Job {
    pub(super) fn new(entry: Entry, file: FrameFile) -> Self {
        Self { entry, file, hasher: ManyHasher::new(), frame: None, offset: 0, filled: 0, at_end: false, payload: 0..0 }
    }

    pub(super) fn hasher(&self) -> &ManyHasher {
        &self.hasher
    }

    /// What is to be hashed of the current piece, and by what.
    pub(super) fn piece<'p>(&'p mut self, buffer: &'p [u8]) -> (&'p mut ManyHasher, &'p [u8]) {
        (&mut self.hasher, &buffer[self.payload.clone()])
    }

    pub(super) fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// Fills the buffer, to its end or the file's. Without `wait`, with what does not have to be waited for.
    pub(super) fn fill<O: Observer>(
        &mut self,
        buffer: &mut [u8],
        wait: bool,
        surroundings: &Surroundings<'_, O>,
    ) -> io::Result<State> {
        while self.filled < buffer.len() && !self.at_end {
            let rest = &mut buffer[self.filled..];
            let wanted = rest.len();
            match self.file.read(rest, self.offset + self.filled as u64, wait)? {
                Piece::OnItsWay => return Ok(State::Waiting),
                Piece::Read(got) => {
                    self.filled += got;
                    surroundings.observer.read(got as u64);
                    surroundings.pace.spend(got, || surroundings.stops());
                    let end = self.offset + self.filled as u64;
                    self.at_end = got == 0 || self.file.ends_at(end, got, wanted);
                }
            }
        }
        self.file.let_go(self.offset + self.filled as u64, self.at_end);
        Ok(State::Ready)
    }

    /// Takes the piece that is in the buffer apart. When that already decides, returns why.
    pub(super) fn take_piece<O: Observer>(
        &mut self,
        buffer: &[u8],
        surroundings: &Surroundings<'_, O>,
    ) -> Option<Decided> {
        let piece = &buffer[..self.filled];
        let start = match &mut self.frame {
            Some(_) => 0,
            None => match self.open(piece, surroundings) {
                Ok(start) => start,
                Err(decided) => return Some(decided),
            },
        };
        if let Some(frame) = &mut self.frame {
            let payload = frame.remainder.take(&piece[start..]).len();
            self.payload = start..start + payload;
        }
        None
    }

    /// Reads the frame's start; where what follows payload_len begins in the piece.
    fn open<O: Observer>(&mut self, piece: &[u8], surroundings: &Surroundings<'_, O>) -> Result<usize, Decided> {
        let cap = surroundings.max_identity_len;
        let known_len = self.file.known_len();
        let opening = open_start(piece, self.at_end, known_len, cap)?;
        let Opening::Open { identity, remainder, rest } = opening else {
            // Longer than a buffer: such identities are rare enough to be read alone.
            return Err(self.read_alone(piece, surroundings));
        };
        let start = piece.len() - rest.len();
        let identity = if self.at_end {
            IdentityPlace::Buffer(identity.len())
        } else {
            // What would be read for nothing is looked at first.
            parse_identity(identity)?;
            let identity = IdentityPlace::Kept(identity.to_vec());
            if let Some(len) = known_len
                && let Err(error) = remainder.check_source_len(len)
            {
                self.frame = Some(FrameInFlight { identity, remainder });
                return Err(error.into());
            }
            identity
        };
        self.frame = Some(FrameInFlight { identity, remainder });
        Ok(start)
    }

    /// Reads a frame to its end as a stream, after its first piece.
    fn read_alone<O: Observer>(&mut self, piece: &[u8], surroundings: &Surroundings<'_, O>) -> Decided {
        let reader = FrameReader::new().max_identity_len(surroundings.max_identity_len);
        let reader = self.file.known_len().map_or(reader, |len| reader.source_len(len));
        let mut memory = Buffers::new(1);
        let buffer = memory.split().next().unwrap_or_default();
        let mut rest = Alone { taken: self.filled, job: self, buffer, stopped: false, surroundings };
        let read = |source| {
            let stream = reader.open(source)?;
            let remainder = Remainder::new(stream.header().identity_len(), stream.payload_len());
            let frame = FrameInFlight { identity: IdentityPlace::Kept(stream.identity_bytes().to_vec()), remainder };
            Ok((frame, stream.verify()))
        };
        let result = read(piece.chain(&mut rest));
        if rest.stopped {
            return Decided::Stopped;
        }
        let verified = result.and_then(|(frame, verified)| {
            self.frame = Some(frame);
            verified
        });
        verified.map_or_else(Decided::from, Decided::Sound)
    }

    /// Whether all that a verdict needs was taken.
    pub(super) fn is_over(&self) -> bool {
        self.at_end || self.frame.as_ref().is_some_and(|frame| frame.remainder.has_surplus())
    }

    /// Makes room for the next piece.
    pub(super) fn next_piece(&mut self) {
        self.offset += self.filled as u64;
        self.filled = 0;
        self.payload = 0..0;
    }

    /// Whether it needs nothing of its buffer.
    pub(super) fn is_between_pieces(&self) -> bool {
        self.filled == 0 && self.frame.is_some()
    }

    /// The verdict on a frame of which all has come, by the SHA-256 of its payload.
    pub(super) fn conclude(&self, buffer: &[u8], payload_digest: Digest) -> Decided {
        let Some(frame) = &self.frame else {
            // A job is over only after its first piece was taken.
            return Decided::Stopped;
        };
        let check = || {
            parse_identity(frame.identity.get(buffer))?;
            frame.remainder.check_extent(self.file.known_len())?;
            frame.remainder.check_trailer(payload_digest)
        };
        match check() {
            Ok(()) => Decided::Sound(payload_digest),
            Err(error) => Decided::Damaged(error),
        }
    }

    /// Tells the observer.
    pub(super) fn report<O: Observer>(&self, buffer: &[u8], decided: &Decided, surroundings: &Surroundings<'_, O>) {
        let verdict = match decided {
            Decided::Sound(payload_digest) => FileVerdict::Sound { payload_digest: *payload_digest },
            Decided::Damaged(error) => FileVerdict::Damaged(*error),
            Decided::Unreadable(error) => FileVerdict::Unreadable(error),
            Decided::Stopped => return,
        };
        let claims = self.frame.as_ref().and_then(|frame| {
            let identity = parse_identity(frame.identity.get(buffer)).ok()?;
            Some(FrameClaims { identity, payload_len: frame.remainder.payload_len() })
        });
        surroundings.observer.verdict(&FileReport {
            entry: &self.entry,
            follow_links: surroundings.follow_links,
            verdict,
            claims,
            stamp: Some(self.file.stamp()),
            bytes_read: self.offset + self.filled as u64,
            changed: !matches!(decided, Decided::Sound(_)) && self.file.changed(),
        });
    }
}

impl IdentityPlace {
    fn get<'i>(&'i self, buffer: &'i [u8]) -> &'i [u8] {
        match self {
            Self::Buffer(len) => &buffer[HEADER_LEN..HEADER_LEN + len],
            Self::Kept(identity) => identity,
        }
    }
}

/// What a job came to.
pub(super) enum Decided {
    Sound(Digest),
    Damaged(Error),
    Unreadable(io::Error),
    /// Nothing: the observer stopped it.
    Stopped,
}

impl From<Error> for Decided {
    fn from(error: Error) -> Self {
        Self::Damaged(error)
    }
}

impl From<ReadError> for Decided {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Frame(error) => Self::Damaged(error),
            ReadError::Source(error) | ReadError::Sink(error) => Self::Unreadable(error),
        }
    }
}

/// What comes after the first piece of a file, as a stream.
struct Alone<'a, 's, O> {
    job: &'a mut Job,
    buffer: &'a mut [u8],
    /// How much of the job's piece went on.
    taken: usize,
    stopped: bool,
    surroundings: &'a Surroundings<'s, O>,
}

impl<O: Observer> Read for Alone<'_, '_, O> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.job.filled && !self.job.at_end {
            if self.surroundings.stops() {
                self.stopped = true;
                return Err(io::Error::other("stopped"));
            }
            self.job.next_piece();
            self.taken = 0;
            self.job.fill(self.buffer, true, self.surroundings)?;
        }
        let got = (&self.buffer[self.taken..self.job.filled]).read(buffer)?;
        self.taken += got;
        Ok(got)
    }
}
