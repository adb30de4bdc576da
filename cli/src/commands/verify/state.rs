//! What was verified, between runs: `verify --state`.
//!
//! An SQLite database (`sqlite3 FILE 'select path, status from files'` shows it). It is a reason not to read a file again,
//! so it is never believed without need: every entry carries a seal over all of it that counts, one that does not hold is
//! as good as none, and a database that is damaged is set aside and begun anew. The worst that a loss costs is work.

mod file;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use membrane_codec::Sha256;
use membrane_codec::scrub::FileStamp;
use rusqlite::{Connection, OptionalExtension, params};

use self::file::{Trouble, set_aside};
use crate::display::printable;
use crate::outcome::{Failure, say};

/// `MBRN`, in SQLite's header field for this purpose.
const APPLICATION_ID: i32 = 0x4d42_524e;
const SCHEMA_VERSION: i32 = 1;
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS files (
        path BLOB PRIMARY KEY,      -- absolute
        len INTEGER NOT NULL,       -- bytes
        modified INTEGER NOT NULL,  -- nanoseconds since 1970
        verified INTEGER NOT NULL,  -- nanoseconds since 1970
        checks INTEGER NOT NULL,    -- beyond the format: 1 payload_hash, 2 key
        manifest INTEGER,           -- the start of the SHA-256 of the manifest
        status TEXT NOT NULL,       -- ok, or why not
        seal INTEGER NOT NULL,      -- over all of the above
        run INTEGER NOT NULL        -- that saw the file last
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS runs (
        id INTEGER PRIMARY KEY,
        started INTEGER NOT NULL,   -- nanoseconds since 1970
        finished INTEGER,           -- so too; nothing while it goes on and when it was interrupted
        seal INTEGER NOT NULL       -- over all of the above
    );";
/// What was verified is on disk after this time, or this many entries.
const COMMIT_AFTER: Duration = Duration::from_secs(1);
const COMMIT_AFTER_ENTRIES: u32 = 10_000;
/// Clocks differ, but not by more.
const CLOCK_SKEW: i64 = 24 * 60 * 60 * 1_000_000_000;

pub(crate) struct State {
    path: PathBuf,
    database: Connection,
    checks: Checks,
    run: Run,
    uncommitted: u32,
    committed: Instant,
    /// Why nothing is remembered any more.
    failed: Option<String>,
}

/// What is checked beyond the format. What was verified with less counts for nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Checks {
    pub(crate) payload_hash: bool,
    pub(crate) key: bool,
    /// The start of the manifest's hash.
    pub(crate) manifest: Option<i64>,
}

impl Checks {
    fn bits(self) -> i64 {
        i64::from(self.payload_hash) | i64::from(self.key) << 1
    }
}

#[derive(Clone, Copy)]
struct Run {
    id: i64,
    started: i64,
    /// What was verified since then is not due.
    fresh_since: i64,
}

impl Run {
    fn seal(id: i64, started: i64, finished: Option<i64>) -> i64 {
        let mut hasher = Sha256::new();
        for number in [id, started, finished.unwrap_or(0), finished.is_some().into()] {
            hasher.update(&number.to_le_bytes());
        }
        i64::from_le_bytes(hasher.finalize().trailer())
    }
}

struct Entry {
    len: i64,
    modified: i64,
    verified: i64,
    checks: i64,
    manifest: Option<i64>,
    status: String,
}

impl Entry {
    fn seal(&self, path: &Path) -> i64 {
        let mut hasher = Sha256::new();
        for number in [self.len, self.modified, self.verified, self.checks, self.manifest.unwrap_or(0)] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&[u8::from(self.manifest.is_some()), self.status.len() as u8]);
        hasher.update(self.status.as_bytes());
        hasher.update(path.as_os_str().as_bytes());
        i64::from_le_bytes(hasher.finalize().trailer())
    }
}

impl State {
    /// Opens or creates the state at `path` and begins a run, or goes on with one that did not come to its end.
    pub(crate) fn open(path: &Path, checks: Checks, max_age: Option<Duration>) -> Result<Self, Failure> {
        let begun = match begin(path, max_age) {
            Err(Trouble::Damage(damage)) => {
                set_aside(path, &damage).map_err(|error| Failure::trouble(path, error))?;
                begin(path, max_age)
            }
            begun => begun,
        };
        let (database, run) = begun.map_err(|trouble| Failure::trouble(path, trouble.into_message()))?;
        let committed = Instant::now();
        Ok(Self { path: path.to_owned(), database, checks, run, uncommitted: 0, committed, failed: None })
    }

