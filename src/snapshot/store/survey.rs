//! What a state directory holds, by names and kinds alone, and who may change that.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;

use super::files::{Files, Kind};
use super::turn::temporary_name;
use crate::snapshot::NodeId;

/// A name in a state directory, and what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateFile {
    /// The name.
    pub name: OsString,
    /// What stands behind it.
    pub kind: StateFileKind,
    /// Whether others than its owner may write to it, as its mode says: to a snapshot, whatever they like. Never so of a
    /// symbolic link.
    pub is_writable_by_others: bool,
}

/// What stands behind a name in a state directory. Nothing is known yet of what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateFileKind {
    /// A regular file with the name of this node's snapshot.
    Snapshot(NodeId),
    /// A symbolic link with the name of this node's snapshot. Never followed.
    SymbolicLink(NodeId),
    /// A directory, a pipe, a socket or a device with the name of this node's snapshot.
    NotAFile(NodeId),
    /// This node's temporary file: of a checkpoint that goes on, or of one that a crash ended. Never read; its next checkpoint
    /// clears it away.
    Temporary(NodeId),
    /// Anything else. A store leaves it alone.
    Foreign,
}

/// The file name of a node's snapshot.
pub(super) fn snapshot_name(node: &NodeId) -> OsString {
    format!("{node}.json").into()
}

/// What lies in a directory, in the order of the names.
pub(super) fn survey(files: &dyn Files) -> io::Result<Vec<StateFile>> {
    let mut names = files.names()?;
    names.sort_unstable();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        // Gone meanwhile is not there.
        if let Some(stamp) = files.look_at(&name)? {
            let kind = kind_of(&name, stamp.kind);
            let is_writable_by_others = stamp.kind != Kind::SymbolicLink && stamp.mode & 0o022 != 0;
            found.push(StateFile { name, kind, is_writable_by_others });
        }
    }
    Ok(found)
}

fn kind_of(name: &OsStr, kind: Kind) -> StateFileKind {
    let node = |prefix: &str, suffix: &str| {
        let node = name.to_str()?.strip_prefix(prefix)?.strip_suffix(suffix)?;
        NodeId::try_from(node).ok()
    };
    match (node("", ".json"), node(".", ".tmp").filter(|node| temporary_name(node) == name), kind) {
        (Some(node), _, Kind::File) => StateFileKind::Snapshot(node),
        (Some(node), _, Kind::SymbolicLink) => StateFileKind::SymbolicLink(node),
        (Some(node), _, Kind::Directory | Kind::Other) => StateFileKind::NotAFile(node),
        (None, Some(node), Kind::File) => StateFileKind::Temporary(node),
        (None, ..) => StateFileKind::Foreign,
    }
}

/// Why others than the owner may change what a state directory holds: plant a snapshot, or take one away. Nothing in a
/// snapshot tells who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DirectoryWarning {
    /// Everybody may write to it.
    WritableByAll,
    /// Its group may write to it.
    WritableByGroup,
    /// It belongs to this user, who is neither the superuser nor whoever runs this program.
    OwnedByAnother(u32),
}

impl fmt::Display for DirectoryWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WritableByAll => {
                f.write_str("everybody may write to it, and so plant or remove snapshots: chmod go-w")
            }
            Self::WritableByGroup => {
                f.write_str("its group may write to it, and so plant or remove snapshots: chmod g-w")
            }
            Self::OwnedByAnother(user) => {
                write!(
                    f,
                    "it belongs to user {user}, who may plant or remove snapshots: unless the node runs as that user, chown \
                     it to who runs the node"
                )
            }
        }
    }
}

pub(super) fn warnings(files: &dyn Files) -> io::Result<Vec<DirectoryWarning>> {
    let rights = files.rights()?;
    let found = [
        (rights.mode & 0o002 != 0, DirectoryWarning::WritableByAll),
        (rights.mode & 0o022 == 0o020, DirectoryWarning::WritableByGroup),
        (!rights.owner_is_trusted, DirectoryWarning::OwnedByAnother(rights.owner)),
    ];
    Ok(found.into_iter().filter_map(|(is_so, warning)| is_so.then_some(warning)).collect())
}
