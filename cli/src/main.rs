//! `membrane-codec`: verifies, inspects, writes and extracts Membrane v5 frames.
//!
//! Arguments, files and printing live here; what a frame is, only the library knows.

mod args;
mod commands;
mod display;
mod input;
mod interrupt;
mod json;
mod outcome;
mod output;
mod passed_over;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    interrupt::let_large_writes_fail();
    let outcome = match Cli::parse().command {
        Command::Verify(args) => commands::verify::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Salvage(args) => commands::salvage::run(&args),
        Command::Canonicalize(args) => commands::canonicalize::run(&args),
        Command::Extract(args) => commands::extract::run(&args),
        Command::Fingerprint(args) => commands::fingerprint::run(&args),
        Command::Message(args) => commands::message::run(&args),
        Command::Snapshot(command) => commands::snapshot::run(&command),
        Command::Migrate(args) => commands::migrate::run(&args),
    };
    outcome::exit(outcome)
}
