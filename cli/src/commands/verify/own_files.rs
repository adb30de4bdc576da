//! The files that a run itself writes. Where they lie in a store of which every file is checked, they are no frames of it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use membrane_codec::scrub::FoundFile;

use crate::args::VerifyArgs;
use crate::output::directory_of;

/// Their paths without links.
pub(super) struct OwnFiles(Vec<PathBuf>);

impl OwnFiles {
    pub(super) fn of(args: &VerifyArgs) -> Self {
        let state = args.portion.state.iter().flat_map(|path| {
            // SQLite's write-ahead log and its index.
            ["", "-wal", "-shm"].map(|suffix| {
                let mut name = OsString::from(path);
                name.push(suffix);
                PathBuf::from(name)
            })
        });
        let written = args.reports.report.iter().chain(&args.reports.metrics).cloned();
        Self(state.chain(written).filter_map(|path| without_links(&path)).collect())
    }

    pub(super) fn contain(&self, file: &FoundFile<'_>) -> bool {
        // Names first: almost no file has one of these.
        self.0.iter().any(|own| {
            own.file_stem() == Some(file.stem()) && fs::canonicalize(file.path()).is_ok_and(|path| path == *own)
        })
    }
}

/// Of a file that may not be there yet.
fn without_links(path: &Path) -> Option<PathBuf> {
    let lies_in = || Some(fs::canonicalize(directory_of(path)).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(lies_in)
}
