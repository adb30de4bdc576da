//! [`SnapshotStore`]: the snapshots in a state directory.

mod directory;
mod error;
mod files;
mod survey;
mod turn;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod simulated_disk;

use std::borrow::Borrow;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub use self::error::{Operation, StoreError, StoreErrorClass, StoreProblem};
pub use self::survey::{DirectoryWarning, StateFile, StateFileKind};

use self::directory::Directory;
use self::files::{FileId, Files, Kind, OpenFile};
use self::survey::snapshot_name;
use self::turn::Turn;
use super::{EpochGuard, NodeId, Snapshot};

/// A snapshot is written to its file in pieces of this many bytes.
const WRITE_BUFFER_LEN: usize = 256 * 1024;

/// The snapshots in a state directory: `{state_dir}/{node_id}.json`, one file for each node (specification, section 4).
///
/// A file holds a whole snapshot at every instant, the old or the new, whatever ends the program or the machine
/// ([`SnapshotStore::checkpoint`] says how). Threads and processes may use one directory at once: what changes one node's
/// file is done one after the other, and different nodes never wait for each other.
///
/// What is no regular file is never read as a snapshot, nor written through. Needs a file system with locks (`flock`); where
/// there are none, changing a snapshot fails.
///
/// # What it does not do
///
/// * The directory is the one that was opened. When it is renamed, or another takes its name, the store goes on in the one
///   that it has; when it is deleted, changing a snapshot fails, and reading finds none. Open another store then.
/// * Whoever changes a snapshot waits, for as long as it takes, for the process that is changing the same node's: also for
///   one that was stopped in the middle. There is no time limit, since taking the turn away from a process that goes on
///   later could end in a torn file. Give two processes different nodes, and find who holds a turn with `lslocks`.
/// * A turn is a file of no bytes. [`remove`](Self::remove) and a [`restore`](Self::restore) that deletes need room for its
///   name, so on a disk without any they fail as a checkpoint does, and leave all as it was.
///
/// ```
/// use membrane_codec::snapshot::{CapturedAt, EpochGuard, NodeId, Restored, Snapshot, SnapshotStore};
///
/// # let temporary = tempfile::tempdir()?;
/// # let state_dir = temporary.path().join("state");
/// let store = SnapshotStore::open_or_create(state_dir)?;
/// for warning in store.warnings()? {
///     eprintln!("{}: {warning}", store.directory().display());
/// }
/// let node: NodeId = "node-1".parse()?;
/// let Restored::Absent = store.restore(&node, EpochGuard::new(17))? else { panic!("the directory is new") };
///
/// store.checkpoint(&node, &Snapshot::new(17, CapturedAt::now()))?;
///
/// match store.restore(&node, EpochGuard::new(18))? {
///     Restored::Accepted(snapshot) => assert_eq!(snapshot.cluster_epoch, 17),
///     other => panic!("one step behind is not stale: {other:?}"),
/// }
/// let Restored::Stale { cluster_epoch: 17 } = store.restore(&node, EpochGuard::new(19))? else { panic!("two are") };
/// assert_eq!(store.load(&node)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SnapshotStore {
    path: PathBuf,
    files: Box<dyn Files>,
    max_len: u64,
}

/// What became of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restored {
    /// There is no snapshot.
    Absent,
    /// The snapshot, which is fresh enough.
    Accepted(Box<Snapshot>),
    /// The snapshot was more than one epoch behind. It is deleted, and stays so after a loss of power.
    Stale {
        /// Its epoch.
        cluster_epoch: u64,
    },
}

/// The newest snapshot of a directory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Latest {
    /// The snapshot that was captured last, and whose it is. Of several with one time that of the highest epoch, of several
    /// with one epoch that whose node comes first.
    pub newest: Option<(NodeId, Snapshot)>,
    /// What could not be read, and so may be newer.
    pub unread: Vec<StoreError>,
}

/// A snapshot that was read, and the file that it is from. While that is open, no other file can have its number.
struct Found {
    file: Box<dyn OpenFile>,
    id: FileId,
    json: Vec<u8>,
}

