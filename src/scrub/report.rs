//! What a scrub tells: of each file, and of all.

use std::io;
use std::path::PathBuf;

use super::platform::leads_nowhere;
use super::tree::{Entry, FileStamp, FoundFile};
use crate::digest::Digest;
use crate::error::Error;
use crate::frame::{Findings, FrameHeader, Verifier};
use crate::identity::IdentityView;

/// What was found of one file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FileVerdict<'a> {
    /// The file is a frame, and every check of the contract holds.
    Sound {
        /// The payload's SHA-256, all 32 bytes.
        payload_digest: Digest,
    },
    /// The first check that failed.
    Damaged(Error),
    /// The file or directory could not be opened, or not be read to its end. No verdict on its bytes.
    Unreadable(&'a io::Error),
    /// It was in a directory's listing, and gone when it was to be opened: removed or renamed meanwhile, which a store in
    /// use does all the time. (A path that was asked for and is not there is unreadable.)
    Vanished,
}

/// What a frame says of itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FrameClaims<'a> {
    /// The identity.
    pub identity: IdentityView<'a>,
    /// The length of the payload in bytes.
    pub payload_len: u64,
}

/// A file, the verdict on it, and what it says of itself.
pub struct FileReport<'a> {
    pub(super) entry: &'a Entry,
    pub(super) follow_links: bool,
    pub(super) verdict: FileVerdict<'a>,
    #[cfg_attr(not(feature = "migrate"), expect(dead_code, reason = "a scrub takes one version"))]
    pub(super) header: Option<FrameHeader>,
    pub(super) claims: Option<FrameClaims<'a>>,
    pub(super) stamp: Option<FileStamp>,
    pub(super) offset: Option<u64>,
    pub(super) bytes_read: u64,
    pub(super) not_checked: u64,
    pub(super) changed: bool,
}

impl<'a> FileReport<'a> {
    /// The verdict.
    pub const fn verdict(&self) -> FileVerdict<'a> {
        self.verdict
    }

    /// The file's path: the one that was asked for, and what was found below it. Allocates.
    pub fn path(&self) -> PathBuf {
        self.entry.path()
    }

    /// The file, as it was found.
    pub fn file(&self) -> FoundFile<'a> {
        FoundFile::new(self.entry, self.follow_links)
    }

    /// What the frame says of itself, where its identity could be read. Nothing of it is vouched for unless the frame is
    /// sound, and the identity not even then: the format has no checksum for it.
    pub const fn claims(&self) -> Option<FrameClaims<'a>> {
        self.claims
    }

    #[cfg(feature = "migrate")]
    pub(crate) const fn entry(&self) -> &'a Entry {
        self.entry
    }

    /// The frame's header, where rows 1-6 of the contract hold.
    #[cfg(feature = "migrate")]
    pub(crate) const fn header(&self) -> Option<FrameHeader> {
        self.header
    }

    /// Length and time of the file as it was opened; `None` when it was not.
    pub const fn stamp(&self) -> Option<FileStamp> {
        self.stamp
    }

    /// Where in the file the frame begins, when files hold several
    /// ([`Scrubber::concatenated`](super::Scrubber::concatenated)). The offset of an error counts from there.
    pub const fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Whether files may lie there that the scrub therefore did not come upon: it could not open or list a directory, or a
    /// path of which nobody knows that it is none. Whoever misses a file cannot say then that it is not there. Where a path
    /// leads to nothing, nothing lies.
    pub fn may_hide_files(&self) -> bool {
        match self.verdict {
            FileVerdict::Unreadable(error) => {
                self.stamp.is_none() && self.entry.may_be_directory() && !leads_nowhere(error)
            }
            _ => false,
        }
    }

    /// How many bytes were read for this verdict.
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// How many bytes lie behind this frame's beginning in which no further frame was looked for, when files hold several: the
    /// frame does not say where it ends, so nobody knows where the next begins. 0 where it does, and for files that hold one.
    /// [`FrameScanner`](crate::FrameScanner) finds the frames in them.
    pub const fn not_checked(&self) -> u64 {
        self.not_checked
    }

    /// Whether the file was written to while it was read. Looked for only in files that are not sound (and hold one
    /// frame): the verdict then may be on half the old and half the new.
    pub const fn changed_while_read(&self) -> bool {
        self.changed
    }

    /// What `verifier` expects beyond the contract and does not find; nothing unless the frame is sound.
    pub fn findings(&self, verifier: &Verifier) -> Findings {
        match (self.verdict, self.claims) {
            (FileVerdict::Sound { payload_digest }, Some(claims)) => {
                verifier.findings(&claims.identity, payload_digest)
            }
            _ => Findings::default(),
        }
    }
}

impl std::fmt::Debug for FileReport<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileReport")
            .field("path", &self.path())
            .field("verdict", &self.verdict)
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

/// What directories held beside frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedOver {
    /// Regular files with another name than `*.blob` and `*.frame`.
    pub other_files: u64,
    /// Temporary files `.*.tmp`, of a write that goes on or was killed.
    pub temporary_files: u64,
    /// Symbolic links that were not followed, or lead to nothing or to a directory that was visited before.
    pub symlinks: u64,
    /// Pipes, sockets and devices.
    pub special_files: u64,
}

impl PassedOver {
    pub(super) fn add(&mut self, other: Self) {
        self.other_files += other.other_files;
        self.temporary_files += other.temporary_files;
        self.symlinks += other.symlinks;
        self.special_files += other.special_files;
    }
}

/// What a scrub came to, beside the verdicts that its observer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScrubSummary {
    /// What directories held beside frames.
    pub passed_over: PassedOver,
    /// Files that the observer did not select.
    pub not_selected: u64,
    /// Files that were read through the page cache although [`Scrubber::direct`](super::Scrubber::direct) was asked for:
    /// their file system refuses direct reads.
    pub not_direct: u64,
    /// Whether the observer stopped the scrub before every file had its verdict.
    pub stopped: bool,
}

/// How much a scrub has to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Selected files.
    pub files: u64,
    /// Their lengths in bytes.
    pub bytes: u64,
    /// Whether the observer stopped the survey before its end.
    pub stopped: bool,
}
