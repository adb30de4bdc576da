//! Reports for programs.

use std::borrow::Cow;

use serde::Serialize;

use super::{Entry, Quarantined, Report, Totals, Verdict};
use crate::display::path_bytes;
use crate::json;

/// One frame.
#[derive(Serialize)]
struct FrameLine<'a> {
    path: Cow<'a, str>,
    /// The path in hexadecimal, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<&'static str>,
    #[serde(skip_serializing_if = "json::is_zero")]
    not_checked: u64,
    #[serde(skip_serializing_if = "json::is_false")]
    changed_while_read: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantined: Option<Cow<'a, str>>,
    /// Why the file could not be moved aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_quarantined: Option<&'a str>,
}

pub(super) fn line(report: &Report) -> serde_json::Result<String> {
    let claims = report.claims.as_ref();
    let is_sound = matches!(report.verdict, Verdict::Sound { .. });
    let reasons = report.verdict.reasons();
    let (quarantined, not_quarantined) = match &report.quarantine {
        Quarantined::NotAsked => (None, None),
        Quarantined::Moved(to) => (Some(to.to_string_lossy()), None),
        Quarantined::Failed(problem) => (None, Some(problem.as_str())),
    };
    json::line(&FrameLine {
        path: report.path.to_string_lossy(),
        path_bytes: path_bytes(&report.path),
        offset: report.offset,
        status: report.verdict.status(),
        reason: if is_sound { None } else { reasons.first().copied() },
        detail: report.verdict.detail().map(Cow::Owned),
        payload_len: claims.map(|claims| claims.payload_len),
        payload_hash: claims.map(|claims| claims.payload_hash.to_string()),
        fingerprint: claims.map(|claims| claims.fingerprint.to_string()),
        findings: if is_sound { reasons } else { Vec::new() },
        not_checked: report.not_checked,
        changed_while_read: report.changed_while_read,
        quarantined,
        not_quarantined,
    })
}

/// A key of which there is no file.
#[derive(Serialize)]
struct MissingLine {
    missing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

pub(super) fn missing(entry: &Entry) -> serde_json::Result<String> {
    let fingerprint = entry.fingerprint.map(|fingerprint| fingerprint.to_string());
    json::line(&MissingLine { missing: entry.key.to_string(), fingerprint })
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    summary: &'a Totals,
}

pub(super) fn summary(totals: &Totals) -> serde_json::Result<String> {
    json::line(&SummaryLine { summary: totals })
}
