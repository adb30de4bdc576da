//! Finds the intact frames among anything else: a disk image, a log that was cut and written over, files run together.
//!
//! One search, on two grounds: [`scan`] in memory, `FrameScanner` in a source of any size. [`Course`] decides for both
//! where the search goes on, what lies between frames, and which places are too costly to check; a [`Ground`] says where
//! the next magic is and whether a frame begins there, by the checks that every other reader uses.
//!
//! Cost: one pass to look for the magic; each frame that is found is hashed once. What a place with a magic can cost that
//! turns out to be none is bounded, see [`Scan::max_depth`].

mod memory;
#[cfg(feature = "std")]
mod source;
#[cfg(feature = "std")]
mod window;

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use core::fmt;
use core::ops::Range;

use memchr::memmem::Finder;

pub use self::memory::{Scan, scan};
#[cfg(feature = "std")]
pub use self::source::{FrameScanner, StoredFrame};
use crate::error::{Error, Reason};
use crate::format::MAGIC;

/// What a scan comes upon. `F` is what it knows of an intact frame: a [`VerifiedFrame`](crate::VerifiedFrame) in memory,
/// a `StoredFrame` in a file.
///
/// Frames, gaps and unreadable ranges follow one another without a hole from the first byte of the source to its last.
/// The places in a gap that are no frames come before the gap that holds them. All offsets count bytes from the start of
/// the source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanEvent<F> {
    /// An intact frame.
    Frame {
        /// Where it starts.
        offset: u64,
        /// The frame.
        frame: F,
    },
    /// A place with the magic of a frame, of format v5, v4 or v2, at which no intact frame starts.
    Refused {
        /// Where the magic stands.
        offset: u64,
        /// Why this is no frame.
        why: Refusal,
    },
    /// Bytes that belong to no intact frame.
    Gap {
        /// Where they lie.
        range: Range<u64>,
        /// Whether all of them are zero: padding, most likely, or what was never written.
        zeros: bool,
    },
    /// Bytes that could not be read. Only a file has them.
    Unreadable {
        /// Where they lie.
        range: Range<u64>,
    },
}

/// Why no intact frame starts at a place with a magic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A check of the contract fails there. Its offset counts from the place.
    Damaged(Error),
    /// A part of it could not be read: no verdict.
    Unreadable,
    /// It lies inside more damaged ones than [`Scan::max_depth`] allows, and was not hashed: no verdict.
    TooDeep,
}

impl Refusal {
    /// The stable code: the [`Reason`]'s, or `unreadable` or `too_deep`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Damaged(error) => error.reason().as_str(),
            Self::Unreadable => "unreadable",
            Self::TooDeep => "too_deep",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(error) => error.fmt(f),
            Self::Unreadable => write!(f, "{}: a part of it could not be read", self.as_str()),
            Self::TooDeep => write!(f, "{}: not checked, it lies inside too many damaged ones", self.as_str()),
        }
    }
}

/// How many damaged frames a place may lie inside and still be hashed, unless told otherwise.
///
/// A log into which a thousand writes were cut short one after another, all within the length of one frame, is still
/// searched whole. Somebody who nests headers in a payload of 1 GiB to keep a scan busy gets ten minutes.
const DEFAULT_MAX_DEPTH: usize = 1024;

/// What is searched.
trait Ground {
    /// What is known of an intact frame.
    type Frame;
    /// A place at which all holds but perhaps the trailer.
    type Claim;

    /// Looks for the next magic at or after `from`.
    fn pass_over(&mut self, from: u64) -> Passed;

    /// Checks rows 1-9 of the contract for a frame that starts at `at`; gives the length that it claims, all of which lies
    /// inside the source.
    fn claim(&mut self, at: u64) -> Result<(Self::Claim, u64), Refusal>;

    /// Hashes the payload: row 11.
    fn verify(&mut self, at: u64, claim: Self::Claim) -> Result<Self::Frame, Refusal>;
}

/// Bytes without a magic, and what follows them.
struct Passed {
    /// Where they end.
    end: u64,
    /// Whether all of them are zero.
    zeros: bool,
    then: Then,
}

