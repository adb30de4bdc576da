//! One file in flight: what of it is in its buffer, what has been hashed, and the verdict at its end.

use std::io::{self, Read};
use std::ops::Range;

use super::alone::Alone;
use super::file::FrameFile;
use super::in_flight::InFlight;
use super::observer::Observer;
use super::report::{FileReport, FileVerdict, FrameClaims};
use super::surroundings::Surroundings;
use super::tree::Entry;
use super::window::{State, Window};
use crate::digest::{Digest, ManyHasher};
use crate::error::Error;
use crate::format::HEADER_LEN;
use crate::frame::{FrameHeader, FrameReader, Opening, ReadError, Remainder, open_start, parse_identity};
use crate::identity::IdentityView;

pub(super) struct Job {
    entry: Entry,
    file: FrameFile,
    _in_flight: InFlight,
    hasher: ManyHasher,
    frame: Option<FrameInFlight>,
    /// What of the file is in the buffer.
    window: Window,
    /// What of the buffer is payload.
    payload: Range<usize>,
}

/// What is known of a frame once its start was read.
struct FrameInFlight {
    header: FrameHeader,
    identity: IdentityPlace,
    remainder: Remainder,
}

enum IdentityPlace {
    /// In the buffer, after the header, with this length: the frame ends in its first piece.
    Buffer(usize),
    Kept(Vec<u8>),
}

impl Job {
    pub(super) fn new(entry: Entry, file: FrameFile, in_flight: InFlight) -> Self {
        Self {
            entry,
            file,
            _in_flight: in_flight,
            hasher: ManyHasher::new(),
            frame: None,
            window: Window::default(),
            payload: 0..0,
        }
    }

    pub(super) fn hasher(&self) -> &ManyHasher {
        &self.hasher
    }

