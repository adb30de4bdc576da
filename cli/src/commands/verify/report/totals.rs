//! What a run comes to, in numbers.

use std::collections::BTreeMap;

use membrane_codec::{ErrorClass, Reason};
use serde::Serialize;

use super::{End, Quarantined, Report, Verdict};
use crate::json::{is_false, is_zero};
use crate::outcome::Outcome;
use crate::passed_over::PassedOver;

/// The numbers of a summary, as `--json` gives them.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) frames: u64,
    pub(crate) ok: u64,
    pub(crate) schema_error: u64,
    pub(crate) corrupt_payload: u64,
    pub(crate) io_error: u64,
    pub(crate) bytes: u64,
    /// Frames with findings; they are among the ok ones. Present when findings were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) findings: Option<u64>,
    /// Keys of the manifest of which there is no file. Present when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<u64>,
    /// Such keys in a run that could not look everywhere: they may have one.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) not_judged: u64,
    /// Present when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quarantined: Option<u64>,
    /// Bytes behind frames that do not say where they end.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) not_checked: u64,
    /// Files that were to go to quarantine and did not.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) not_quarantined: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verified_before: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) not_selected: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) vanished: u64,
    /// What directories held beside frames, when there was anything.
    #[serde(skip_serializing_if = "PassedOver::is_empty")]
    pub(crate) passed_over: PassedOver,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) not_direct: u64,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) interrupted: bool,

    /// Bytes that were read for each status, in the order of the fields.
    #[serde(skip)]
    pub(crate) bytes_by_status: [u64; 4],
    #[serde(skip)]
    pub(crate) bytes_with_findings: u64,
    /// How often each reason was given.
    #[serde(skip)]
    pub(crate) reasons: BTreeMap<Reason, u64>,
    #[serde(skip)]
    pub(crate) finding_codes: BTreeMap<&'static str, u64>,
}

impl Totals {
    pub(super) fn add_sound(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
        self.ok += 1;
        self.bytes_by_status[0] += bytes;
    }

    pub(super) fn add(&mut self, report: &Report) {
        self.frames += 1;
        self.bytes += report.bytes;
        self.not_checked += report.not_checked;
        let (count, status) = match &report.verdict {
            Verdict::Sound { .. } => (&mut self.ok, 0),
            Verdict::Damaged(error) => match error.class() {
                ErrorClass::Schema => (&mut self.schema_error, 1),
                ErrorClass::CorruptPayload => (&mut self.corrupt_payload, 2),
            },
            Verdict::Unreadable(_) => (&mut self.io_error, 3),
        };
        *count += 1;
        self.bytes_by_status[status] += report.bytes;
        match &report.verdict {
            Verdict::Sound { findings } if !findings.is_empty() => {
                *self.findings.get_or_insert(0) += 1;
                self.bytes_with_findings += report.bytes;
                findings.iter().for_each(|finding| *self.finding_codes.entry(finding.code).or_default() += 1);
            }
            Verdict::Damaged(error) => *self.reasons.entry(error.reason()).or_default() += 1,
            _ => {}
        }
        match &report.quarantine {
            Quarantined::NotAsked => {}
            Quarantined::Moved(_) => *self.quarantined.get_or_insert(0) += 1,
            Quarantined::Failed(_) => self.not_quarantined += 1,
        }
    }

    pub(super) fn add_vanished(&mut self) {
        self.vanished += 1;
    }

    pub(super) fn add_missing(&mut self) {
        *self.missing.get_or_insert(0) += 1;
    }

    pub(super) fn end(&mut self, end: &End) {
        self.verified_before = end.verified_before;
        let told_apart = end.verified_before.unwrap_or(0) + end.own_files;
        self.not_selected = end.scrub.not_selected.saturating_sub(told_apart);
        self.passed_over = PassedOver::from(end.scrub.passed_over).and_other_files(end.own_files);
        self.seed = end.seed;
        self.not_judged = end.not_judged;
        self.not_direct = end.scrub.not_direct;
        self.interrupted = end.interrupted;
    }

    /// Everything that makes the run no good one.
    pub(crate) fn failures(&self) -> u64 {
        self.schema_error
            + self.corrupt_payload
            + self.io_error
            + self.findings.unwrap_or(0)
            + self.missing.unwrap_or(0)
    }

    pub(crate) fn outcome(&self) -> Outcome {
        if self.io_error > 0 || self.not_quarantined > 0 || self.interrupted {
            Outcome::Unreadable
        } else if self.failures() > 0 {
            Outcome::Damage
        } else {
            Outcome::AllWell
        }
    }
}
