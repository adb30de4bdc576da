//! [`Turn`]: the right to change a node's snapshot, which one thread of one process has at a time.
//!
//! Whoever has the turn holds a lock on the node's temporary file, `.{node_id}.tmp`, which only they could create. The lock
//! goes with the process that holds it, however that ends; so a temporary file that nobody has locked is a leftover, and is
//! cleared away. Nodes have their own files: a turn of one is no matter to another.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use super::files::{Files, Kind, OpenFile};
use crate::snapshot::NodeId;

pub(super) struct Turn<'f> {
    files: &'f dyn Files,
    name: OsString,
    file: Box<dyn OpenFile>,
    was_renamed: bool,
}

/// The name of a node's temporary file.
pub(super) fn temporary_name(node: &NodeId) -> OsString {
    // No longer than a file name may be, and no snapshot's: a node's name does not start with a period.
    format!(".{node}.tmp").into()
}

impl<'f> Turn<'f> {
    /// Waits for the turn.
    pub(super) fn take(files: &'f dyn Files, node: &NodeId) -> io::Result<Self> {
        let name = temporary_name(node);
        loop {
            let file = match files.create(&name) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    clear_leftover(files, &name)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let turn = Self { files, name: name.clone(), file, was_renamed: false };
            turn.file.lock()?;
            // Between its creation and its lock somebody may have taken it for a leftover.
            if turn.has_name()? {
                return Ok(turn);
            }
        }
    }

    /// Puts what was written on disk and gives it its name. The name is on disk only after the directory was synced.
    pub(super) fn commit(mut self, target: &OsStr) -> io::Result<()> {
        self.file.sync()?;
        self.files.rename(&self.name, target)?;
        self.was_renamed = true;
        Ok(())
    }

    fn has_name(&self) -> io::Result<bool> {
        is_named(self.files, &self.name, &*self.file)
    }
}

impl Write for Turn<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Turn<'_> {
    /// Removes the temporary file, before its lock goes. Where that fails it is a leftover, which the next turn clears away.
    fn drop(&mut self) {
        if !self.was_renamed && self.has_name().unwrap_or(false) {
            let _ = self.files.remove(&self.name);
        }
    }
}

/// Waits until nobody holds what has this name, and removes it if it still has it then.
fn clear_leftover(files: &dyn Files, name: &OsStr) -> io::Result<()> {
    match files.look_at(name)?.map(|stamp| stamp.kind) {
        None => Ok(()),
        Some(Kind::File) => match files.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Whether it is a leftover only its lock tells, and that takes opening it. Removed while somebody writes to it,
            // its name would be free for another, and the first one's rename would put the other's half on the snapshot.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(io::Error::new(
                error.kind(),
                format!(
                    "{} belongs to another user and may not be opened: if none of their processes is writing a checkpoint, \
                     remove it ({error})",
                    name.display()
                ),
            )),
            Err(error) => Err(error),
            Ok(file) => {
                file.lock()?;
                if is_named(files, name, &*file)? { remove(files, name) } else { Ok(()) }
            }
        },
        // Not followed, not written to: whoever put it there, it goes.
        Some(Kind::SymbolicLink | Kind::Other) => remove(files, name),
        Some(Kind::Directory) => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            format!("the directory {} stands where its temporary file belongs", name.display()),
        )),
    }
}

fn remove(files: &dyn Files, name: &OsStr) -> io::Result<()> {
    match files.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Whether it is this file that has the name.
fn is_named(files: &dyn Files, name: &OsStr, file: &dyn OpenFile) -> io::Result<bool> {
    let named = files.look_at(name)?;
    Ok(named.map(|stamp| stamp.id) == Some(file.stamp()?.id))
}
