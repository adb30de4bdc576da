//! Where a file lies.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, Stat};

use crate::scrub::{Directory, Entry};

/// A name in an open directory.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) directory: Arc<dyn AsFd + Send + Sync>,
    pub(super) name: CString,
}

impl Place {
    pub(super) fn of(entry: &Entry) -> io::Result<Self> {
        if let Some(directory) = entry.directory() {
            let directory: Arc<dyn AsFd + Send + Sync> = Arc::<Directory>::clone(directory);
            return Ok(Self { directory, name: entry.name().to_owned() });
        }
        // Through a symbolic link that was asked for, the file behind it is replaced.
        let path = std::fs::canonicalize(entry.path())?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "names no file"));
        };
        let directory = rustix::fs::open(parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { directory: Arc::new(directory), name: CString::new(name.as_bytes())? })
    }

    /// Another name in the same directory.
    pub(super) fn beside(&self, name: CString) -> Self {
        Self { directory: Arc::clone(&self.directory), name }
    }

    pub(super) fn look(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&*self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&*self.directory, &self.name, AtFlags::empty())?)
    }

    /// Gives what lies here another name in the same directory, over what has that name.
    pub(super) fn rename_over(&self, name: &CStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&*self.directory, &self.name, &*self.directory, name)?)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn rename(&self, name: &CStr, how: rustix::fs::RenameFlags) -> rustix::io::Result<()> {
        rustix::fs::renameat_with(&*self.directory, &self.name, &*self.directory, name, how)
    }
}
