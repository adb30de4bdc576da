//! What can be asked for on the command line.

mod migrate;
pub(crate) mod snapshot;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use membrane_codec::{CompatFingerprint, FrameReader};

pub(crate) use self::migrate::{MigrateArgs, MigrateCommand, MigrateEnvelopesArgs, MigrateFramesArgs};
pub(crate) use self::snapshot::SnapshotCommand;
pub(crate) use self::verify::{Checks, Reports, VerifyArgs};

const EXIT_STATUS: &str = "\
Exit status:
  0  all well
  1  damage or a failed check was found
  2  usage error, or something could not be read or written (wins over 1)";

const SALVAGE_EXIT_STATUS: &str = "\
Exit status:
  0  FILE holds intact frames and zeros alone; all frames are saved
  1  there was something else; every intact frame is saved
  2  usage error, or something could not be read or written, or lay too deep in damaged frames to
     be checked (wins over 1)";

/// Reads, writes and verifies Membrane v5 frames and messages.
#[derive(Debug, Parser)]
#[command(name = "membrane-codec", version, after_help = EXIT_STATUS, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check that frames are what was written: every rule of the format, every payload's hash
    Verify(Box<VerifyArgs>),
    /// Show what a frame holds and which checks hold
    Inspect(InspectArgs),
    /// Save every intact frame inside a damaged file, a log or an image of a disk
    Salvage(SalvageArgs),
    /// Write a frame from an identity and a payload
    Canonicalize(CanonicalizeArgs),
    /// Write a frame's payload, only after its trailer held
    Extract(ExtractArgs),
    /// Print an identity's fingerprint
    Fingerprint(FingerprintArgs),
    /// Check wire messages: the JSON bodies of requests that carry a fragment
    Message(MessageArgs),
    /// Show and check the snapshots of cluster state that nodes restore from
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Convert what older versions wrote to v5
    Migrate(MigrateArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct InspectArgs {
    /// A frame, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(
    after_help = SALVAGE_EXIT_STATUS,
    after_long_help = "\
Each frame becomes the file {payload_hash of its identity}.blob, in lower case, whole or not at
all. Nothing is ever overwritten: a frame that is there already, byte for byte, is left; another
frame of the same name becomes {payload_hash}.2.blob, .3 and so on. So a run that was interrupted,
or stopped at a full disk, can be started again. Frames inside an intact frame's payload are
payload; frames inside a damaged one are saved. What cannot be read of FILE is passed over, 4096
bytes at a time. A run that was killed leaves its last file as .*.tmp in DIR: remove that.

With --json, one object per line:
  {\"event\", \"offset\", ...}, in bytes
    event   frame | refused | gap | unreadable
    frame        len, payload_len, payload_hash, payload_sha256, fingerprint, and
                 status   saved | already_there | found (with --dry-run) | failed
                 name     its file in DIR, when it is there
                 detail   why it failed: FILE changed, or could not be read a second time
    refused      a magic at which no intact frame starts: reason, detail
                 reason   the code of the check that failed, its offset counting from the place;
                          unreadable; or too_deep: not checked, see --max-depth
    gap          bytes that belong to no intact frame: len, zeros (whether all are 0)
    unreadable   len, detail
  and last {\"summary\": {\"bytes\", \"frames\", \"saved\", \"already_there\", \"failed\",
    \"refused\", \"too_deep\", \"frame_bytes\", \"zero_bytes\", \"other_bytes\",
    \"unreadable_bytes\"}}
    refused   places that were checked; too_deep   those that were not, and may be frames. The last
    four together are bytes, the length of FILE. Without a summary the run stopped, at a
    signal or at something that could not be written, and standard error says which and where

Exit status:
  0  FILE holds intact frames and zeros alone; all frames are saved
  1  there was something else; every intact frame is saved
  2  usage error, or something could not be read or written, or lay too deep in damaged frames to
     be checked (wins over 1)"
)]
pub(crate) struct SalvageArgs {
    /// What to search: any file, or a block device. It is only read
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// Where to put the frames; made if it is not there, with the directories above it. Refused where writing could
    /// destroy what is searched: beside FILE, or on a device that lies on FILE
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run", value_parser = file())]
    pub(crate) output: Option<PathBuf>,
    /// Only say what there is
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON Lines instead of text. Not with --quiet
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what is neither an intact frame nor zeros, and nothing else: no summary, no progress. Not with --json or
    /// --progress-every
    #[arg(short, long, conflicts_with_all = ["json", "progress_every"])]
    pub(crate) quiet: bool,
    /// Also without a terminal, print one line about progress every so many seconds. Not with --quiet
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    pub(crate) progress_every: Option<Duration>,
    /// Do not check what lies inside more than this many damaged frames. Whoever nests headers in a payload on purpose makes
    /// the search take up to this many times as long
    #[arg(long, value_name = "NUMBER", default_value_t = 1024)]
    pub(crate) max_depth: usize,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct CanonicalizeArgs {
    /// The identity: a JSON file, or - for standard input
    #[arg(long, value_name = "ID.json")]
    pub(crate) identity: PathBuf,
    /// The payload: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) payload: PathBuf,
    /// Where to put the frame; without it or as -, standard output. The file appears whole or not at all
    #[arg(short, long, value_name = "FRAME")]
    pub(crate) output: Option<PathBuf>,
    /// Refuse an identity whose payload_hash is not the SHA-256 of the payload
    #[arg(long)]
    pub(crate) check_hash: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ExtractArgs {
    /// A frame, or - for standard input
    #[arg(value_name = "FRAME")]
    pub(crate) path: PathBuf,
    /// Where to put the payload; without it or as -, standard output. The file appears whole or not at all
    #[arg(short, long, value_name = "PAYLOAD")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct FingerprintArgs {
    /// The identity: a JSON file, or - for standard input
    #[arg(value_name = "ID.json")]
    pub(crate) path: PathBuf,
    /// Print its fingerprint_compat on a second line
    #[arg(long)]
    pub(crate) compat: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => Err("expected a whole number of seconds, at least 1".into()),
    }
}

/// Parses the path of something that cannot be standard input or output.
fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path == Path::new("-") { Err("- names no file here; for a file of this name give ./-") } else { Ok(path) }
    })
}

