//! What can be asked for on the command line.

mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use membrane_codec::FrameReader;

pub(crate) use self::verify::{Checks, Reports, VerifyArgs};

const EXIT_STATUS: &str = "\
Exit status:
  0  all well
  1  damage or a failed check was found
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
    /// Write a frame from an identity and a payload
    Canonicalize(CanonicalizeArgs),
    /// Write a frame's payload, only after its trailer held
    Extract(ExtractArgs),
    /// Print an identity's fingerprint
    Fingerprint(FingerprintArgs),
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
