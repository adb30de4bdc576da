//! What migrations tell: of each file, and of all.

use std::io;
use std::path::PathBuf;

use super::document::EnvelopeCounts;
use super::frame::FrameVersion;
use crate::error::{Error, Reason};
use crate::scrub::{FoundFile, PassedOver};

/// What became of one file, or would.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FrameFate<'a> {
    /// Its header is that of v5: nothing is to be done, and nothing else was looked at.
    Current,
    /// An old frame that is sound: a run that writes converts it.
    Convertible,
    /// It was converted.
    Converted,
    /// Not a frame, or one that is damaged. It is as it was.
    Refused(Error),
    /// It could not be read, or not be replaced. It is as it was, or as somebody else left it, unless the error begins with
    /// "converted": then something failed after that, which the error tells.
    Failed(&'a io::Error),
    /// It was in a directory's listing, and gone when it was to be opened.
    Vanished,
}

impl FrameFate<'_> {
    /// One sentence for an operator: what to do, where a frame was refused.
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Refused(error) => Some(match error.reason() {
                Reason::SchemaVersion => {
                    "No version has this schema with this magic: the header was damaged. Restore the frame from a replica."
                }
                reason => reason.advice(),
            }),
            _ => None,
        }
    }
}

/// A file and what became of it.
pub struct FrameFileReport<'a> {
    pub(super) file: &'a FoundFile<'a>,
    pub(super) fate: FrameFate<'a>,
    pub(super) version: Option<FrameVersion>,
    pub(super) len: u64,
    pub(super) links: u64,
}

impl<'a> FrameFileReport<'a> {
    /// What became of it.
    pub const fn fate(&self) -> FrameFate<'a> {
        self.fate
    }

    /// The file's path: the one that was asked for, and what was found below it. Allocates.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// What it was before, by its header; `None` when that is no frame's.
    pub const fn version(&self) -> Option<FrameVersion> {
        self.version
    }

    /// Its length in bytes; 0 when it could not be opened.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes, or could not be opened.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many names (hard links) a converted file had. Under the others it is still what it was, unless they are found as
    /// well.
    pub const fn links(&self) -> u64 {
        self.links
    }
}

impl std::fmt::Debug for FrameFileReport<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameFileReport")
            .field("path", &self.path())
            .field("fate", &self.fate)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// What a migration came to, beside what its observer was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationSummary {
    /// What directories held beside frames.
    pub passed_over: PassedOver,
    /// Temporary files of an earlier run that was killed, removed.
    pub leftovers_removed: u64,
    /// Whether the observer stopped the migration before every file had its report.
    pub stopped: bool,
}

/// Why an envelope, or a line, stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Not JSON, schema 1, or an envelope that would not be a valid message of v5. Offsets count from the first byte of the
    /// envelope, and where it is not JSON, from that of the line.
    Invalid(Error),
    /// A line, or a document in many lines, longer than this.
    TooLong {
        /// The longest that is read, in bytes.
        cap: u64,
    },
}

impl Refusal {
    /// The stable code: that of the error, or `too_long`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Invalid(error) => error.reason().as_str(),
            Self::TooLong { .. } => "too_long",
        }
    }

    /// One sentence for an operator: what to do.
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Invalid(error) => match error.reason() {
                Reason::MessageVersion => "Schema 1 cannot be converted: have the fragment stored again.",
                Reason::MessageJson => "Cut, damaged or not JSON: mend the text, or take it out of the file.",
                _ => "It would not be valid in v5: mend the field, or have the fragment stored again.",
            },
            Self::TooLong { .. } => "Allow longer ones, or put each envelope in a line of its own.",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::TooLong { cap } => write!(f, "too_long: a line or document of more than {cap} bytes"),
        }
    }
}

/// What became of a file with envelopes, or would.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EnvelopeFate<'a> {
    /// It holds no old envelope that can be converted. It is as it was.
    Unchanged,
    /// A run that writes converts the old envelopes in it.
    Convertible,
    /// All old envelopes in it are converted, but for those that were refused.
    Converted,
    /// It could not be read, or not be replaced. It is as it was, or as somebody else left it, unless the error begins with
    /// "converted": then something failed after that, which the error tells.
    Failed(&'a io::Error),
    /// It was in a directory's listing, and gone when it was to be opened.
    Vanished,
}

/// A file with envelopes and what became of it.
pub struct EnvelopeFileReport<'a> {
    pub(super) file: &'a FoundFile<'a>,
    pub(super) fate: EnvelopeFate<'a>,
    pub(super) counts: EnvelopeCounts,
    pub(super) len: u64,
    pub(super) links: u64,
}

impl<'a> EnvelopeFileReport<'a> {
    /// What became of it.
    pub const fn fate(&self) -> EnvelopeFate<'a> {
        self.fate
    }

    /// The file's path: the one that was asked for, and what was found below it. Allocates.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// What it holds, as far as it was read.
    pub const fn counts(&self) -> EnvelopeCounts {
        self.counts
    }

    /// Its length in bytes, before; 0 when it could not be opened.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// How many names (hard links) a converted file had. Under the others it is still what it was, unless they are found as
    /// well.
    pub const fn links(&self) -> u64 {
        self.links
    }

    /// Whether it has no bytes, or could not be opened.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl std::fmt::Debug for EnvelopeFileReport<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvelopeFileReport")
            .field("path", &self.path())
            .field("fate", &self.fate)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
