//! `membrane-codec migrate`

mod frames;
mod lines;

use crate::args::{MigrateArgs, MigrateCommand};
use crate::outcome::{Failure, Outcome};

pub(crate) fn run(args: &MigrateArgs) -> Result<Outcome, Failure> {
    match &args.what {
        MigrateCommand::Frames(args) => frames::run(args),
    }
}