    /// Whether the file was found sound lately enough, and is the same still. Remembers that it is there.
    pub(crate) fn is_fresh(&mut self, path: &Path, stamp: &FileStamp) -> bool {
        let Ok(path) = std::path::absolute(path) else { return false };
        let entry = self.attempt(|database, _| find(database, &path)).flatten();
        let Some(entry) = entry else { return false };
        let now = nanoseconds(SystemTime::now());
        let fresh = entry.status == "ok"
            && (entry.len, entry.modified) == (len(stamp), nanoseconds(stamp.modified))
            && (self.run.fresh_since..=now + CLOCK_SKEW).contains(&entry.verified)
            && self.checks.bits() & !entry.checks == 0
            && (self.checks.manifest.is_none() || self.checks.manifest == entry.manifest);
        if fresh {
            self.attempt(|database, run| {
                let mut see = database.prepare_cached("UPDATE files SET run = ?2 WHERE path = ?1")?;
                see.execute(params![path.as_os_str().as_bytes(), run.id])
            });
            self.uncommitted += 1;
        }
        fresh
    }

    /// Forgets a file of which nothing is known any more.
    pub(crate) fn forget(&mut self, path: &Path) {
        let Ok(path) = std::path::absolute(path) else { return };
        self.attempt(|database, _| {
            database.prepare_cached("DELETE FROM files WHERE path = ?1")?.execute([path.as_os_str().as_bytes()])
        });
        self.uncommitted += 1;
    }

    /// Remembers a verdict: `ok`, or why not.
    pub(crate) fn remember(&mut self, path: &Path, stamp: &FileStamp, status: &str) {
        let Ok(path) = std::path::absolute(path) else { return };
        let entry = Entry {
            len: len(stamp),
            modified: nanoseconds(stamp.modified),
            verified: nanoseconds(SystemTime::now()),
            checks: self.checks.bits(),
            manifest: self.checks.manifest,
            status: status.to_owned(),
        };
        self.attempt(|database, run| {
            let mut insert =
                database.prepare_cached("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
            let Entry { len, modified, verified, checks, manifest, status } = &entry;
            let name = path.as_os_str().as_bytes();
            insert.execute(params![name, len, modified, verified, checks, manifest, status, entry.seal(&path), run.id])
        });
        self.uncommitted += 1;
    }

    /// Ends the run. `seen_all_of`: paths below which the run came upon every file; what it did not see there is gone.
    pub(crate) fn finish(mut self, completed: bool, seen_all_of: &[PathBuf]) -> Result<(), Failure> {
        if completed {
            let roots: Vec<_> = seen_all_of.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
            self.attempt(|database, run| {
                for root in &roots {
                    forget_unseen(database, root, run.id)?;
                }
                let now = nanoseconds(SystemTime::now());
                let seal = Run::seal(run.id, run.started, Some(now));
                database.execute("UPDATE runs SET finished = ?2, seal = ?3 WHERE id = ?1", [run.id, now, seal])
            });
        }
        self.attempt(|database, _| database.execute_batch("COMMIT"));
        match self.failed.take() {
            Some(problem) => Err(Failure::trouble(&self.path, problem)),
            None => Ok(()),
        }
    }

    /// Puts on disk what was remembered, when it is time. What a run remembers it never tells again, so all of that must
    /// have been told first: `tell` sees to it and says whether it could.
    pub(crate) fn commit_if_due(&mut self, tell: impl FnOnce() -> bool) {
        let due = self.uncommitted >= COMMIT_AFTER_ENTRIES || self.committed.elapsed() >= COMMIT_AFTER;
        if due && self.uncommitted > 0 && tell() {
            self.attempt(|database, _| database.execute_batch("COMMIT; BEGIN"));
            (self.uncommitted, self.committed) = (0, Instant::now());
        }
    }

    /// Does something with the database. When that is damaged, begins anew and does it there; when it fails otherwise,
    /// nothing is remembered from then on.
    fn attempt<T>(&mut self, act: impl Fn(&Connection, Run) -> rusqlite::Result<T>) -> Option<T> {
        if self.failed.is_some() {
            return None;
        }
        let problem = match act(&self.database, self.run).map_err(Trouble::from) {
            Ok(done) => return Some(done),
            Err(Trouble::Damage(damage)) => match self.begin_anew(&damage) {
                Ok(()) => match act(&self.database, self.run) {
                    Ok(done) => return Some(done),
                    Err(error) => Trouble::from(error).into_message(),
                },
                Err(failed) => failed,
            },
            Err(Trouble::Other(problem)) => problem,
        };
        say(format_args!("{}: {problem}; from here on nothing is remembered", printable(&self.path)));
        self.failed = Some(problem);
        None
    }

    fn begin_anew(&mut self, damage: &str) -> Result<(), String> {
        // Closes the damaged one.
        self.database = Connection::open_in_memory().map_err(|error| error.to_string())?;
        set_aside(&self.path, damage).map_err(|error| error.to_string())?;
        (self.database, self.run) = begin(&self.path, None).map_err(Trouble::into_message)?;
        Ok(())
    }
}

/// Opens the database for this program alone and begins a run, in a transaction.
fn begin(path: &Path, max_age: Option<Duration>) -> Result<(Connection, Run), Trouble> {
    file::check(path)?;
    let database = Connection::open(path)?;
    // Another run would otherwise remember between the lines of this one.
    database.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    database.execute_batch("BEGIN EXCLUSIVE")?;
    check_owner(&database)?;
    // Until here nothing was written.
    database.execute_batch("ROLLBACK")?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    database.pragma_update(None, "cache_size", -8192)?;
    database.execute_batch("BEGIN EXCLUSIVE")?;
    database.pragma_update(None, "application_id", APPLICATION_ID)?;
    database.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    database.execute_batch(SCHEMA)?;

    let now = nanoseconds(SystemTime::now());
    let (id, started) = match interrupted_run(&database)? {
        Some(run) => run,
        None => {
            let id = database.query_row("SELECT COALESCE(MAX(id), 0) + 1 FROM runs", [], |row| row.get(0))?;
            let run = params![id, now, Run::seal(id, now, None)];
            database.execute("INSERT INTO runs (id, started, seal) VALUES (?1, ?2, ?3)", run)?;
            (id, now)
        }
    };
    database.execute_batch("COMMIT; BEGIN")?;
    let oldest = max_age.map(|age| now.saturating_sub(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX)));
    Ok((database, Run { id, started, fresh_since: oldest.unwrap_or(started) }))
}

