//! `membrane-codec`: verifies, inspects, writes and extracts Membrane v5 frames.
//!
//! Arguments, files and printing live here; what a frame is, only the library knows.

mod args;
mod commands;
mod display;
mod input;
mod interrupt;
mod manifest;
mod metrics;
mod outcome;
mod output;
mod page;
mod paths;
mod progress;
mod quarantine;
mod report;
mod selection;
mod state;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Verify(args) => commands::verify::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Salvage(args) => commands::salvage::run(&args),
        Command::Canonicalize(args) => commands::canonicalize::run(&args),
        Command::Extract(args) => commands::extract::run(&args),
        Command::Fingerprint(args) => commands::fingerprint::run(&args),
        Command::Migrate(args) => commands::migrate::run(&args),
    };
    outcome::exit(outcome)
}
