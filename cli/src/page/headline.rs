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

        let mut titles = Vec::new();
        let mut sentences = Vec::new();
        if damaged > 0 {
            titles.push("damage found");
            sentences.push(format!("{} damaged.", of_all(damaged, frames)));
        }
        if mismatched > 0 {
            titles.push("mismatches found");
            let which = of_all(mismatched, frames);
            sentences.push(format!("{which} sound, but not what name or identity promises."));
        }
        if unreadable > 0 {
            titles.push("not everything could be read");
            sentences.push(format!("{} could not be read.", counted(unreadable, "path")));
        }
        if record.interrupted {
            titles.push("interrupted before the end");
            sentences.push("What the run did not reach is not in this report.".into());
        }
        let bad = damaged + mismatched > 0;
        if !bad && frames > unreadable {
            let some = unreadable > 0 || record.interrupted;
            let sound = match frames - unreadable {
                1 => format!("The one frame {}is", if some { "that was read " } else { "" }),
                read => format!("All {} {}are", counted(read, "frame"), if some { "that were read " } else { "" }),
            };
            sentences.insert(0, format!("{sound} sound: every check held."));
        }
        if frames == 0 {
            titles.insert(0, "no frames found");
            sentences.insert(0, "Nothing was checked.".into());
        }
        let mood = match (bad, titles.is_empty()) {
            (true, _) => "bad",
            (false, true) => "well",
            (false, false) => "open",
        };
        Self { mood, title: joined(&titles), sentences }
    }
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

/// `Damage found, mismatches found and interrupted before the end`
fn joined(titles: &[&str]) -> String {
    let joined = match titles {
        [] => "all well".into(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    };
    let mut characters = joined.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