/// Whether the database is a state or empty, as one is whose creation was cut short.
fn check_owner(database: &Connection) -> Result<(), Trouble> {
    let number = |pragma| database.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let ids = (number("application_id")?, number("user_version")?);
    let mut tables = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let schema = SCHEMA.replace("IF NOT EXISTS ", "");
    let are_ours = !tables.is_empty() && tables.iter().all(|table| schema.contains(table.as_str()));
    match ids {
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(()),
        (0, 0) if tables.is_empty() => Ok(()),
        _ if are_ours => Err(Trouble::Damage("its header says that it is something else".into())),
        _ => Err(Trouble::Other("is a database of something else; name another file".into())),
    }
}

/// The last run, if it did not come to its end and can be believed: its number and when it started.
fn interrupted_run(database: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    let last = "SELECT id, started, finished, seal FROM runs ORDER BY id DESC LIMIT 1";
    let last = database.query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    let last: Option<(i64, i64, Option<i64>, i64)> = believable(last)?;
    Ok(last.filter(|run| run.2.is_none() && Run::seal(run.0, run.1, None) == run.3).map(|run| (run.0, run.1)))
}

/// The entry of a file, if there is one that can be believed.
fn find(database: &Connection, path: &Path) -> rusqlite::Result<Option<Entry>> {
    let mut find = database
        .prepare_cached("SELECT len, modified, verified, checks, manifest, status, seal FROM files WHERE path = ?1")?;
    let entry = find.query_row([path.as_os_str().as_bytes()], |row| {
        let [len, modified, verified, checks] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        let entry = Entry { len, modified, verified, checks, manifest: row.get(4)?, status: row.get(5)? };
        Ok((entry, row.get::<_, i64>(6)?))
    });
    Ok(believable(entry)?.and_then(|(entry, seal)| (entry.seal(path) == seal).then_some(entry)))
}

/// A row, if there is one and its values have the types of those that were written.
fn believable<T>(row: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType, Utf8Error};

    match row.optional() {
        Err(InvalidColumnType(..) | FromSqlConversionFailure(..) | Utf8Error(..)) => Ok(None),
        row => row,
    }
}

/// Removes what lies at or below `root` and was not seen in this run.
fn forget_unseen(database: &Connection, root: &Path, run: i64) -> rusqlite::Result<()> {
    let below = |end: u8| {
        [root.as_os_str().as_bytes().strip_suffix(b"/").unwrap_or(root.as_os_str().as_bytes()), &[end]].concat()
    };
    // In the order of bytes, all below a directory stands between its name with a slash and its name with what is next.
    let mut forget =
        database.prepare("DELETE FROM files WHERE run <> ?1 AND (path = ?2 OR (path > ?3 AND path < ?4))")?;
    forget.execute(params![run, root.as_os_str().as_bytes(), below(b'/'), below(b'/' + 1)])?;
    Ok(())
}

fn len(stamp: &FileStamp) -> i64 {
    i64::try_from(stamp.len).unwrap_or(i64::MAX)
}

/// Before 1970 as a negative number.
fn nanoseconds(time: SystemTime) -> i64 {
    let number = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => number(since),
        Err(before) => -number(before.duration()),
    }
}
