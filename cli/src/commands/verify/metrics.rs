//! Figures about a run for Prometheus: `verify --metrics`, for node_exporter's textfile collector.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use membrane_codec::Reason;

use super::report::Totals;

/// What every metrics file begins with.
pub(crate) const FIRST_BYTES: &str = "# HELP membrane_scrub_";

/// The text of the metrics file. Everything is a gauge: each run says what it found.
pub(crate) fn text(totals: &Totals, seconds: f64, ended: SystemTime) -> String {
    let mut text = Text(String::new());
    let ended = ended.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    text.one("end_timestamp_seconds", "When the last run of the scrub ended.", format!("{ended:.3}"));
    text.one("duration_seconds", "How long the last run took.", format!("{seconds:.3}"));
    let completed = u8::from(!totals.interrupted);
    text.one("completed", "Whether the last run came to its end (1) or was interrupted (0).", completed);
    text.one("read_bytes", "What the last run read.", totals.bytes);
    let statuses = [
        ("ok", totals.ok),
        ("schema_error", totals.schema_error),
        ("corrupt_payload", totals.corrupt_payload),
        ("io_error", totals.io_error),
    ];
    text.many("frames", "Frames in the last run, by verdict.", "status", statuses);
    let reasons =
        Reason::OF_FRAMES.iter().map(|reason| (reason.as_str(), totals.reasons.get(reason).copied().unwrap_or(0)));
    text.many("damaged_frames", "Damaged frames in the last run, by the check that failed.", "reason", reasons);
    let findings = ["payload_hash_mismatch", "key_mismatch", "fingerprint_mismatch", "not_in_manifest"];
    let findings = findings.map(|code| (code, totals.finding_codes.get(code).copied().unwrap_or(0)));
    text.many("findings", "What was found beyond the format in sound frames of the last run.", "code", findings);
    let keys = totals.missing.unwrap_or(0);
    text.one("missing_keys", "Keys of the manifest of which there is no file.", keys);
    let not_judged = "Keys of the manifest of which the last run found no file where it could not look everywhere.";
    text.one("not_judged_keys", not_judged, totals.not_judged);
    let moved = totals.quarantined.unwrap_or(0);
    text.one("quarantined_files", "Files that the last run moved to quarantine.", moved);
    let before = totals.verified_before.unwrap_or(0);
    text.one("verified_before_files", "Files that the last run passed over, sound since an earlier one.", before);
    text.one("vanished_files", "Files that were gone when the last run was to open them.", totals.vanished);
    text.0
}

struct Text(String);

impl Text {
    // Writing to a String cannot fail.
    fn head(&mut self, name: &str, help: &str) {
        let _ = write!(self.0, "# HELP membrane_scrub_{name} {help}\n# TYPE membrane_scrub_{name} gauge\n");
    }

    fn one(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, help);
        let _ = writeln!(self.0, "membrane_scrub_{name} {value}");
    }

    fn many<'t>(&mut self, name: &str, help: &str, label: &str, values: impl IntoIterator<Item = (&'t str, u64)>) {
        self.head(name, help);
        for (value, number) in values {
            let _ = writeln!(self.0, "membrane_scrub_{name}{{{label}=\"{value}\"}} {number}");
        }
    }
}
