//! What a batch came to.

use alloc::vec::Vec;

use crate::error::{Error, ErrorClass, Reason};
use crate::frame::{Finding, Findings, VerifiedFrame};

/// What was found of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most frames are sound, and a box would be an allocation for each")]
#[non_exhaustive]
pub enum Verdict<'a> {
    /// Every check of the contract holds.
    Sound(VerifiedFrame<'a>),
    /// The first check that failed.
    Damaged(Error),
    /// Not looked at: another frame failed before, and the batch was to stop there.
    Skipped,
}

impl<'a> Verdict<'a> {
    /// The frame, if it is sound.
    pub const fn sound(&self) -> Option<&VerifiedFrame<'a>> {
        match self {
            Self::Sound(frame) => Some(frame),
            _ => None,
        }
    }

    /// Why not, if it is damaged.
    pub const fn error(&self) -> Option<&Error> {
        match self {
            Self::Damaged(error) => Some(error),
            _ => None,
        }
    }
}

/// The verdicts on a batch, one per frame and in the order of the frames, and their sum.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch<'a> {
    /// One verdict per frame, in the order of the frames.
    pub verdicts: Vec<Verdict<'a>>,
    /// What they come to.
    pub report: BatchReport,
}

/// The sum of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    sound: u64,
    skipped: u64,
    bytes: u64,
    /// By reason, in the order of [`Reason::OF_FRAMES`].
    damaged: [u64; Reason::OF_FRAMES.len()],
    findings: Vec<(usize, Finding)>,
}

impl BatchReport {
    /// How many frames are sound.
    pub const fn sound(&self) -> u64 {
        self.sound
    }

    /// How many frames are damaged.
    pub fn damaged(&self) -> u64 {
        self.damaged.iter().sum()
    }

    /// The reasons for which frames are damaged, in the order of the checks, and how many for each.
    pub fn damage(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::OF_FRAMES.iter().copied().zip(self.damaged).filter(|(_, count)| *count > 0)
    }

    /// How many frames were not looked at, the batch having stopped before.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// How many frames are damaged in this class.
    pub fn damaged_in(&self, class: ErrorClass) -> u64 {
        self.damage().filter(|(reason, _)| reason.class() == class).map(|(_, count)| count).sum()
    }

    /// How many frames are damaged for this reason.
    pub fn damaged_by(&self, reason: Reason) -> u64 {
        self.damage().find(|(counted, _)| *counted == reason).map_or(0, |(_, count)| count)
    }

    /// The lengths of all frames that have a verdict, in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was found beyond the contract, with the number of the frame, in the order of the frames.
    pub fn findings(&self) -> &[(usize, Finding)] {
        &self.findings
    }

    /// Whether every frame is sound and nothing was found beyond the contract.
    pub fn all_well(&self) -> bool {
        self.damaged() == 0 && self.skipped == 0 && self.findings.is_empty()
    }

    /// Counts the verdict on frame `number`, which has `len` bytes, and what was found of it.
    pub(super) fn count(&mut self, number: usize, len: usize, verdict: &Verdict<'_>, findings: Findings) {
        match verdict {
            Verdict::Sound(_) => self.sound += 1,
            Verdict::Damaged(error) => {
                let counts = self.damaged.iter_mut().zip(Reason::OF_FRAMES);
                counts.filter(|(_, reason)| **reason == error.reason()).for_each(|(count, _)| *count += 1);
            }
            // Counted at the end: whatever else there is none of.
            Verdict::Skipped => return,
        }
        self.bytes += len as u64;
        self.findings.extend(findings.iter().map(|finding| (number, finding)));
    }

    /// Adds what another task counted.
    #[cfg(feature = "rayon")]
    pub(super) fn merge(&mut self, other: Self) {
        self.sound += other.sound;
        self.bytes += other.bytes;
        self.damaged.iter_mut().zip(other.damaged).for_each(|(count, other)| *count += other);
        self.findings.extend(other.findings);
    }

    /// The report on all `frames`: findings in their order, and how many have no verdict.
    pub(super) fn in_order(mut self, frames: usize) -> Self {
        self.findings.sort_by_key(|(number, _)| *number);
        self.skipped = frames as u64 - self.sound - self.damaged();
        self
    }
}