    /// What is to be hashed of the current piece, and by what.
    pub(super) fn piece<'p>(&'p mut self, buffer: &'p [u8]) -> (&'p mut ManyHasher, &'p [u8]) {
        (&mut self.hasher, &buffer[self.payload.clone()])
    }

    /// How much of the current piece is to be hashed, in bytes.
    pub(super) fn piece_len(&self) -> usize {
        self.payload.len()
    }

    pub(super) fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// Fills the buffer, to its end or the file's. Without `wait`, with what does not have to be waited for.
    pub(super) fn fill<O: Observer + ?Sized>(
        &mut self,
        buffer: &mut [u8],
        wait: bool,
        surroundings: &Surroundings<'_, O>,
    ) -> io::Result<State> {
        self.window.fill(&mut self.file, buffer, wait, surroundings)
    }

    /// Takes the piece that is in the buffer apart. When that already decides, returns why.
    pub(super) fn take_piece<O: Observer + ?Sized>(
        &mut self,
        buffer: &[u8],
        surroundings: &Surroundings<'_, O>,
    ) -> Option<Decided> {
        let piece = &buffer[..self.window.filled()];
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
    fn open<O: Observer + ?Sized>(
        &mut self,
        piece: &[u8],
        surroundings: &Surroundings<'_, O>,
    ) -> Result<usize, Decided> {
        let cap = surroundings.max_identity_len;
        let known_len = self.file.known_len();
        let opening = open_start(piece, self.window.is_at_end(), known_len, cap, surroundings.terms.accepts)?;
        let Opening::Open { header, identity, remainder, rest } = opening else {
            // Longer than a buffer: such identities are rare enough to be read alone.
            return Err(self.read_alone(piece, surroundings));
        };
        let start = piece.len() - rest.len();
        let identity = if self.window.is_at_end() {
            IdentityPlace::Buffer(identity.len())
        } else {
            // What would be read for nothing is looked at first.
            parse_identity(identity)?;
            let identity = IdentityPlace::Kept(identity.to_vec());
            if let Some(len) = known_len
                && let Err(error) = remainder.check_source_len(len)
            {
                self.frame = Some(FrameInFlight { header, identity, remainder });
                return Err(error.into());
            }
            identity
        };
        self.frame = Some(FrameInFlight { header, identity, remainder });
        Ok(start)
    }

    /// Reads a frame to its end as a stream, after its first piece.
    fn read_alone<O: Observer + ?Sized>(&mut self, piece: &[u8], surroundings: &Surroundings<'_, O>) -> Decided {
        let reader =
            FrameReader::new().max_identity_len(surroundings.max_identity_len).accepts(surroundings.terms.accepts);
        let reader = self.file.known_len().map_or(reader, |len| reader.source_len(len));
        let mut rest = Alone::new(&mut self.file, self.window.end(), surroundings);
        let read = |source| {
            let stream = reader.open(source)?;
            let remainder = Remainder::new(stream.header().identity_len(), stream.payload_len());
            let identity = IdentityPlace::Kept(stream.identity_bytes().to_vec());
            let frame = FrameInFlight { header: *stream.header(), identity, remainder };
            Ok((frame, stream.verify()))
        };
        let result = read(piece.chain(&mut rest));
        let (read_to, stopped) = (rest.read_to(), rest.was_stopped());
        self.window = Window::at(read_to);
        if stopped {
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
        self.window.is_at_end() || self.frame.as_ref().is_some_and(|frame| frame.remainder.has_surplus())
    }

    /// Makes room for the next piece.
    pub(super) fn next_piece(&mut self) {
        self.window.advance();
        self.payload = 0..0;
    }

    /// Whether it needs nothing of its buffer.
    pub(super) fn is_between_pieces(&self) -> bool {
        self.window.filled() == 0 && self.frame.is_some()
    }

    /// Gives the verdict on a frame of which all has come, by the SHA-256 of its payload.
    pub(super) fn conclude<O: Observer + ?Sized>(
        &self,
        buffer: &[u8],
        payload_digest: Digest,
        surroundings: &Surroundings<'_, O>,
    ) {
        // A job is over only after its first piece was taken.
        let Some(frame) = &self.frame else { return };
        let identity = parse_identity(frame.identity.get(buffer));
        let check = || {
            identity?;
            frame.remainder.check_extent(self.file.known_len())?;
            frame.remainder.check_trailer(payload_digest)
        };
        let verdict = check().map_or_else(FileVerdict::Damaged, |()| FileVerdict::Sound { payload_digest });
        self.tell(verdict, identity.ok(), surroundings);
    }

    /// Tells what was decided before all had come, or without the others.
    pub(super) fn report<O: Observer + ?Sized>(
        &self,
        buffer: &[u8],
        decided: &Decided,
        surroundings: &Surroundings<'_, O>,
    ) {
        let verdict = match decided {
            Decided::Sound(payload_digest) => FileVerdict::Sound { payload_digest: *payload_digest },
            Decided::Damaged(error) => FileVerdict::Damaged(*error),
            Decided::Unreadable(error) => FileVerdict::Unreadable(error),
            Decided::Stopped => return,
        };
        let identity = self.frame.as_ref().and_then(|frame| parse_identity(frame.identity.get(buffer)).ok());
        self.tell(verdict, identity, surroundings);
    }

    fn tell<O: Observer + ?Sized>(
        &self,
        verdict: FileVerdict<'_>,
        identity: Option<IdentityView<'_>>,
        surroundings: &Surroundings<'_, O>,
    ) {
        let payload_len = self.frame.as_ref().map(|frame| frame.remainder.payload_len());
        let claims = identity.zip(payload_len).map(|(identity, payload_len)| FrameClaims { identity, payload_len });
        let is_sound = matches!(verdict, FileVerdict::Sound { .. });
        surroundings.observer.verdict(&FileReport {
            entry: &self.entry,
            follow_links: surroundings.follow_links,
            verdict,
            header: self.frame.as_ref().map(|frame| frame.header),
            claims,
            stamp: Some(self.file.stamp()),
            offset: None,
            bytes_read: self.window.end(),
            not_checked: 0,
            changed: !is_sound && self.file.changed(),
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
