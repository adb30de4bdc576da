//! Which files `verify` checks: `--subset`, `--sample`, `--newer-than`, `--state`, and what `--manifest` asks of names.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use membrane_codec::Digest;
use membrane_codec::scrub::{FileStamp, FoundFile, Sample, Subset};

use super::manifest::{Entry, Manifest};
use super::own_files::OwnFiles;
use super::state::{Checks, State};
use crate::args::VerifyArgs;
use crate::outcome::Failure;

pub(crate) struct Selection {
    subset: Option<Subset>,
    sample: Option<Sample>,
    /// Of the sample, to draw it again.
    pub(crate) seed: Option<u64>,
    newer_than: Option<SystemTime>,
    pub(crate) manifest: Option<Manifest>,
    state: Option<Mutex<State>>,
    verified_before: AtomicU64,
    own_files: OwnFiles,
    own_files_found: AtomicU64,
}

impl Selection {
    pub(crate) fn new(args: &VerifyArgs) -> Result<Self, Failure> {
        let (portion, checks) = (&args.portion, &args.checks);
        let manifest = checks.manifest.as_deref().map(Manifest::read).transpose()?;
        let seed = portion.sample.map(|_| portion.seed.unwrap_or_else(any_seed));
        let sample = portion.sample.zip(seed).map(|(share, seed)| Sample::new(share, seed)).transpose();
        let checks = Checks {
            payload_hash: checks.check_hash,
            key: checks.check_key,
            manifest: manifest.as_ref().map(|manifest| i64::from_le_bytes(manifest.digest().trailer())),
        };
        let state = portion.state.as_deref().map(|path| State::open(path, checks, portion.max_age)).transpose()?;
        Ok(Self {
            subset: portion.subset,
            sample: sample.map_err(|error| Failure::Trouble(format!("--sample: {error}")))?,
            seed,
            newer_than: portion.newer_than,
            manifest,
            state: state.map(Mutex::new),
            verified_before: AtomicU64::new(0),
            own_files: OwnFiles::of(args),
            own_files_found: AtomicU64::new(0),
        })
    }

    /// Whether a file is to be read. Takes note that it is there.
    pub(crate) fn takes(&self, file: &FoundFile<'_>) -> bool {
        if let Some(manifest) = &self.manifest
            && let Some(key) = file.key()
        {
            manifest.found(key);
        }
        match self.judge(file) {
            Judgement::Taken => true,
            Judgement::NotAsked => false,
            Judgement::Own => {
                self.own_files_found.fetch_add(1, Ordering::Relaxed);
                false
            }
            Judgement::Fresh => {
                self.verified_before.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// A file that was found was gone when it was to be opened.
    pub(crate) fn lost(&self, file: &FoundFile<'_>) {
        if let Some(manifest) = &self.manifest
            && let Some(key) = file.key()
        {
            manifest.lost(key);
        }
    }

    /// Whether a file would be read.
    pub(crate) fn would_take(&self, file: &FoundFile<'_>) -> bool {
        matches!(self.judge(file), Judgement::Taken)
    }

    fn judge(&self, file: &FoundFile<'_>) -> Judgement {
        if self.own_files.contain(file) {
            return Judgement::Own;
        }
        if self.subset.is_some_and(|subset| !subset.contains(file.stem()))
            || self.sample.is_some_and(|sample| !sample.contains(file.stem()))
        {
            return Judgement::NotAsked;
        }
        if self.newer_than.is_none() && self.state.is_none() {
            return Judgement::Taken;
        }
        // What cannot be looked at will be reported when it is opened.
        let Ok(stamp) = file.stamp() else { return Judgement::Taken };
        if self.newer_than.is_some_and(|time| stamp.modified <= time) {
            return Judgement::NotAsked;
        }
        match &self.state {
            Some(state) if lock(state).is_fresh(&file.path(), &stamp) => Judgement::Fresh,
            _ => Judgement::Taken,
        }
    }

    /// What the manifest expects of the frame under this key: nothing when no manifest was given, no entry when it does
    /// not list the key.
    pub(crate) fn expected(&self, key: Option<Digest>) -> Option<Option<&Entry>> {
        self.manifest.as_ref().map(|manifest| key.and_then(|key| manifest.get(key)))
    }

    /// The keys that are listed, in this portion, and were not found.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &Entry> {
        let in_portion = |entry: &&Entry| {
            let stem = entry.key.to_string();
            self.subset.is_none_or(|subset| subset.contains(stem.as_ref()))
                && self.sample.is_none_or(|sample| sample.contains(stem.as_ref()))
        };
        self.manifest.iter().flat_map(Manifest::missing).filter(in_portion)
    }

    /// Remembers a verdict that was told, where there is a state. Without a stamp the file was not even opened: what was
    /// known of it counts no more.
    pub(crate) fn remember(&self, file: &FoundFile<'_>, stamp: Option<FileStamp>, status: &str) {
        match (&self.state, stamp) {
            (Some(state), Some(stamp)) => lock(state).remember(&file.path(), &stamp, status),
            (Some(state), None) => lock(state).forget(&file.path()),
            (None, _) => {}
        }
    }

    /// Puts on disk what is remembered, when it is time: as [`State::commit_if_due`].
    pub(crate) fn keep(&self, tell: impl FnOnce() -> bool) {
        // Who finds it in use need not wait: the next one comes soon.
        if let Some(mut state) = self.state.as_ref().and_then(|state| state.try_lock().ok()) {
            state.commit_if_due(tell);
        }
    }

    /// How many files were passed over since they were verified before.
    pub(crate) fn verified_before(&self) -> u64 {
        self.verified_before.load(Ordering::Relaxed)
    }

    /// How many files were passed over since this run writes them.
    pub(crate) fn own_files_found(&self) -> u64 {
        self.own_files_found.load(Ordering::Relaxed)
    }

    /// Whether only part of the files that are there is looked at, whatever the state says.
    pub(crate) fn is_partial(&self) -> bool {
        self.subset.is_some() || self.sample.is_some() || self.newer_than.is_some()
    }

    pub(crate) fn into_state(self) -> Option<State> {
        self.state.map(|state| state.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Judgement {
    Taken,
    NotAsked,
    Own,
    Fresh,
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A seed that is another one each time.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    // Short enough to be typed again.
    (now as u64 ^ u64::from(std::process::id())) % 1_000_000_000
}
