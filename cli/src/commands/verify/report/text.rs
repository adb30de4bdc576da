//! Reports for people.

use std::fmt::Write;

use indicatif::HumanBytes;
use membrane_codec::Reason;

use super::{End, Entry, Finding, Quarantined, Report, Totals, Verdict};
use crate::display::{BAD, GOOD, count, painted, printable};

pub(super) fn line(report: &Report) -> String {
    let mut place = printable(&report.path);
    if let Some(offset) = report.offset {
        let _ = write!(place, ", frame at byte {offset}");
    }
    let mut line = match &report.verdict {
        Verdict::Sound { findings } if findings.is_empty() => format!("{}  {place}\n", painted("ok", GOOD)),
        Verdict::Sound { findings } => findings
            .iter()
            .map(|finding| format!("{}  {place}\n    {}\n", painted("finding", BAD), finding.detail))
            .collect(),
        Verdict::Damaged(error) => format!("{}  {place}\n    {error}\n", painted(error.class().as_str(), BAD)),
        Verdict::Unreadable(error) => format!("{}  {place}\n    {error}\n", painted("io_error", BAD)),
    };
    // Writing to a String cannot fail.
    if report.not_checked > 0 {
        let bytes = count(report.not_checked, "byte");
        let _ = writeln!(line, "    {bytes} from here on were not checked; `salvage` finds the frames in them");
    }
    if report.changed_while_read {
        let _ = writeln!(line, "    it was written to while it was read: check it again");
    }
    let _ = match &report.quarantine {
        Quarantined::NotAsked => Ok(()),
        Quarantined::Moved(to) => writeln!(line, "    moved to {}", printable(to)),
        Quarantined::Failed(problem) => writeln!(line, "    not moved to quarantine: {problem}"),
    };
    line
}

pub(super) fn missing(entry: &Entry) -> String {
    format!("{}  {}\n", painted("missing", BAD), entry.key)
}

pub(super) fn summary(totals: &Totals, end: &End, verbose: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = print(totals, end, verbose, &mut text);
    text
}

fn print(totals: &Totals, end: &End, verbose: bool, out: &mut String) -> std::fmt::Result {
    if totals.failures() > 0 || verbose {
        writeln!(out)?;
    }
    let End { seconds, .. } = end;
    let rate = HumanBytes((totals.bytes as f64 / seconds.max(1e-9)) as u64);
    let interrupted = if totals.interrupted { "interrupted after " } else { "" };
    let (frames, bytes) = (count(totals.frames, "frame"), HumanBytes(totals.bytes));
    writeln!(out, "{interrupted}{frames}, {bytes} in {seconds:.2} s ({rate}/s)")?;
    for (number, status, style) in [
        (totals.ok, "ok", GOOD),
        (totals.schema_error, "schema_error", BAD),
        (totals.corrupt_payload, "corrupt_payload", BAD),
        (totals.io_error, "io_error", BAD),
        (totals.findings.unwrap_or(0), "with findings, among the ok ones", BAD),
        (totals.missing.unwrap_or(0), "missing", BAD),
        (totals.not_judged, "not judged: no file of these keys was found, but not everything was looked at", BAD),
    ] {
        if number > 0 {
            writeln!(out, "{number:>9}  {style}{status}{style:#}")?;
        }
    }
    for reason in Reason::OF_FRAMES {
        if let Some(number) = totals.reasons.get(reason) {
            writeln!(out, "\n{number:>9}  {reason}\n           {}", reason.advice())?;
        }
    }
    for (code, number) in &totals.finding_codes {
        writeln!(out, "\n{number:>9}  {code}\n           {}", Finding::advice(code))?;
    }
    if let Some(moved) = totals.quarantined {
        writeln!(out, "\nquarantined: {moved}, not moved: {}", totals.not_quarantined)?;
    }
    let notes = notes(totals);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    Ok(())
}

/// What is said on standard error of a run that came to its end and found nothing that it could have verified: a store that
/// is not mounted looks like that.
pub(crate) fn nothing_to_verify(totals: &Totals) -> Option<String> {
    let found = totals.frames + totals.verified_before.unwrap_or(0) + totals.not_selected + totals.vanished;
    (found == 0 && !totals.interrupted).then(|| {
        let passed = totals.passed_over.note().map_or(String::new(), |passed| format!("; {passed}"));
        format!("nothing to verify: directories are searched for *.blob and *.frame, with --all for every file{passed}")
    })
}

/// What else should be known of a run, a line each.
pub(crate) fn notes(totals: &Totals) -> Vec<String> {
    let mut notes: Vec<_> = totals.passed_over.note().into_iter().collect();
    if let Some(before) = totals.verified_before {
        notes.push(format!("verified before: {}", count(before, "file")));
    }
    if totals.not_selected > 0 {
        notes.push(format!("not selected: {}", count(totals.not_selected, "file")));
    }
    if let Some(seed) = totals.seed {
        notes.push(format!("seed of the sample: {seed}"));
    }
    if totals.not_checked > 0 {
        let bytes = count(totals.not_checked, "byte");
        notes.push(format!(
            "not checked, in frames without an end and after them: {bytes}; salvage finds what is there"
        ));
    }
    if totals.vanished > 0 {
        notes.push(format!("vanished before they were opened: {}", count(totals.vanished, "file")));
    }
    if totals.not_direct > 0 {
        notes
            .push(format!("read through the page cache, --direct being refused: {}", count(totals.not_direct, "file")));
    }
    notes
}
