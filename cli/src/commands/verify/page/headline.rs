//! What the page says first: whether all is well.

use super::figures::counted;
use super::{Record, Status};

/// The run in one glance. Shape and words say it; colour only agrees.
pub(super) struct Headline {
    /// `well`, `bad` or `open`: the last where too little is known to say that all is well.
    pub(super) mood: &'static str,
    pub(super) title: String,
    pub(super) sentences: Vec<String>,
}

impl Headline {
    pub(super) fn of(record: &Record) -> Self {
        let frames = record.frames();
        let damaged = record.tally(Status::SchemaError).frames + record.tally(Status::CorruptPayload).frames;
        let mismatched = record.tally(Status::Finding).frames;
        let unreadable = record.tally(Status::IoError).frames;

        let mut kinds = Vec::new();
        let mut sentences = Vec::new();
        if damaged > 0 {
            kinds.push("damage");
            sentences.push(format!("{} damaged.", of_all(damaged, frames)));
        }
        if mismatched > 0 {
            kinds.push("mismatches");
            let which = of_all(mismatched, frames);
            sentences.push(format!("{which} sound, but not what name or identity promises."));
        }
        if record.missing > 0 {
            kinds.push("missing frames");
            sentences.push(format!(
                "{} of the manifest {} no file.",
                counted(record.missing, "key"),
                if record.missing == 1 { "has" } else { "have" }
            ));
        }
        if record.not_judged > 0 {
            let (keys, they) = match record.not_judged {
                1 => ("1 key of the manifest has".into(), "it is"),
                keys => (format!("{} of the manifest have", counted(keys, "key")), "they are"),
            };
            sentences.push(format!("{keys} no file in what was looked at; whether {they} missing is not known."));
        }
        if unreadable > 0 {
            kinds.push("unreadable paths");
            sentences.push(format!("{} could not be read.", counted(unreadable, "path")));
        }
        if record.not_quarantined > 0 {
            kinds.push("files that could not be moved to quarantine");
            sentences
                .push(format!("{} could not be moved to quarantine.", counted(record.not_quarantined, "damaged file")));
        }
        if record.interrupted {
            sentences.push("What the run did not reach is not in this report.".into());
        }
        let bad = damaged + mismatched + record.missing > 0;
        if damaged + mismatched == 0 && frames > unreadable {
            let some = unreadable > 0 || record.interrupted;
            let sound = match frames - unreadable {
                1 => format!("The one frame {}is", if some { "that was read " } else { "" }),
                read => format!("All {} {}are", counted(read, "frame"), if some { "that were read " } else { "" }),
            };
            sentences.insert(0, format!("{sound} sound: every check held."));
        }
        if frames == 0 && record.verified_before > 0 {
            sentences.insert(
                0,
                format!("{} found sound by an earlier run; nothing else was there.", was_were(record.verified_before)),
            );
        } else if frames == 0 {
            sentences.insert(0, "Nothing was checked.".into());
        }
        let nothing = frames + record.verified_before == 0;
        let mood = match (bad, nothing || unreadable > 0 || record.interrupted) {
            (true, _) => "bad",
            (false, true) => "open",
            (false, false) => "well",
        };
        Self { mood, title: title(&kinds, frames + record.verified_before, record.interrupted), sentences }
    }
}

/// `Damage, mismatches and unreadable paths found; interrupted before the end`
fn title(kinds: &[&str], frames: u64, interrupted: bool) -> String {
    let found = match kinds {
        [] if frames == 0 => Some("no frames found".into()),
        [] => None,
        [only] => Some(format!("{only} found")),
        [most @ .., last] => Some(format!("{} and {last} found", most.join(", "))),
    };
    let ended = interrupted.then(|| "interrupted before the end".to_owned());
    let title = match (found, ended) {
        (None, None) => "all well".into(),
        (Some(found), Some(ended)) => format!("{found}; {ended}"),
        (found, ended) => found.or(ended).unwrap_or_default(),
    };
    let mut characters = title.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// `3 files were`
fn was_were(files: u64) -> String {
    format!("{} {}", counted(files, "file"), if files == 1 { "was" } else { "were" })
}

/// `3 of 1,234 frames are`
fn of_all(some: u64, all: u64) -> String {
    match (some, all) {
        (1, 1) => "The one frame is".into(),
        (1, _) => format!("1 of {} is", counted(all, "frame")),
        _ if some == all => format!("All {} are", counted(all, "frame")),
        _ => format!("{} of {} are", indicatif::HumanCount(some), counted(all, "frame")),
    }
}
