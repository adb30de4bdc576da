//! [`StoreError`]: why a store could not do what it was asked for.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::snapshot::SnapshotError;

/// The two classes of the contract (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreErrorClass {
    /// The file was read, and is no snapshot.
    Schema,
    /// Something could not be read or written. No verdict on what is there.
    Io,
}

impl StoreErrorClass {
    /// The status word of this class in reports: `schema_error` or `io_error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema_error",
            Self::Io => "io_error",
        }
    }
}

impl fmt::Display for StoreErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a store was about when the operating system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening, making or listing the state directory.
    OpenDirectory,
    /// Reading a snapshot.
    Read,
    /// Waiting for the turn to change a node's snapshot: creating and locking its temporary file.
    TakeTurn,
    /// Writing the temporary file, putting it on disk, and renaming it. The snapshot that was there is there.
    Write,
    /// Removing a snapshot. It is still there.
    Remove,
    /// Putting the new name, or its absence, on disk. It is as it should be now; a loss of power may undo it.
    SyncDirectory,
}

impl Operation {
    const fn cannot(self) -> &'static str {
        match self {
            Self::OpenDirectory => "the state directory cannot be opened",
            Self::Read => "cannot be read",
            Self::TakeTurn => "cannot be changed, since its temporary file cannot be created or locked",
            Self::Write => "cannot be written, and is as it was",
            Self::Remove => "cannot be removed",
            Self::SyncDirectory => {
                "was changed, but its directory cannot be synced: a loss of power may undo the change"
            }
        }
    }
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreProblem {
    /// The file holds no snapshot. It stays as it is.
    Snapshot(SnapshotError),
    /// A symbolic link stands where the snapshot belongs. It is neither followed nor replaced.
    SymbolicLink,
    /// A directory, a pipe, a socket or a device stands where the snapshot belongs.
    NotAFile,
    /// The operating system refused.
    Io(Operation, io::Error),
    /// The snapshot is stale, and deleting it failed.
    Stale {
        /// Its epoch.
        cluster_epoch: u64,
        /// At what it failed; [`Operation::SyncDirectory`] when it is deleted, and a loss of power may bring it back.
        operation: Operation,
        /// Why.
        error: io::Error,
    },
}

/// Why a [`SnapshotStore`](super::SnapshotStore) could not do what it was asked for. Names the path.
#[derive(Debug)]
pub struct StoreError(Box<(PathBuf, StoreProblem)>);

impl StoreError {
    pub(super) fn new(path: PathBuf, problem: StoreProblem) -> Self {
        Self(Box::new((path, problem)))
    }

    /// The same error, of a snapshot that was to be deleted since it is stale.
    pub(super) fn of_stale(self, cluster_epoch: u64) -> Self {
        let (path, problem) = *self.0;
        let problem = match problem {
            StoreProblem::Io(operation, error) => StoreProblem::Stale { cluster_epoch, operation, error },
            other => other,
        };
        Self::new(path, problem)
    }

    /// The snapshot's path, or that of the state directory.
    pub fn path(&self) -> &Path {
        &self.0.0
    }

    /// What went wrong.
    pub fn problem(&self) -> &StoreProblem {
        &self.0.1
    }

    /// Whether the file is at fault or could not be used.
    pub fn class(&self) -> StoreErrorClass {
        match self.problem() {
            StoreProblem::Snapshot(_) => StoreErrorClass::Schema,
            StoreProblem::SymbolicLink | StoreProblem::NotAFile | StoreProblem::Io(..) | StoreProblem::Stale { .. } => {
                StoreErrorClass::Io
            }
        }
    }

    /// The stable reason code: one of [`SnapshotReason`](crate::snapshot::SnapshotReason), `symbolic_link`, `not_a_file`
    /// or `io`.
    pub fn reason(&self) -> &'static str {
        match self.problem() {
            StoreProblem::Snapshot(error) => error.reason().as_str(),
            StoreProblem::SymbolicLink => "symbolic_link",
            StoreProblem::NotAFile => "not_a_file",
            StoreProblem::Io(..) | StoreProblem::Stale { .. } => "io",
        }
    }

    /// Where in the file, in bytes, when it holds no snapshot.
    pub fn offset(&self) -> Option<u64> {
        match self.problem() {
            StoreProblem::Snapshot(error) => Some(error.offset()),
            _ => None,
        }
    }

    /// The path of the field at fault, when it is a field.
    pub fn field(&self) -> Option<&str> {
        match self.problem() {
            StoreProblem::Snapshot(error) => error.field(),
            _ => None,
        }
    }
}

impl fmt::Display for StoreProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(error) => error.fmt(f),
            Self::SymbolicLink => f.write_str(
                "is a symbolic link, which is neither followed nor replaced: remove it, or put the file itself there",
            ),
            Self::NotAFile => f.write_str("is not a regular file: move it out of the state directory"),
            Self::Io(operation, error) => write!(f, "{}: {error}", operation.cannot()),
            Self::Stale { cluster_epoch, operation, error } => {
                write!(f, "is stale, of epoch {cluster_epoch}, and {}: {error}", operation.cannot())
            }
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quoted where it holds what would not show: file names can be anybody's.
        let path = self.path().to_string_lossy();
        let quoted = format!("{path:?}");
        let path = if quoted.len() == path.len() + 2 { &path } else { quoted.as_str() };
        write!(f, "{path}: {}", self.problem())
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.problem() {
            StoreProblem::Snapshot(error) => Some(error),
            StoreProblem::Io(_, error) | StoreProblem::Stale { error, .. } => Some(error),
            StoreProblem::SymbolicLink | StoreProblem::NotAFile => None,
        }
    }
}