#[derive(Debug, Args)]
#[command(
    after_help = EXIT_STATUS,
    after_long_help = "\
A file is taken for one document unless it has several lines and one of them is an object by
itself: then each line is a message, blank ones aside. An array of messages is none. Documents and
lines of more than 64 MiB are not judged.

With --json, one object per message:
  {\"line\"?, \"status\", \"reason\"?, \"detail\"?, \"findings\"?}
    line      from 1, where there is one message per line
    status    ok | schema_error | io_error
    reason    message_json | message_version | message_field | identity_json | identity_field;
              too_long with io_error
    findings  fingerprint_compat_mismatch | fingerprint_compat_unstated, with --compat

Exit status:
  0  all well
  1  a message is not valid, or not for the engine that --compat names
  2  usage error, or something could not be read or written (wins over 1)"
)]
pub(crate) struct MessageArgs {
    /// A JSON document, or one per line; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// Print JSON Lines instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The fingerprint_compat of a live engine: messages that state another one, or none, are findings
    #[arg(long, value_name = "FINGERPRINT")]
    pub(crate) compat: Option<CompatFingerprint>,
}

#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// Refuse identities longer than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = FrameReader::DEFAULT_MAX_IDENTITY_LEN)]
    pub(crate) max_identity_len: u32,
}

impl Limits {
    pub(crate) fn reader(&self) -> FrameReader {
        FrameReader::new().max_identity_len(self.max_identity_len)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn help_says_which_options_exclude_each_other() {
        let program = Cli::command();
        let mut conflicts = 0;
        for command in program.get_subcommands() {
            for option in command.get_arguments() {
                for other in command.get_arg_conflicts_with(option) {
                    conflicts += 1;
                    let says = |one: &clap::Arg, other: &clap::Arg| {
                        let help = one.get_help().map(ToString::to_string).unwrap_or_default();
                        let (_, excluded) = help.split_once("Not with ").unwrap_or_default();
                        excluded.contains(&format!("--{}", other.get_long().unwrap_or("?")))
                    };
                    assert!(
                        says(option, other) && says(other, option),
                        "{}: {} and {}",
                        command.get_name(),
                        option.get_id(),
                        other.get_id()
                    );
                }
            }
        }
        assert!(conflicts >= 11, "{conflicts}");
    }
}
