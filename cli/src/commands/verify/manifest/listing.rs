//! The lines of a manifest: keys, or what a run of `verify --json` printed.
//!
//! What a run printed is believed only where it vouches for a whole store: a key that it did not see would be forgotten, and
//! a frame with a finding would become what is expected.

use std::path::Path;

use membrane_codec::Digest;
use membrane_codec::scrub::key_of;
use serde::Deserialize;

use super::Entry;
use crate::display::{count, quoted};

/// How to go on with what a run printed that cannot be taken as it is.
const BY_HAND: &str = "give a run over the whole store without findings, or KEY FINGERPRINT lines";

/// A line as `verify --json` prints it, or with the key by its own name.
#[derive(Deserialize)]
struct Line {
    key: Option<String>,
    payload_hash: Option<String>,
    fingerprint: Option<String>,
    /// Of a run: what the frame at `path` came to.
    status: Option<String>,
    path: Option<String>,
    offset: Option<u64>,
    #[serde(default)]
    findings: Vec<String>,
    /// A key that a run did not find.
    missing: Option<String>,
    /// The last line of a run.
    summary: Option<Summary>,
}

#[derive(Deserialize)]
struct Summary {
    frames: u64,
    #[serde(default)]
    missing: u64,
    #[serde(default)]
    not_selected: u64,
    #[serde(default)]
    verified_before: u64,
    #[serde(default)]
    io_error: u64,
    #[serde(default)]
    not_judged: u64,
    #[serde(default)]
    interrupted: bool,
}

/// What was listed up to now.
#[derive(Default)]
pub(super) struct Listing {
    entries: Vec<Entry>,
    /// Keys of frames that were damaged when the manifest was made: what their identities should be is not known.
    damaged: Vec<Digest>,
    /// Lines since the last summary.
    frames: u64,
    missing: u64,
}

impl Listing {
    /// Takes a line; comments and empty ones list nothing.
    ///
    /// # Errors
    /// What is wrong with it, to follow the line's number.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with('{') {
            return self.take_object(serde_json::from_str(line).map_err(|error| format!("is not JSON: {error}"))?);
        }
        let mut words = line.split_ascii_whitespace();
        let (key, fingerprint) = (words.next().unwrap_or_default(), words.next());
        if words.next().is_some() {
            return Err("has more than KEY and FINGERPRINT".into());
        }
        self.add(key, fingerprint)
    }

    fn take_object(&mut self, line: Line) -> Result<(), String> {
        if let Some(summary) = line.summary {
            return self.end_run(&summary);
        }
        if let Some(key) = &line.missing {
            self.missing += 1;
            return self.add(key, line.fingerprint.as_deref());
        }
        let key = line.key.as_ref().or(line.payload_hash.as_ref());
        let Some(status) = line.status else {
            return self.add(key.ok_or("has neither key nor payload_hash")?, line.fingerprint.as_deref());
        };
        self.frames += 1;
        if !line.findings.is_empty() {
            let findings: Vec<_> = line.findings.iter().map(|finding| shown(finding)).collect();
            let findings = findings.join(", ");
            return Err(format!("is of a frame that is not as it should be ({findings}); {BY_HAND}"));
        }
        // Where a file holds several frames, its name is no key.
        let name = line.path.as_deref().filter(|_| line.offset.is_none()).and_then(|path| key_of(Path::new(path)));
        match (&*status, name) {
            ("ok", _) => {
                let key = key.ok_or("has neither key nor payload_hash")?;
                if name.is_some_and(|name| key.parse().is_ok_and(|key: Digest| key != name)) {
                    return Err(format!("is of a frame that lies under another's key; {BY_HAND}"));
                }
                self.add(key, line.fingerprint.as_deref())
            }
            ("schema_error" | "corrupt_payload", Some(name)) => {
                self.damaged.push(name);
                Ok(())
            }
            ("schema_error" | "corrupt_payload", None) => {
                Err(format!("is of a damaged frame whose name is no key; {BY_HAND}"))
            }
            ("io_error", _) => Err(format!("is of something that could not be read; {BY_HAND}")),
            (status, _) => Err(format!("has the unknown status {}", shown(status))),
        }
    }

    /// Judges the run whose lines were taken since the last summary.
    fn end_run(&mut self, summary: &Summary) -> Result<(), String> {
        let not_seen = [
            (summary.not_selected, "not selected"),
            (summary.verified_before, "verified before"),
            (summary.io_error, "not readable"),
            (summary.not_judged, "not judged"),
        ];
        let mut why: Vec<_> = not_seen
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
        if summary.interrupted {
            why.insert(0, "interrupted".into());
        }
        if !why.is_empty() {
            return Err(format!("ends a run that did not see the whole store ({}); {BY_HAND}", why.join(", ")));
        }
        if (self.frames, self.missing) != (summary.frames, summary.missing) {
            let counted = |frames, missing| format!("{} and {}", count(frames, "frame"), count(missing, "missing key"));
            let [lines, told] = [(self.frames, self.missing), (summary.frames, summary.missing)];
            let (lines, told) = (counted(lines.0, lines.1), counted(told.0, told.1));
            return Err(format!("ends a run of {told}, but {lines} are listed before it; {BY_HAND}"));
        }
        (self.frames, self.missing) = (0, 0);
        Ok(())
    }

    fn add(&mut self, key: &str, fingerprint: Option<&str>) -> Result<(), String> {
        let digest = |text: &str| text.parse::<Digest>().map_err(|error| format!("has {}: {error}", shown(text)));
        let fingerprint = fingerprint.map(digest).transpose()?;
        self.entries.push(Entry { key: digest(key)?, fingerprint });
        Ok(())
    }

    /// All that was listed, in the order of the keys, each once.
    ///
    /// # Errors
    /// What is wrong with the whole.
    pub(super) fn finish(self) -> Result<Vec<Entry>, String> {
        let Self { mut entries, mut damaged, frames, missing } = self;
        if frames + missing > 0 {
            return Err(format!("ends with lines of a run without its summary, so more may be missing; {BY_HAND}"));
        }
        entries.sort_unstable();
        entries.dedup();
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(format!("key {} is listed with different fingerprints", twice[0].key));
        }
        damaged.sort_unstable();
        damaged.dedup();
        // Another file may have held a sound frame of the same key.
        damaged.retain(|key| entries.binary_search_by_key(key, |entry| entry.key).is_err());
        entries.extend(damaged.into_iter().map(|key| Entry { key, fingerprint: None }));
        entries.sort_unstable();
        Ok(entries)
    }
}

/// At most so much of a text as fits on a line.
fn shown(text: &str) -> String {
    quoted(&text.chars().take(80).collect::<String>())
}
