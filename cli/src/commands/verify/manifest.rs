//! What a store should hold: `verify --manifest`.
//!
//! Memory: 69 bytes for each key.

mod listing;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use membrane_codec::{Digest, Sha256};

use self::listing::Listing;
use crate::input::open_list;
use crate::outcome::Failure;

/// No line of a manifest is longer.
const LINE_CAP: u64 = 1 << 20;

pub(crate) struct Manifest {
    /// In the order of the keys.
    entries: Vec<Entry>,
    /// How many files each has.
    found: Vec<AtomicU32>,
    digest: Digest,
}

/// A key and the fingerprint of the identity that is expected there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) key: Digest,
    pub(crate) fingerprint: Option<Digest>,
}

impl Manifest {
    /// From the file at `path`, or standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let mut source = BufReader::new(open_list(path).map_err(|error| Failure::trouble(path, error))?);
        let (mut listing, mut hasher, mut line) = (Listing::default(), Sha256::new(), Vec::new());
        for number in 1_u64.. {
            line.clear();
            let got = std::io::Read::take(&mut source, LINE_CAP).read_until(b'\n', &mut line);
            match got.map_err(|error| Failure::trouble(path, error))? {
                0 => break,
                _ => hasher.update(&line),
            }
            if line.len() as u64 == LINE_CAP {
                return Err(Failure::trouble(path, format!("line {number} is longer than any line of a manifest")));
            }
            let text = std::str::from_utf8(&line).map_err(|_| "is not UTF-8".to_owned());
            let taken = text.and_then(|text| listing.take(text));
            taken.map_err(|problem| Failure::trouble(path, format!("line {number} {problem}")))?;
        }
        let entries = listing.finish().map_err(|problem| Failure::trouble(path, problem))?;
        let found = entries.iter().map(|_| AtomicU32::new(0)).collect();
        Ok(Self { entries, found, digest: hasher.finalize() })
    }

    /// The SHA-256 of its text.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn get(&self, key: Digest) -> Option<&Entry> {
        self.position(key).map(|at| &self.entries[at])
    }

    /// A file with this key was found.
    pub(crate) fn found(&self, key: Digest) {
        if let Some(at) = self.position(key) {
            self.found[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One that was found is not there after all.
    pub(crate) fn lost(&self, key: Digest) {
        if let Some(at) = self.position(key) {
            self.found[at].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// What was not found.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &Entry> {
        let missing = self.entries.iter().zip(&self.found).filter(|(_, found)| found.load(Ordering::Relaxed) == 0);
        missing.map(|(entry, _)| entry)
    }

    fn position(&self, key: Digest) -> Option<usize> {
        self.entries.binary_search_by_key(&key, |entry| entry.key).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_key_is_missing_when_all_its_files_are_gone() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let key = membrane_codec::sha256(b"payload");
        writeln!(file, "{key}").expect("room");
        let manifest = Manifest::read(file.path()).expect("a manifest");
        let missing = || manifest.missing().count();
        assert_eq!(missing(), 1);
        manifest.found(key);
        manifest.found(key);
        assert_eq!(missing(), 0);
        manifest.lost(key);
        assert_eq!(missing(), 0, "the other is there");
        manifest.lost(key);
        assert_eq!(missing(), 1);
    }
}