enum Then {
    Magic,
    /// Bytes that cannot be read, up to here.
    #[cfg(feature = "std")]
    Unreadable(u64),
    End,
}

/// How far a search is.
struct Course<F> {
    /// Where it goes on.
    at: u64,
    /// What was passed over since the last frame starts here.
    gap_start: u64,
    gap_is_zero: bool,
    /// What comes after the gap that was given out last, and where it ends.
    next: Option<(ScanEvent<F>, u64)>,
    /// The ends of damaged frames that reach beyond where the search is.
    damaged: BinaryHeap<Reverse<u64>>,
    max_depth: usize,
}

impl<F> Course<F> {
    fn new() -> Self {
        Self {
            at: 0,
            gap_start: 0,
            gap_is_zero: true,
            next: None,
            damaged: BinaryHeap::new(),
            max_depth: DEFAULT_MAX_DEPTH,
        }
    }

    fn next(&mut self, ground: &mut impl Ground<Frame = F>) -> Option<ScanEvent<F>> {
        loop {
            if let Some((event, end)) = self.next.take() {
                (self.at, self.gap_start, self.gap_is_zero) = (end, end, true);
                return Some(event);
            }
            let passed = ground.pass_over(self.at);
            self.at = passed.end;
            self.gap_is_zero &= passed.zeros;
            match passed.then {
                Then::Magic => match self.judge(ground, passed.end) {
                    Ok((frame, end)) => self.next = Some((ScanEvent::Frame { offset: passed.end, frame }, end)),
                    Err(why) => {
                        self.at += 1;
                        self.gap_is_zero = false;
                        match why {
                            // Only the start of a magic, of a format that nobody knows: any four bytes.
                            Refusal::Damaged(error) if error.reason() == Reason::BadMagic => continue,
                            why => return Some(ScanEvent::Refused { offset: passed.end, why }),
                        }
                    }
                },
                #[cfg(feature = "std")]
                Then::Unreadable(end) => self.next = Some((ScanEvent::Unreadable { range: passed.end..end }, end)),
                Then::End if self.gap_start == passed.end => return None,
                Then::End => {}
            }
            if self.gap_start < passed.end {
                let gap = ScanEvent::Gap { range: self.gap_start..passed.end, zeros: self.gap_is_zero };
                self.gap_start = passed.end;
                return Some(gap);
            }
        }
    }

    /// Whether a frame starts at `at`, and where it ends.
    fn judge(&mut self, ground: &mut impl Ground<Frame = F>, at: u64) -> Result<(F, u64), Refusal> {
        let (claim, len) = ground.claim(at)?;
        while self.damaged.peek().is_some_and(|Reverse(end)| *end <= at) {
            self.damaged.pop();
        }
        if self.damaged.len() > self.max_depth {
            return Err(Refusal::TooDeep);
        }
        // Cannot overflow: it lies inside the source.
        let end = at + len;
        let frame = ground.verify(at, claim).inspect_err(|_| self.damaged.push(Reverse(end)))?;
        Ok((frame, end))
    }
}

/// What the magics of all formats start with.
const MAGIC_START: [u8; 3] = [MAGIC[0], MAGIC[1], MAGIC[2]];

/// Looks for places that may hold a magic.
struct MagicFinder(Finder<'static>);

impl MagicFinder {
    fn new() -> Self {
        Self(Finder::new(&MAGIC_START))
    }

    /// Where the first magic starts that lies inside `bytes` with all of its four.
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        let (_, before_last) = bytes.split_last()?;
        self.0.find(before_last)
    }
}

/// How many zeros `bytes` starts with. At the speed of comparing memory: images have a lot of them.
fn leading_zeros(bytes: &[u8]) -> usize {
    static ZEROS: [u8; 4096] = [0; 4096];
    let whole = bytes.chunks(ZEROS.len()).take_while(|chunk| **chunk == ZEROS[..chunk.len()]).count();
    let passed = (whole * ZEROS.len()).min(bytes.len());
    passed + bytes[passed..].iter().take_while(|byte| **byte == 0).count()
}
