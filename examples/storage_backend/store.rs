//! Frames in files, `{key[:2]}/{key[2:4]}/{key}.blob`, and an index of them.
//!
//! It is a cache: a frame that is not served costs a computation, a wrong one costs an answer. In doubt, refuse.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use membrane_codec::{Digest, Findings, OwnedFrame, Verdict, Verifier, verify_batch};

use crate::Fault;
use crate::index::{Entry, FileMark, Index, Judged};

/// The answer to a read. A [`Fault`] is none: what could not be read may be sound, and stays in service.
pub(crate) enum Answer {
    Frame(OwnedFrame),
    Unknown,
    /// It is not the frame that was stored, for this reason.
    Refused(String),
}

/// What was read, not yet verified.
struct Loaded {
    key: Digest,
    entry: Entry,
    file: FileMark,
    bytes: Bytes,
}

pub(crate) struct Store {
    root: PathBuf,
    index: Index,
    /// Numbers the temporary files: no two writers share one.
    writes: AtomicU64,
}

impl Store {
    pub(crate) fn open(root: &Path) -> Result<Self, Fault> {
        Ok(Self { root: root.to_owned(), index: Index::open(&root.join("index.redb"))?, writes: AtomicU64::new(0) })
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    pub(crate) fn path(&self, key: Digest) -> PathBuf {
        let name = key.to_string();
        self.root.join(&name[..2]).join(&name[2..4]).join(format!("{name}.blob"))
    }

    /// Stores a frame, as it came over the wire, and returns its key. From then on a power cut does not undo it.
    pub(crate) fn put(&self, frame: &[u8]) -> Result<Digest, Fault> {
        // Verified before it is stored: what fails later was damaged here.
        let (verified, findings) = Verifier::new().check_payload_hash(true).verify(frame)?;
        failure(findings).map_or(Ok(()), Err)?;
        let key = verified.payload_digest();
        // That it was sound in memory says nothing of the disk: a scrub, which reads the file, is due.
        let fingerprint = verified.identity().fingerprint();
        let entry = Entry { len: frame.len() as u64, fingerprint, verified: 0, quarantined: None };

        let path = self.path(key);
        let directories: Vec<_> = path.ancestors().skip(1).take(3).collect();
        fs::create_dir_all(directories[0])?;
        // Scrubs pass over names like this one. Those that a crash leaves behind may be removed when nothing is written.
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{key}.{number}.tmp"));
        let publish = || {
            fs::rename(&temporary, &path)?;
            // A name is durable when its directory is, and that when its parents are.
            directories.iter().try_for_each(|directory| File::open(directory)?.sync_all())
        };
        let stored =
            write_synced(&temporary, frame).map_err(Fault::from).and_then(|()| self.index.insert(key, &entry, publish));
        if stored.is_err() {
            // It may be gone already, and the first error is the one that counts.
            let _ = fs::remove_file(&temporary);
        }
        stored.map(|()| key)
    }

    /// The frame under a key, verified. Its payload can be handed on without a copy.
    pub(crate) fn get(&self, key: Digest) -> Result<Answer, Fault> {
        let loaded = match self.load(key)? {
            Ok(loaded) => loaded,
            Err(answer) => return Ok(answer),
        };
        let verified = loaded.entry.expected(key).verify(&loaded.bytes);
        let checked = verified.map(|(_, findings)| findings);
        self.answer(loaded, checked)
    }

    /// The frames under many keys, in their order, each verified. More than twice as fast as one after another, since
    /// their payloads are hashed together.
    pub(crate) fn get_many(&self, keys: &[Digest]) -> Vec<Result<Answer, Fault>> {
        let loaded: Vec<_> = keys.iter().map(|key| self.load(*key)).collect();
        let frames: Vec<_> = loaded.iter().flatten().flatten().map(|loaded| loaded.bytes.clone()).collect();
        let mut verdicts = verify_batch(&frames).verdicts.into_iter();
        let answer = |loaded: Result<Result<Loaded, Answer>, Fault>| {
            let loaded = match loaded? {
                Ok(loaded) => loaded,
                Err(answer) => return Ok(answer),
            };
            let checked = match verdicts.next() {
                Some(Verdict::Sound(frame)) => {
                    let expected = loaded.entry.expected(loaded.key);
                    Ok(expected.findings(frame.identity(), frame.payload_digest()))
                }
                Some(Verdict::Damaged(error)) => Err(error),
                // A batch passes over frames only when it is told to stop at the first failure.
                _ => return Err("no verdict".into()),
            };
            self.answer(loaded, checked)
        };
        loaded.into_iter().map(answer).collect()
    }

    /// Reads the file under a key; or the answer, when that is clear without.
    fn load(&self, key: Digest) -> Result<Result<Loaded, Answer>, Fault> {
        let Some(entry) = self.index.get(key)? else { return Ok(Err(Answer::Unknown)) };
        if let Some(why) = entry.quarantined {
            return Ok(Err(Answer::Refused(format!("quarantined: {why}"))));
        }
        let file = File::open(self.path(key))?;
        let mark = mark_of(&file.metadata()?)?;
        // One byte too many is enough to see that a file has grown. Memory follows the frame that was stored.
        let mut bytes = Vec::new();
        file.take(entry.len + 1).read_to_end(&mut bytes)?;
        Ok(Ok(Loaded { key, entry, file: mark, bytes: bytes.into() }))
    }

    /// Serves what passed every check, and takes the rest out of service. Files stay: they may tell what happened.
    fn answer(&self, loaded: Loaded, checked: Result<Findings, membrane_codec::Error>) -> Result<Answer, Fault> {
        let Loaded { key, entry, file, bytes } = loaded;
        let why = match checked {
            Ok(findings) if findings.is_empty() => return Ok(Answer::Frame(OwnedFrame::parse(bytes)?)),
            Ok(findings) => failure(findings),
            Err(error) => Some(error.to_string()),
        };
        let refused = Answer::Refused(why.clone().unwrap_or_default());
        self.record(vec![Judged { key, fingerprint: entry.fingerprint, file: Some(file), failure: why }])?;
        Ok(refused)
    }

    /// Records verdicts; returns those that hold.
    pub(crate) fn record(&self, judged: Vec<Judged>) -> Result<Vec<Judged>, Fault> {
        let mark = |key| fs::metadata(self.path(key)).and_then(|metadata| mark_of(&metadata)).ok();
        self.index.record(judged, now(), mark)
    }
}

/// What a verifier found, as one reason.
pub(crate) fn failure(findings: Findings) -> Option<String> {
    let found: Vec<_> = findings.iter().map(|finding| finding.as_str()).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn mark_of(metadata: &fs::Metadata) -> io::Result<FileMark> {
    Ok((metadata.ino(), metadata.modified()?))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
