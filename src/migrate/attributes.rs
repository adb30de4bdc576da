//! What a file is beside its bytes: owner, rights, extended attributes, times. A file that takes another's place has the
//! other's.

use std::fs::File;
use std::io;

use rustix::fs::{Gid, Mode, Stat, Timespec, Timestamps, Uid};

/// Gives a new file the owner and group of the old one.
///
/// # Errors
/// When the user may not.
pub(super) fn keep_owner(old: &Stat, new: &File) -> io::Result<()> {
    let now = rustix::fs::fstat(new)?;
    // Only what differs: an ordinary user may not even name another one's.
    let owner = (now.st_uid != old.st_uid).then(|| Uid::from_raw(old.st_uid));
    let group = (now.st_gid != old.st_gid).then(|| Gid::from_raw(old.st_gid));
    if owner.is_none() && group.is_none() {
        return Ok(());
    }
    rustix::fs::fchown(new, owner, group).map_err(|error| {
        let error = io::Error::from(error);
        let advice = "its owner and group cannot be kept; run as that owner or as root";
        io::Error::new(error.kind(), format!("{advice}: {error}"))
    })
}

/// Gives a new file the rights, extended attributes and times of the old one, which `source` is.
///
/// # Errors
/// When one of them cannot be kept.
#[allow(clippy::unnecessary_cast, reason = "these types differ between systems")]
pub(super) fn keep(old: &Stat, source: &File, new: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    extended::keep(source, new)?;
    #[cfg(not(target_os = "linux"))]
    let _ = source;
    rustix::fs::fchmod(new, Mode::from_raw_mode(old.st_mode))?;
    let last_access = Timespec { tv_sec: old.st_atime as _, tv_nsec: old.st_atime_nsec as _ };
    let last_modification = Timespec { tv_sec: old.st_mtime as _, tv_nsec: old.st_mtime_nsec as _ };
    let times = Timestamps { last_access, last_modification };
    Ok(rustix::fs::futimens(new, &times)?)
}

#[cfg(target_os = "linux")]
mod extended {
    use std::ffi::CStr;
    use std::fs::File;
    use std::io;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    /// The system's limit for one value, and for the names of all.
    const MAX_LEN: usize = 64 * 1024;

    /// Access control lists are among these.
    pub(super) fn keep(source: &File, new: &File) -> io::Result<()> {
        let mut names = vec![0; MAX_LEN];
        let mut inherited = vec![0; MAX_LEN];
        let (names, inherited) = (list(source, &mut names)?, list(new, &mut inherited)?);
        for name in split(inherited).filter(|name| !split(names).any(|kept| kept == *name)) {
            fremovexattr(new, name).or_else(|error| pardon(name, error))?;
        }
        let (mut value, mut present) = (vec![0; MAX_LEN], vec![0; MAX_LEN]);
        for name in split(names) {
            let len = fgetxattr(source, name, &mut value[..])?;
            let is_there = fgetxattr(new, name, &mut present[..]).is_ok_and(|there| present[..there] == value[..len]);
            if !is_there {
                fsetxattr(new, name, &value[..len], XattrFlags::empty()).or_else(|error| pardon(name, error))?;
            }
        }
        Ok(())
    }

    fn list<'b>(file: &File, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        match flistxattr(file, &mut *buffer) {
            Ok(len) => Ok(&buffer[..len]),
            Err(Errno::OPNOTSUPP) => Ok(&[]),
            Err(error) => Err(error.into()),
        }
    }

    fn split(names: &[u8]) -> impl Iterator<Item = &CStr> {
        names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok())
    }

    /// Labels of the kernel's security modules are theirs to give.
    fn pardon(name: &CStr, error: Errno) -> io::Result<()> {
        if name.to_bytes().starts_with(b"security.") {
            return Ok(());
        }
        let error = io::Error::from(error);
        let name = name.to_string_lossy();
        Err(io::Error::new(error.kind(), format!("its extended attribute {name} cannot be kept: {error}")))
    }
}
