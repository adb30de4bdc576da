//! What can be asked for on the command line.

mod migrate;
mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use membrane_codec::FrameReader;

pub(crate) use self::migrate::{MigrateArgs, MigrateCommand, MigrateEnvelopesArgs, MigrateFramesArgs};
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
  2  usage error, or something could not be read or written (wins over 1)";

/// Reads, writes and verifies Membrane v5 frames.
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
bytes at a time.

With --json, one object per line:
  {\"event\", \"offset\", ...}, in bytes
    event   frame | refused | gap | unreadable
    frame        len, payload_len, payload_hash, payload_sha256, fingerprint, and
                 status   saved | already_there | found (with --dry-run) | failed
                 name     its file in DIR, when it is there
                 detail   why it failed: FILE changed, or could not be read a second time
    refused      a magic at which no intact frame starts: reason, detail
                 reason   the code of the check that failed, its offset counting from the place;
                          unreadable; or too_deep, see --max-depth
    gap          bytes that belong to no intact frame: len, zeros (whether all are 0)
    unreadable   len, detail
  and last {\"summary\": {\"bytes\", \"frames\", \"saved\", \"already_there\", \"failed\",
    \"refused\", \"too_deep\", \"frame_bytes\", \"zero_bytes\", \"other_bytes\",
    \"unreadable_bytes\"}}
    the last four together are bytes, the length of FILE. Without a summary the run stopped, and
    standard error says why

Exit status:
  0  FILE holds intact frames and zeros alone; all frames are saved
  1  there was something else; every intact frame is saved
  2  usage error, or something could not be read or written (wins over 1)"
)]
pub(crate) struct SalvageArgs {
    /// What to search: any file, or a block device. It is only read
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// Where to put the frames; made if it is not there
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Only say what there is
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON Lines instead of text
    #[arg(long)]
    pub(crate) json: bool,
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
