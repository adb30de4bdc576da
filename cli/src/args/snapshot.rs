//! What can be asked of `snapshot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::EXIT_STATUS;

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Show what a snapshot holds: members, how many shards are whose, counters
    Show(ShowArgs),
    /// Check every snapshot of a state directory, and name what else lies there
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = EXIT_STATUS,
    after_long_help = "\
The shards are counted, not listed: the file is JSON.

With --json, one object:
  {\"path\", \"status\", \"cluster_epoch\", \"captured_at\", \"membership\", \"shards\", \"server\", \"nodes\", \"unknown\"}
    status      ok | schema_error, and then reason, detail, offset and field say why |
                io_error, with reason and detail, when FILE cannot be read
    shards      {\"primary_map\", \"replica_map\"}: how many hashes each map has
    nodes       for each node that is a member or has shards: {\"node_id\", \"is_member\", \"primaries\", \"replicas\"}
    unknown     the paths of keys that the format gives no meaning; a checkpoint keeps them
    path_bytes  the path in hexadecimal, only when it is not UTF-8

Exit status:
  0  all well
  1  FILE is no snapshot
  2  usage error, or something could not be read or written (wins over 1)"
)]
pub(crate) struct ShowArgs {
    /// A snapshot, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = EXIT_STATUS,
    after_long_help = "\
Nothing is changed, and no symbolic link is followed below DIR. Restoring a node deletes its
snapshot when that is stale; this does not.

With --json, one object per name, in the order of the names:
  {\"path\", \"status\", \"reason\", \"detail\", ...}
    status   ok            a snapshot: cluster_epoch, captured_at, members, primaries, replicas
             schema_error  no snapshot: reason, detail, offset, field
             io_error      where a snapshot belongs, something that cannot be read: reason is io;
                           symbolic_link or not_a_file when there is something else than a file
             temporary     of a checkpoint that goes on, or of one that a crash ended: the node's
                           next one clears it away
             foreign       something else, which no node reads
    warning      why others may change what the file holds; told, and no failure
    path_bytes   the path in hexadecimal, only when it is not UTF-8
  and last {\"summary\": {\"snapshots\", \"ok\", \"schema_error\", \"io_error\", \"temporary\", \"foreign\",
    \"newest\", \"warnings\"}}
    newest     the node whose snapshot was captured last
    warnings   why others may change what DIR holds; told, and no failure
  When DIR cannot be opened or listed, it has a line of its own, with io_error.

Exit status:
  0  all well
  1  a file with the name of a snapshot is none
  2  usage error, or something could not be read or written (wins over 1)"
)]
pub(crate) struct VerifyArgs {
    /// A state directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Print JSON Lines instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
