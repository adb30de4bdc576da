//! Which files of a directory tree are taken for frames.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use walkdir::{DirEntry, WalkDir};

/// What was passed over.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct PassedOver {
    /// Regular files with another name than `*.blob` and `*.frame`.
    pub(crate) other_files: u64,
    /// Temporary files `.*.tmp`, of a write that goes on or was killed.
    pub(crate) temporary_files: u64,
    pub(crate) symlinks: u64,
    /// Pipes, sockets and devices.
    pub(crate) special_files: u64,
}

/// A place in the tree that could not be looked at.
#[derive(Debug)]
pub(crate) struct WalkError {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

impl From<walkdir::Error> for WalkError {
    fn from(error: walkdir::Error) -> Self {
        let path = error.path().map(Path::to_owned).unwrap_or_default();
        // The bare error: walkdir's own text holds the path, unescaped. Only a loop has none, and no link is followed.
        let error = error.into_io_error().unwrap_or_else(|| io::Error::other("a loop of links"));
        Self { path, error }
    }
}

/// The frames below `root`, in the order of their names, and the places that could not be looked at. Symbolic links are
/// not followed, but `root` itself may be one.
pub(crate) fn frames<'a>(
    root: &'a Path,
    every_file: bool,
    passed_over: &'a mut PassedOver,
) -> impl Iterator<Item = Result<PathBuf, WalkError>> + 'a {
    WalkDir::new(root).sort_by_file_name().into_iter().filter_map(move |entry| match entry {
        Ok(entry) => is_frame(&entry, every_file, passed_over).then(|| Ok(entry.into_path())),
        Err(error) => Some(Err(error.into())),
    })
}

fn is_frame(entry: &DirEntry, every_file: bool, passed_over: &mut PassedOver) -> bool {
    let kind = entry.file_type();
    if kind.is_dir() {
        return false;
    }
    if kind.is_symlink() {
        // The root is a directory reached through a link: walked into, not passed over.
        passed_over.symlinks += u64::from(entry.depth() > 0);
        return false;
    }
    if !kind.is_file() {
        passed_over.special_files += 1;
        return false;
    }
    let name = Path::new(entry.file_name());
    if is_temporary(name) {
        passed_over.temporary_files += 1;
        return false;
    }
    let named_as_frame = matches!(name.extension().and_then(OsStr::to_str), Some("blob" | "frame"));
    passed_over.other_files += u64::from(!named_as_frame && !every_file);
    named_as_frame || every_file
}

fn is_temporary(name: &Path) -> bool {
    let name = name.as_os_str().as_encoded_bytes();
    name.starts_with(b".") && name.ends_with(b".tmp")
}
