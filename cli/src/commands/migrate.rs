//! `membrane-codec migrate`

mod envelopes;
mod frames;
mod lines;

use std::path::{Path, PathBuf};

use membrane_codec::migrate::MigrationSummary;

use crate::args::{MigrateArgs, MigrateCommand};
use crate::display::count;
use crate::input::is_stdin;
use crate::interrupt;
use crate::outcome::{Failure, Outcome};
use crate::passed_over::PassedOver;

pub(crate) fn run(args: &MigrateArgs) -> Result<Outcome, Failure> {
    match &args.what {
        MigrateCommand::Frames(args) => {
            begin(&args.paths, args.nice)?;
            frames::run(args)
        }
        MigrateCommand::Envelopes(args) => {
            begin(&args.paths, args.nice)?;
            envelopes::run(args)
        }
    }
}

fn begin(paths: &[PathBuf], nice: bool) -> Result<(), Failure> {
    if paths.iter().any(|path| is_stdin(path)) {
        return Err(Failure::trouble(Path::new("-"), "cannot be converted in its place; name files or directories"));
    }
    if nice {
        rustix::process::nice(19).map_err(|error| Failure::Trouble(format!("--nice: {error}")))?;
    }
    interrupt::ask_first();
    Ok(())
}

/// What else should be known of a run, a line each.
fn notes(summary: &MigrationSummary, vanished: u64, links_parted: u64) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(PassedOver::from(summary.passed_over).note());
    if vanished > 0 {
        notes.push(format!("vanished before they were opened: {}", count(vanished, "file")));
    }
    if summary.leftovers_removed > 0 {
        notes.push(format!("left by a run that was killed, and removed: {}", count(summary.leftovers_removed, "file")));
    }
    if links_parted > 0 {
        let files = count(links_parted, "file");
        notes.push(format!("had other names (hard links), and are files of their own now: {files}"));
    }
    notes
}
