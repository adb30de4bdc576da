//! What can be asked of `verify`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bytesize::ByteSize;
use clap::Args;
use membrane_codec::scrub::Subset;

use super::{EXIT_STATUS, Limits, file, interval};

const LONG_HELP: &str = "\
A run that finds nothing to verify says so on standard error, with what it passed over, and ends with status 0: an empty
store is not a damaged one. It does not where --state, --subset, --sample or --newer-than passed over all there was.

Failures are printed as they are found, in no order, and counted in the summary at the end. Files that a directory's
listing had and that were gone when they were to be opened are counted as vanished, no more: stores in use do that.

With --json, one object per line:
  {\"path\", \"status\", \"reason\", \"detail\", \"payload_len\", \"payload_hash\", \"fingerprint\"}
    status   ok | schema_error | corrupt_payload | io_error
    reason   the code of the check that failed; absent when ok and for io_error
    detail   the failure or the findings in words; absent when there are none
    payload_len, payload_hash, fingerprint   as the frame and its identity state them, where they could be read
    findings   codes of what --check-hash, --check-key and --manifest found; absent when nothing. The status stays ok,
               the frame being sound; the exit status is 1
    offset   with --concatenated: where in the file the frame begins
    not_checked   with --concatenated: the bytes from offset to the file's end, when the frame does not say where it
                  ends: no further frame was looked for in them. salvage finds those
    changed_while_read   true when a file that failed was written to meanwhile
    quarantined, not_quarantined   where --quarantine moved the file, or why it stays
    path_bytes   the path in hexadecimal, only when it is not UTF-8
  with --manifest, {\"missing\", \"fingerprint\"}: a key of which no file was found
  and last {\"summary\": {\"frames\", \"ok\", \"schema_error\", \"corrupt_payload\", \"io_error\", \"bytes\"}}
    frames   every frame and path that got a line, unreadable ones among them
    bytes    what was read for the verdicts
    findings, missing, quarantined   how many, where that was asked for
    not_judged   keys of --manifest of which no file was found in a run that could not look everywhere, a directory
                 being unreadable or the run interrupted: they may have one, and get no line
    not_quarantined   files that were to move and stay, when there are any: the exit status then is 2
    verified_before   files that --state passed over
    not_selected   files that --subset, --sample and --newer-than passed over
    not_checked   the sum of those of the frames, when there are any
    vanished, passed_over   what directories held beside frames, when there was anything
    seed   the seed of --sample
    not_direct   files that --direct could not read past the page cache
    interrupted   true when a signal, or a list of paths that broke off, ended the run before its end

What --json printed is a manifest for --manifest when it is whole, with its summary, and of a run that read every file. The
keys of damaged and missing frames stay expected. What an interrupted run or one with --subset, --sample, --newer-than or a
--state that passed over files printed is refused, as are lines of frames with findings: these would become what is expected.

Ctrl-C and TERM end a run with the summary so far, its report and its metrics; while it waits for standard input as PATH,
for a manifest, or for the writer of a pipe, at once and without them.

Exit status:
  0  all well
  1  damage or a failed check was found
  2  usage error, or something could not be read or written, or the run was interrupted (wins over 1)";

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS, after_long_help = LONG_HELP)]
pub(crate) struct VerifyArgs {
    /// Files, directories (searched for *.blob and *.frame), or - for one frame on standard input
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Also check the paths that this file lists, one per line; - for standard input. All of them are files: the path - in
    /// a list is the file ./-, and told as that
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// Paths in --files-from end with a NUL instead of a line feed
    #[arg(short = '0', long, requires = "files_from")]
    pub(crate) null: bool,
    /// Check every regular file in directories, whatever its name, except temporary files (.*.tmp) and what this run itself
    /// writes: state, report and metrics. Not with --quarantine
    #[arg(long)]
    pub(crate) all: bool,
    /// Follow symbolic links in directories; each directory is visited once
    #[arg(long)]
    pub(crate) follow: bool,
    /// Files may hold several frames one after another; each is checked, up to the first that does not say where it ends.
    /// Not with --check-key, --manifest, --quarantine or
    /// --state, which are about files with one frame
    #[arg(long, conflicts_with_all = ["check_key", "manifest", "quarantine", "state"])]
    pub(crate) concatenated: bool,

    #[command(flatten)]
    pub(crate) checks: Checks,
    #[command(flatten)]
    pub(crate) portion: Portion,
    #[command(flatten)]
    pub(crate) load: Load,
    #[command(flatten)]
    pub(crate) reports: Reports,
}

/// What is checked beyond the format, and what happens to what fails.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct Checks {
    /// Fail frames whose payload_hash is not the SHA-256 of their payload
    #[arg(long)]
    pub(crate) check_hash: bool,
    /// Fail frames whose payload_hash is not their file's stem, the key under which a store holds them. Not with
    /// --concatenated or with PATH -
    #[arg(long)]
    pub(crate) check_key: bool,
    /// Fail what is not as this file (- for standard input) says: one line for each key, KEY or KEY FINGERPRINT, or all that
    /// --json printed of a run over the whole store without findings. Tells missing keys, files that are not listed, and
    /// frames with another identity. Not with --concatenated or with PATH -
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Move damaged frames to this directory of the same file system, each with a note why. What could not be read stays, as
    /// do frames of other versions, what --max-identity-len refused, and links. Not with --all, which takes files for
    /// damaged frames that are none, or with --concatenated
    #[arg(long, value_name = "DIR", conflicts_with = "all", value_parser = file())]
    pub(crate) quarantine: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Which files are checked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Portion")]
pub(crate) struct Portion {
    /// Check part N of T: by name, so that T runs check each file once, whatever was added meanwhile
    #[arg(long, value_name = "N/T")]
    pub(crate) subset: Option<Subset>,
    /// Check a random sample, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) sample: Option<f64>,
    /// The seed of --sample: the same seed, the same sample. Another one for each run by default
    #[arg(long, value_name = "NUMBER", requires = "sample")]
    pub(crate) seed: Option<u64>,
    /// Check files that were written after this time: 2026-11-30, 2026-11-30T04:00:00Z, or so long ago, such as 36h
    #[arg(long, value_name = "TIME", value_parser = point_in_time)]
    pub(crate) newer_than: Option<SystemTime>,
    /// Remember in this file what was verified. A run that was interrupted goes on where it was, however long ago that is
    /// (--max-age sets a bound); failures are checked again each time. The file holds one run: where another part or PATH
    /// comes to its end, the next run begins anew, so give each its own. Not with --concatenated
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub(crate) state: Option<PathBuf>,
    /// Check only what --state has not seen sound for so long, such as 30d, whatever was interrupted when
    #[arg(long, value_name = "TIME", requires = "state", value_parser = humantime::parse_duration)]
    pub(crate) max_age: Option<Duration>,
}

/// How much of the machine is used.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct Load {
    /// Threads that read and hash, 1 to 1024; as many as there are cores by default, with --direct four times as many. Spinning
    /// disks want 1
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Read at most so many bytes per second, such as 200M (M is a million, Mi 1048576). Kept over seconds: each thread begins
    /// with a round of at most 4 MiB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) limit_rate: Option<NonZeroU64>,
    /// Read past the page cache (O_DIRECT). Without this, the cache is used and left as it was
    #[arg(long)]
    pub(crate) direct: bool,
    /// Give way to everything else that runs on this machine
    #[arg(long)]
    pub(crate) nice: bool,
}

