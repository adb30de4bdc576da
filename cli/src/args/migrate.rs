//! What can be asked of `migrate`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use membrane_codec::TenantId;

use super::verify::bytes;
use super::{EXIT_STATUS, Limits};

const FRAMES_LONG_HELP: &str = "\
Takes frames of v2 (magic C0 DE 01 02, schema 2), v4 (C0 DE 01 04, schema 4) and v5 magic over
schema 2 or 4, which Membrane's own tool leaves behind. Each is verified, then magic and schema
become those of v5; all else stays. Files in v5 are known by their header and not touched: verify
checks them. A file appears whole or not at all under its name, and keeps owner, rights, extended
attributes and times. What is refused or fails is left as it is.

No writer may have the files open while --write runs: what one writes after its file was converted
goes to the old file, which has no name any more, and is lost. Names .*.migrate.tmp are reserved for
files that are being written; those that a killed run left are removed by the next one.

A run can be interrupted and started again: what is done is v5 then. It needs room on disk for
128 MiB of copies for each thread, or for one file if that is larger. A file that has several
names (hard links) is converted under each that is found, and is a file of its own there. Where
ROOTs overlap, each file is looked at once.

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

const ENVELOPES_LONG_HELP: &str = "\
schema_version 2, 3 and 4 become 5, and what is missing is filled in behind it: tenant_id as
--tenant says, consistency \"strong\", hlc 0, and fingerprint_compat, computed from the identity.
The text is edited, not written anew: every other key, other JSON, blank lines and the ends of lines
stay byte for byte. An envelope that would not be valid in v5 is told of and stays; so is a line
that is not JSON. A file appears whole or not at all under its name, and keeps owner, rights,
extended attributes and times. One without old envelopes is not written.

No writer may have the files open while --write runs: what one writes after its file was converted
goes to the old file, which has no name any more, and is lost. Names .*.migrate.tmp are reserved for
files that are being written; those that a killed run left are removed by the next one.

A file that is JSON throughout is taken as a whole. Any other is taken line by line if one of its
lines, as far as --max-len reaches, is an object by itself; if none is, it is refused as a whole.

With --json, one object for each refusal and each file:
  {\"path\", \"line\", \"status\": \"refused\", \"reason\", \"detail\"}
    line     from 1: where the envelope begins, or where the text is not JSON; offsets in detail
             count from the first byte of the envelope, or of that line
    reason   message_json | message_version (schema 1) | message_field | identity_json |
             identity_field | too_long
  {\"path\", \"status\", \"v2\", \"v3\", \"v4\", \"current\", \"refused\", \"other\", \"detail\"}
    status   unchanged | convertible (without --write) | converted | io_error
    v2, v3, v4   envelopes that are converted, or would be
    current  envelopes whose schema_version is 5; `message` checks the rest of them
    other    JSON that is no envelope
    links    how many names a converted file had, if several
    path_bytes   the path in hexadecimal, only when it is not UTF-8
  and last {\"summary\": {\"files\", \"bytes\", \"convertible\", \"converted\", \"current\", \"refused\",
    \"other\", \"io_error\"}}, the last counting files, the others envelopes; and where there was any:
    vanished, links_parted, leftovers_removed (of a run that was killed), passed_over, interrupted

Exit status:
  0  every envelope is v5, or would be with --write
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
    /// Convert stored envelopes (fragment messages) of schema 2, 3 and 4, in JSON and JSON Lines; without --write only say
    /// what would be done
    Envelopes(MigrateEnvelopesArgs),
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
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) limit_rate: Option<NonZeroU64>,
    /// Give way to everything else that runs on this machine
    #[arg(long)]
    pub(crate) nice: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS, after_long_help = ENVELOPES_LONG_HELP)]
pub(crate) struct MigrateEnvelopesArgs {
    /// Files, and directories (searched for *.json, *.jsonl and *.ndjson)
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Whose the envelopes are that do not say it
    #[arg(long, value_name = "TENANT", default_value = "public", value_parser = tenant)]
    pub(crate) tenant: TenantId,
    /// Convert. Without this, a dry run: everything is read, and nothing written
    #[arg(long)]
    pub(crate) write: bool,
    /// Print JSON Lines instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Take documents and lines of up to so many bytes, such as 256M; each thread needs some times as much memory
    #[arg(long, value_name = "BYTES", default_value = "64Mi", value_parser = bytes)]
    pub(crate) max_len: NonZeroU64,
    /// Threads, each with a file of its own, 1 to 1024; as many as there are cores by default
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Read at most so many bytes per second, such as 200M
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) limit_rate: Option<NonZeroU64>,
    /// Give way to everything else that runs on this machine
    #[arg(long)]
    pub(crate) nice: bool,
}

fn tenant(text: &str) -> Result<TenantId, String> {
    text.parse().map_err(|error: membrane_codec::DomainError| error.to_string())
}
