//! Files that hold several frames one after another. Each file is read as a stream: its frames pass through one lane.

use std::io::{self, BufRead, Read};

use super::alone::Alone;
use super::file::FrameFile;
use super::observer::Observer;
use super::report::{FileReport, FileVerdict, FrameClaims};
use super::surroundings::Surroundings;
use super::tree::Entry;
use crate::digest::Digest;
use crate::error::Reason;
use crate::frame::{FrameReader, ReadError, parse_identity};

/// Tells the verdict on each frame of a file, up to the first that does not say where it ends. Whether it came to its end,
/// or the observer stopped it.
pub(super) fn verify<O: Observer + ?Sized>(
    entry: &Entry,
    file: &mut FrameFile,
    surroundings: &Surroundings<'_, O>,
) -> bool {
    let (stamp, file_len) = (file.stamp(), file.known_len());
    let reader = FrameReader::new().max_identity_len(surroundings.max_identity_len).leave_rest(true);
    let mut source = Alone::new(file, 0, surroundings);
    let mut start = 0;
    loop {
        let left = file_len.and_then(|len| len.checked_sub(start)).filter(|left| *left > 0);
        let reader = left.map_or(reader, |left| reader.source_len(left));
        let one = match is_at_end(&mut source) {
            // An empty file is not one without damage.
            Ok(true) if start > 0 => return true,
            Ok(_) => One::read(&reader, &mut source),
            Err(error) => One::unreadable(error),
        };
        if source.was_stopped() {
            return false;
        }
        let end = source.position();
        let verdict = match &one.verified {
            Ok(payload_digest) => FileVerdict::Sound { payload_digest: *payload_digest },
            Err(ReadError::Frame(error)) => FileVerdict::Damaged(*error),
            Err(ReadError::Source(error) | ReadError::Sink(error)) => FileVerdict::Unreadable(error),
        };
        let claims = one.start.as_ref().and_then(|(identity, payload_len)| {
            Some(FrameClaims { identity: parse_identity(identity).ok()?, payload_len: *payload_len })
        });
        surroundings.observer.verdict(&FileReport {
            entry,
            follow_links: surroundings.follow_links,
            verdict,
            header: None,
            claims,
            stamp: Some(stamp),
            offset: Some(start),
            bytes_read: end - start,
            not_checked: left.filter(|_| !one.is_whole).unwrap_or(0),
            changed: false,
        });
        if !one.is_whole {
            return true;
        }
        start = end;
    }
}

fn is_at_end(source: &mut impl BufRead) -> io::Result<bool> {
    Ok(source.fill_buf()?.is_empty())
}

/// One frame among several.
struct One {
    verified: Result<Digest, ReadError>,
    /// Its identity's JSON and the length of its payload, where its structure holds.
    start: Option<(Vec<u8>, u64)>,
    /// All of it was there, so the next begins where it ends.
    is_whole: bool,
}

impl One {
    fn unreadable(error: io::Error) -> Self {
        Self { verified: Err(ReadError::Source(error)), start: None, is_whole: false }
    }

    fn read(reader: &FrameReader, source: impl Read) -> Self {
        let stream = match reader.open_structure(source) {
            Ok(stream) => stream,
            Err(error) => return Self { verified: Err(error), start: None, is_whole: false },
        };
        let start = (stream.identity_bytes().to_vec(), stream.payload_len());
        let identity = stream.identity().map(|_| ());
        let verified = stream.verify();
        let is_whole = match &verified {
            Ok(_) => true,
            Err(ReadError::Frame(error)) => error.reason() == Reason::TrailerMismatch,
            Err(_) => false,
        };
        // What is wrong with the identity comes first in the order of the checks; but what follows a frame that could not
        // be read to its end was not looked at, and that must be told.
        let verified = match (identity, verified) {
            (Err(error), Ok(_) | Err(ReadError::Frame(_))) => Err(ReadError::Frame(error)),
            (_, verified) => verified,
        };
        Self { verified, start: Some(start), is_whole }
    }
}
