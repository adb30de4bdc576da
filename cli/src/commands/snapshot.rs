//! `membrane-codec snapshot`: what nodes restore from.

mod show;
mod verify;

use std::time::{Duration, UNIX_EPOCH};

use membrane_codec::snapshot::CapturedAt;

use crate::args::SnapshotCommand;
use crate::outcome::{Failure, Outcome};

pub(crate) fn run(command: &SnapshotCommand) -> Result<Outcome, Failure> {
    match command {
        SnapshotCommand::Show(args) => show::run(args),
        SnapshotCommand::Verify(args) => verify::run(args),
    }
}

/// The last second that a date of four digits has.
const END_OF_DATES: f64 = 253_402_300_799.0;

/// A time as people read it, to the second, if there is such a date.
fn date(captured_at: CapturedAt) -> Option<String> {
    let seconds = Some(captured_at.as_unix_seconds()).filter(|seconds| *seconds <= END_OF_DATES)?;
    let time = UNIX_EPOCH.checked_add(Duration::from_secs_f64(seconds))?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

/// The date, or else the number of seconds.
fn date_or_seconds(captured_at: CapturedAt) -> String {
    date(captured_at).unwrap_or_else(|| format!("{captured_at} s"))
}