impl SnapshotStore {
    /// Opens a state directory.
    ///
    /// # Errors
    /// Of the operating system, when it cannot be opened or is no directory.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = directory.into();
        match Directory::open(&path) {
            Ok(files) => Ok(Self { path, files: Box::new(files), max_len: Snapshot::DEFAULT_MAX_LEN }),
            Err(error) => Err(StoreError::new(path, StoreProblem::Io(Operation::OpenDirectory, error))),
        }
    }

    /// Opens a state directory, or makes one that its owner alone may enter. The directory that it is in must be there.
    ///
    /// # Errors
    /// As [`SnapshotStore::open`], and when it cannot be made.
    pub fn open_or_create(directory: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = directory.into();
        match create_directory(&path) {
            Ok(()) => Self::open(path),
            Err(error) => Err(StoreError::new(path, StoreProblem::Io(Operation::OpenDirectory, error))),
        }
    }

    #[cfg(test)]
    fn over(files: impl Files + 'static) -> Self {
        Self { path: "state".into(), files: Box::new(files), max_len: Snapshot::DEFAULT_MAX_LEN }
    }

    /// Files longer than this many bytes are not read: an error, and they stay. [`Snapshot::DEFAULT_MAX_LEN`] when nobody
    /// says otherwise. What is written is not limited.
    pub fn with_max_len(mut self, bytes: u64) -> Self {
        self.max_len = bytes;
        self
    }

    /// The directory, as it was named.
    pub fn directory(&self) -> &Path {
        &self.path
    }

    /// The path of a node's snapshot, whether there is one or not.
    pub fn path_of(&self, node: &NodeId) -> PathBuf {
        self.path.join(snapshot_name(node))
    }

    /// Whether others may change what the directory holds, as its mode and owner say.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn warnings(&self) -> Result<Vec<DirectoryWarning>, StoreError> {
        survey::warnings(&*self.files).map_err(|error| self.directory_error(error))
    }

    /// Writes a node's snapshot, in place of the one that is there: also of one that was captured later. Of several threads
    /// that capture and write at once, the last to get the turn wins, and not the last that captured; they take
    /// [`checkpoint_with`](Self::checkpoint_with).
    ///
    /// It goes to a temporary file in the same directory, which its owner alone may open. That is put on disk and then
    /// renamed, and the directory is put on disk as well. Whatever fails or ends before the rename leaves the old snapshot
    /// as it was; what a crash leaves of the temporary file is never read, and the node's next checkpoint clears it away.
    ///
    /// Cost: the snapshot's JSON text is written once, through a buffer of 256 KiB.
    ///
    /// # Errors
    /// [`StoreProblem::Io`], whose [`Operation`] says which snapshot is there now;
    /// [`StoreProblem::SymbolicLink`] and [`StoreProblem::NotAFile`] when there is something that no checkpoint put there.
    pub fn checkpoint(&self, node: &NodeId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.checkpoint_in_turn(node, || snapshot)
    }

    /// As [`checkpoint`](Self::checkpoint), of a snapshot that is captured once it is this node's turn: an older one never
    /// replaces a newer one.
    ///
    /// `capture` is called while other checkpoints of this node wait; it must not change the node's snapshot in this store.
    ///
    /// ```
    /// # use membrane_codec::snapshot::{CapturedAt, Snapshot, SnapshotStore};
    /// # let temporary = tempfile::tempdir()?;
    /// # let store = SnapshotStore::open(temporary.path())?;
    /// let node = "node-1".parse()?;
    /// store.checkpoint_with(&node, || Snapshot::new(17, CapturedAt::now()))?;
    /// assert_eq!(store.load(&node)?.map(|snapshot| snapshot.cluster_epoch), Some(17));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `checkpoint`.
    pub fn checkpoint_with(&self, node: &NodeId, capture: impl FnOnce() -> Snapshot) -> Result<(), StoreError> {
        self.checkpoint_in_turn(node, capture)
    }

    fn checkpoint_in_turn<S: Borrow<Snapshot>>(
        &self,
        node: &NodeId,
        capture: impl FnOnce() -> S,
    ) -> Result<(), StoreError> {
        let turn = self.take_turn(node)?;
        let target = snapshot_name(node);
        let failed = |operation| move |error| self.io_error(node, operation, error);
        match self.files.look_at(&target).map_err(failed(Operation::Write))?.map(|stamp| stamp.kind) {
            None | Some(Kind::File) => {}
            Some(Kind::SymbolicLink) => return Err(self.error(node, StoreProblem::SymbolicLink)),
            Some(Kind::Directory | Kind::Other) => return Err(self.error(node, StoreProblem::NotAFile)),
        }
        write(turn, capture().borrow()).and_then(|turn| turn.commit(&target)).map_err(failed(Operation::Write))?;
        self.files.sync().map_err(failed(Operation::SyncDirectory))
    }

    /// Reads a node's snapshot, however old; none when there is none.
    ///
    /// # Errors
    /// When there is a file and it cannot be read or is no snapshot. It stays as it is.
    pub fn load(&self, node: &NodeId) -> Result<Option<Snapshot>, StoreError> {
        match self.find(node)? {
            None => Ok(None),
            Some(Found { json, .. }) => self.parse(node, json).map(Some),
        }
    }

    /// Reads a node's snapshot for a node that starts. When it is stale, it is deleted: unless a checkpoint has replaced it
    /// meanwhile, and then it is the new one that is judged.
    ///
    /// # Errors
    /// As [`SnapshotStore::load`], and [`StoreProblem::Stale`] when a stale snapshot cannot be deleted: the node starts
    /// without it, and the next restore finds it again.
    pub fn restore(&self, node: &NodeId, guard: EpochGuard) -> Result<Restored, StoreError> {
        loop {
            let Some(Found { file, id, json }) = self.find(node)? else { return Ok(Restored::Absent) };
            let snapshot = self.parse(node, json)?;
            let cluster_epoch = snapshot.cluster_epoch;
            if guard.accepts(cluster_epoch) {
                return Ok(Restored::Accepted(Box::new(snapshot)));
            }
            let removed = self.remove_if(node, |found| found == id);
            if removed.map_err(|error| error.of_stale(cluster_epoch))? {
                return Ok(Restored::Stale { cluster_epoch });
            }
            drop(file);
        }
    }

    /// Deletes a node's snapshot; whether there was one. What stands in its place and is no regular file is left.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn remove(&self, node: &NodeId) -> Result<bool, StoreError> {
        self.remove_if(node, |_| true)
    }

    /// The nodes that have a snapshot, in the order of their names. Nothing is read.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn list(&self) -> Result<Vec<NodeId>, StoreError> {
        let nodes = self.survey()?.into_iter().filter_map(|file| match file.kind {
            StateFileKind::Snapshot(node) => Some(node),
            _ => None,
        });
        Ok(nodes.collect())
    }

    /// Everything that the directory holds, in the order of the names. Nothing is read.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn survey(&self) -> Result<Vec<StateFile>, StoreError> {
        survey::survey(&*self.files).map_err(|error| self.directory_error(error))
    }

    /// The snapshot that was captured last, of all nodes.
    ///
    /// Cost: reads every snapshot, two in memory at a time.
    ///
    /// # Errors
    /// When the directory cannot be listed. What cannot be read of it is told in [`Latest::unread`].
    pub fn latest(&self) -> Result<Latest, StoreError> {
        let mut latest = Latest { newest: None, unread: Vec::new() };
        for node in self.list()? {
            match self.load(&node) {
                // Removed meanwhile.
                Ok(None) => {}
                Ok(Some(snapshot)) => {
                    let age = |snapshot: &Snapshot| (snapshot.captured_at, snapshot.cluster_epoch);
                    if latest.newest.as_ref().is_none_or(|(_, newest)| age(newest) < age(&snapshot)) {
                        latest.newest = Some((node, snapshot));
                    }
                }
                Err(error) => latest.unread.push(error),
            }
        }
        Ok(latest)
    }

    fn take_turn(&self, node: &NodeId) -> Result<Turn<'_>, StoreError> {
        Turn::take(&*self.files, node).map_err(|error| self.io_error(node, Operation::TakeTurn, error))
    }

    fn find(&self, node: &NodeId) -> Result<Option<Found>, StoreError> {
        let name = snapshot_name(node);
        let failed = |error| self.io_error(node, Operation::Read, error);
        let mut file = match self.files.open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Systems disagree on what opening a link, a socket or a device that is not there ends with.
            Err(error) => {
                return Err(match self.files.look_at(&name) {
                    Ok(Some(stamp)) if stamp.kind == Kind::SymbolicLink => self.error(node, StoreProblem::SymbolicLink),
                    Ok(Some(stamp)) if stamp.kind == Kind::Other => self.error(node, StoreProblem::NotAFile),
                    _ => failed(error),
                });
            }
        };
        let stamp = file.stamp().map_err(failed)?;
        if stamp.kind != Kind::File {
            return Err(self.error(node, StoreProblem::NotAFile));
        }
        let json = Snapshot::read_json(&mut file, Some(stamp.len), self.max_len).map_err(failed)?;
        Ok(Some(Found { file, id: stamp.id, json }))
    }

    fn parse(&self, node: &NodeId, json: Vec<u8>) -> Result<Snapshot, StoreError> {
        Snapshot::from_json(json).map_err(|error| self.error(node, StoreProblem::Snapshot(error)))
    }

    /// Removes the node's snapshot if `is_meant` of the file that is there when no checkpoint is under way; whether it was.
    fn remove_if(&self, node: &NodeId, is_meant: impl Fn(FileId) -> bool) -> Result<bool, StoreError> {
        let name = snapshot_name(node);
        let failed = |operation| move |error| self.io_error(node, operation, error);
        let turn = self.take_turn(node)?;
        let found = self.files.look_at(&name).map_err(failed(Operation::Remove))?;
        if !found.is_some_and(|stamp| stamp.kind == Kind::File && is_meant(stamp.id)) {
            return Ok(false);
        }
        self.files.remove(&name).map_err(failed(Operation::Remove))?;
        drop(turn);
        self.files.sync().map_err(failed(Operation::SyncDirectory))?;
        Ok(true)
    }

    fn error(&self, node: &NodeId, problem: StoreProblem) -> StoreError {
        StoreError::new(self.path_of(node), problem)
    }

    fn io_error(&self, node: &NodeId, operation: Operation, error: io::Error) -> StoreError {
        self.error(node, StoreProblem::Io(operation, error))
    }

    fn directory_error(&self, error: io::Error) -> StoreError {
        StoreError::new(self.path.clone(), StoreProblem::Io(Operation::OpenDirectory, error))
    }
}

impl fmt::Debug for SnapshotStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotStore").field("directory", &self.path).finish_non_exhaustive()
    }
}

fn write<'f>(turn: Turn<'f>, snapshot: &Snapshot) -> io::Result<Turn<'f>> {
    let mut out = BufWriter::with_capacity(WRITE_BUFFER_LEN, turn);
    snapshot.write_json(&mut out)?;
    out.flush()?;
    // Nothing is left in the buffer.
    Ok(out.into_parts().0)
}

/// Makes a directory unless it is there, and has it survive a loss of power.
fn create_directory(path: &Path) -> io::Result<()> {
    let created = DirBuilder::new().mode(0o700).create(path);
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let sync_parent = || File::open(parent)?.sync_all();
    match created {
        Ok(()) => sync_parent(),
        // Whoever made it may not have come to the sync.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::metadata(path)?.is_dir() => {
            match sync_parent() {
                // It may be entered and not listed: then somebody else made what is in it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                synced => synced,
            }
        }
        Err(error) => Err(error),
    }
}
