//! What can be asked of `migrate`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::verify::rate;
use super::{EXIT_STATUS, Limits};

const FRAMES_LONG_HELP: &str = "\
Takes frames of v2 (magic C0 DE 01 02, schema 2), v4 (C0 DE 01 04, schema 4) and v5 magic over
schema 2 or 4, which Membrane's own tool leaves behind. Each is verified, then magic and schema
become those of v5; all else stays. Files in v5 are known by their header and not touched: verify
checks them. A file appears whole or not at all under its name, and keeps owner, rights, extended
attributes and times. What is refused or fails is left as it is.

A run can be interrupted and started again: what is done is v5 then. It needs room on disk for
128 MiB of copies for each thread, or for one file if that is larger. A file that has several
names (hard links) is converted under each that is found, and is a file of its own there.

With --json, one object per line:
  {\"path\", \"status\", \"from\", \"len\", \"reason\", \"detail\"}
    status   current | convertible (without --write) | converted | refused | io_error
    from     v2 | v4 | v5_over_schema_2 | v5_over_schema_4 | v5, where the header tells
    len      the file's length in bytes
    reason   for refused: the code of the check that failed
    detail   for refused and io_error, in words
    links    how many names a converted file had, if several
    path_bytes   the path in hexadecimal, only when it is not UTF-8
  and last {\"summary\": {\"files\", \"bytes\", \"current\", \"convertible\", \"converted\", \"refused\",
    \"io_error\"}}, and where there was any: vanished, links_parted, leftovers_removed (of a run that
    was killed), passed_over, interrupted

Exit status:
  0  every file is v5, or would be with --write
  1  something was refused
  2  usage error, something could not be read or written, or the run was interrupted (wins over 1)";

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(subcommand)]
    pub(crate) what: MigrateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Convert stored frames of v2 and v4, in files and directories; without --write only say what would be done
    Frames(MigrateFramesArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS, after_long_help = FRAMES_LONG_HELP)]
pub(crate) struct MigrateFramesArgs {
    /// Directories (searched for *.blob and *.frame) and files
    #[arg(required = true, value_name = "ROOT")]
    pub(crate) paths: Vec<PathBuf>,
    /// Convert. Without this, a dry run: everything is read and verified, and nothing written
    #[arg(long)]
    pub(crate) write: bool,
    /// Take every regular file in directories, whatever its name, except temporary files (.*.tmp)
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON Lines instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads that read, hash and write, 1 to 1024; as many as there are cores by default, twice as many with --write
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Read at most so many bytes per second, such as 200M; with --write each byte counts twice, when it is copied and when
    /// the copy is verified
    #[arg(long, value_name = "BYTES", value_parser = rate)]
    pub(crate) limit_rate: Option<NonZeroU64>,
    /// Give way to everything else that runs on this machine
    #[arg(long)]
    pub(crate) nice: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}
