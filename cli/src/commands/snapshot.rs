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

/// A time as people read it, to the second; as it is where there is no such date.
fn date(captured_at: CapturedAt) -> String {
    let seconds = captured_at.as_unix_seconds();
    let time = Some(seconds).filter(|seconds| *seconds <= END_OF_DATES).map(Duration::from_secs_f64);
    match time.and_then(|since| UNIX_EPOCH.checked_add(since)) {
        Some(time) => humantime::format_rfc3339_seconds(time).to_string(),
        None => format!("{seconds} s"),
    }
}
