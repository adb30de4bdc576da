//! What became of a store, a delete or a merge in a [`FragmentTable`](super::FragmentTable).

use std::fmt;

use crate::digest::Digest;
use crate::tombstone::{LimitError, Merged, Until};

/// What a store did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// The blob was written: nobody held it, or it was in doubt since erasing it had failed.
    Written,
    /// Others hold the blob; the copy shares it.
    Shared,
    /// This copy was there already.
    Known,
}

/// What the delete of a copy did, beside the tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deleted {
    /// It was the last copy, and the blob was erased.
    Erased,
    /// The copy is gone; others hold the blob.
    StillHeld,
    /// Others hold the blob, and this copy was not there.
    NotHolder,
    /// There was no copy of it at all.
    AlreadyGone,
}

/// Why a store did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored<E> {
    /// The fragment was deleted: refused until then.
    Tombstone(Until),
    /// Writing the blob failed.
    Write(E),
}

/// Why a peer's delete did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDeleted<E> {
    /// The limits of the tombstones forbid it. Nothing changed.
    Limit(LimitError),
    /// Erasing the blob failed. The tombstone is recorded, the copies are as they were.
    Erase(E),
}

/// What came of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergedFragments<K, E> {
    /// What came of the entries, one by one.
    pub tombstones: Merged,
    /// The blobs that were erased, and the copies that shared them.
    pub erased: Vec<(Digest, Vec<K>)>,
    /// The blobs that could not be erased. Their tombstones are recorded and their copies are there: repeat it with
    /// [`FragmentTable::delete_all`](super::FragmentTable::delete_all), the next gossip tells nothing new of them.
    pub failed: Vec<(Digest, E)>,
}

impl<E: fmt::Display> fmt::Display for NotStored<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tombstone(until) => write!(f, "the fragment was deleted: stores are refused until {until}"),
            Self::Write(error) => write!(f, "the blob could not be written: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for NotStored<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tombstone(_) => None,
            Self::Write(error) => Some(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for NotDeleted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(error) => error.fmt(f),
            Self::Erase(error) => write!(f, "the blob could not be erased: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for NotDeleted<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Limit(error) => Some(error),
            Self::Erase(error) => Some(error),
        }
    }
}
