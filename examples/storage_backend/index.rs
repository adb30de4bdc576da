//! The index, in redb: what the store holds, and what is known of it.
//!
//! A frame cannot say which frame it was meant to be: swapped for another, it is still sound. The index can.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::time::SystemTime;

use membrane_codec::{Digest, Verifier};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::Fault;

/// Length, fingerprint, last verified, quarantined.
type Row<'a> = (u64, &'a [u8; 32], u64, Option<&'a str>);
const FRAMES: TableDefinition<&[u8; 32], Row<'_>> = TableDefinition::new("frames");

/// What is known of the frame under a key.
#[derive(Clone)]
pub(crate) struct Entry {
    /// Of the whole frame, in bytes.
    pub(crate) len: u64,
    /// Of its identity.
    pub(crate) fingerprint: Digest,
    /// When its file was last found sound, in seconds since 1970; 0 for never.
    pub(crate) verified: u64,
    /// Why it must not be served.
    pub(crate) quarantined: Option<String>,
}

impl Entry {
    /// What the frame must be. The format's own checks cover its payload; these, that it is the one that was stored.
    pub(crate) fn expected(&self, key: Digest) -> Verifier {
        Verifier::new().check_payload_hash(true).expect_key(key).expect_fingerprint(self.fingerprint)
    }

    fn from_row((len, fingerprint, verified, quarantined): Row<'_>) -> Self {
        let fingerprint = Digest::from_bytes(*fingerprint);
        Self { len, fingerprint, verified, quarantined: quarantined.map(String::from) }
    }

    fn row(&self) -> Row<'_> {
        (self.len, self.fingerprint.as_bytes(), self.verified, self.quarantined.as_deref())
    }
}

/// Tells a file from another that took its place: a rename brings another inode, a write another time.
pub(crate) type FileMark = (u64, SystemTime);

/// A verdict on what lay under a key.
pub(crate) struct Judged {
    pub(crate) key: Digest,
    /// What it was held against.
    pub(crate) fingerprint: Digest,
    /// The file that was read; `None` when there was none.
    pub(crate) file: Option<FileMark>,
    /// What is wrong with it, if anything.
    pub(crate) failure: Option<String>,
}

pub(crate) struct Index(Database);

impl Index {
    /// Opens or creates it. redb locks its file: one process at a time has the store.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(FRAMES)?;
        transaction.commit()?;
        Ok(Self(database))
    }

    pub(crate) fn get(&self, key: Digest) -> Result<Option<Entry>, Fault> {
        let table = self.0.begin_read()?.open_table(FRAMES)?;
        Ok(table.get(key.as_bytes())?.map(|row| Entry::from_row(row.value())))
    }

    /// Up to `limit` frames after the key `after` that are in service and were not verified since `since`.
    pub(crate) fn due(
        &self,
        after: Option<Digest>,
        since: u64,
        limit: usize,
    ) -> Result<BTreeMap<Digest, Entry>, Fault> {
        let table = self.0.begin_read()?.open_table(FRAMES)?;
        let from = after.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_bytes()));
        let mut due = BTreeMap::new();
        for row in table.range::<&[u8; 32]>((from, Bound::Unbounded))? {
            let (key, row) = row?;
            let entry = Entry::from_row(row.value());
            if entry.quarantined.is_none() && entry.verified < since {
                due.insert(Digest::from_bytes(*key.value()), entry);
            }
            if due.len() == limit {
                break;
            }
        }
        Ok(due)
    }

    /// Enters a frame whose file `publish` puts in place, in one transaction. redb has one at a time: of two writers of a
    /// key, file and entry are the same one's; and a verdict is recorded before or after, never between.
    pub(crate) fn insert(
        &self,
        key: Digest,
        entry: &Entry,
        publish: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<(), Fault> {
        let transaction = self.0.begin_write()?;
        transaction.open_table(FRAMES)?.insert(key.as_bytes(), entry.row())?;
        publish()?;
        Ok(transaction.commit()?)
    }

    /// Records verdicts in one transaction and returns those that hold: void is a verdict on a file or an entry that has
    /// been replaced since.
    pub(crate) fn record(
        &self,
        mut judged: Vec<Judged>,
        now: u64,
        mark: impl Fn(Digest) -> Option<FileMark>,
    ) -> Result<Vec<Judged>, Fault> {
        let transaction = self.0.begin_write()?;
        for Judged { key, fingerprint, file, failure } in std::mem::take(&mut judged) {
            let mut table = transaction.open_table(FRAMES)?;
            let entry = table.get(key.as_bytes())?.map(|row| Entry::from_row(row.value()));
            let Some(mut entry) = entry.filter(|entry| entry.fingerprint == fingerprint) else { continue };
            if mark(key) != file {
                continue;
            }
            match &failure {
                // Should it have been quarantined meanwhile, it stays so until it is stored anew.
                None => entry.verified = now,
                Some(_) => entry.quarantined.clone_from(&failure),
            }
            table.insert(key.as_bytes(), entry.row())?;
            judged.push(Judged { key, fingerprint, file, failure });
        }
        transaction.commit()?;
        Ok(judged)
    }
}