/// How it is told.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reports")]
pub(crate) struct Reports {
    /// Print JSON Lines instead of text. Not with --verbose or --quiet
    #[arg(long)]
    pub(crate) json: bool,
    /// Print sound frames as well. Not with --json, which does, or --quiet
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Print failures and nothing else: no summary, no progress. Not with --json, --verbose or --progress-every
    #[arg(short, long, conflicts_with_all = ["json", "verbose", "progress_every"])]
    pub(crate) quiet: bool,
    /// Write a page about this run, to open in a browser
    #[arg(long, value_name = "FILE.html", value_parser = file())]
    pub(crate) report: Option<PathBuf>,
    /// Write figures about this run for Prometheus, as node_exporter's textfile collector takes them
    #[arg(long, value_name = "FILE.prom", value_parser = file())]
    pub(crate) metrics: Option<PathBuf>,
    /// Also without a terminal, print one line about progress every so many seconds. Not with --quiet
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    pub(crate) progress_every: Option<Duration>,
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected a percentage between 0% and 100%".into())
}

fn point_in_time(text: &str) -> Result<SystemTime, String> {
    if let Ok(time) = humantime::parse_rfc3339_weak(text).or_else(|_| at_midnight(text)) {
        return Ok(time);
    }
    let ago = humantime::parse_duration(text).ok().and_then(|ago| SystemTime::now().checked_sub(ago));
    ago.ok_or_else(|| "expected a time such as 2026-11-30 or 2026-11-30T04:00:00Z, or how long ago, such as 36h".into())
}

/// A date, in UTC.
fn at_midnight(date: &str) -> Result<SystemTime, humantime::TimestampError> {
    humantime::parse_rfc3339(&format!("{date}T00:00:00Z"))
}

pub(super) fn bytes(text: &str) -> Result<NonZeroU64, String> {
    let bytes: ByteSize = text.parse().map_err(|_| "expected a number of bytes, such as 200M or 1.5Gi")?;
    NonZeroU64::new(bytes.as_u64()).ok_or_else(|| "expected more than 0".into())
}
