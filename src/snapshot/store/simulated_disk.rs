//! A file layer that fails, and forgets what was not synced when its power goes.
//!
//! After a loss of power each name stands for what it stood for when the directory was last synced, or for anything that it
//! stood for since; a file holds what was last synced, or any mixture of that, of what was written since, and of zeros.
//! A sync that failed counts for nothing, and neither do the later ones of that file: systems take what they could not
//! write for clean.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::files::{FileId, Files, Kind, OpenFile, Rights, Stamp};

/// Bytes that are lost together.
const BLOCK_LEN: usize = 16;

#[derive(Clone)]
pub(super) struct SimulatedDisk(Arc<Mutex<State>>);

struct State {
    random: ChaCha8Rng,
    /// Of how many steps one fails, if any.
    faults: Option<u32>,
    /// How many steps are left before the power goes, if it goes.
    steps_left: Option<u32>,
    has_power: bool,
    /// How often the power came back; what was opened before is closed.
    boot: u32,
    files: Vec<Inode>,
    names: BTreeMap<OsString, Name>,
    locked: BTreeSet<u64>,
}

#[derive(Clone, Default)]
struct Inode {
    durable: Vec<u8>,
    bytes: Vec<u8>,
    a_sync_failed: bool,
}

#[derive(Default)]
struct Name {
    now: Option<u64>,
    /// What it may stand for when the power goes.
    after_crash: Vec<Option<u64>>,
}

/// How a step goes.
#[derive(PartialEq)]
enum Step {
    Done,
    /// It fails without effect.
    Refused,
    /// It has its effect, and an error is told all the same: a server's answer was lost.
    DoneAndRefused,
}

impl SimulatedDisk {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            random: ChaCha8Rng::seed_from_u64(seed),
            faults: None,
            steps_left: None,
            has_power: true,
            boot: 0,
            files: Vec::new(),
            names: BTreeMap::new(),
            locked: BTreeSet::new(),
        })))
    }

    /// From now on one step of `faults` fails, and the power goes after `steps`.
    pub(super) fn trouble(&self, faults: Option<u32>, steps: Option<u32>) {
        let mut state = self.state();
        (state.faults, state.steps_left) = (faults, steps);
    }

    pub(super) fn has_power(&self) -> bool {
        self.state().has_power
    }

    /// The power goes, if it has not, and comes back; what was not synced is gone or there, as it happens.
    pub(super) fn crash(&self) {
        let mut state = self.state();
        let State { random, names, files, .. } = &mut *state;
        for name in names.values_mut() {
            name.now = name.after_crash[random.random_range(0..name.after_crash.len())];
            name.after_crash = vec![name.now];
        }
        for file in files {
            if file.a_sync_failed || file.durable != file.bytes {
                file.bytes = mixture(random, &file.durable, &file.bytes);
            }
            file.durable.clone_from(&file.bytes);
            file.a_sync_failed = false;
        }
        (state.faults, state.steps_left, state.has_power) = (None, None, true);
        state.locked.clear();
        state.boot += 1;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds this")
    }
}

fn mixture(random: &mut ChaCha8Rng, durable: &[u8], written: &[u8]) -> Vec<u8> {
    match random.random_range(0..4) {
        0 => durable.to_vec(),
        1 => written[..random.random_range(0..=written.len())].to_vec(),
        2 => vec![0; written.len()],
        _ => {
            let mut mixed = Vec::new();
            for start in (0..written.len()).step_by(BLOCK_LEN) {
                let end = written.len().min(start + BLOCK_LEN);
                match (random.random_range(0..3), durable.get(start..end)) {
                    (0, _) => mixed.extend(&written[start..end]),
                    (1, Some(block)) => mixed.extend(block),
                    _ => mixed.resize(end, 0),
                }
            }
            mixed
        }
    }
}

fn refused() -> io::Error {
    // As a full disk, or one that fails.
    io::Error::from_raw_os_error(28)
}

impl State {
    fn step(&mut self) -> Step {
        if !self.has_power {
            return Step::Refused;
        }
        if let Some(left) = &mut self.steps_left {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => {
                    self.has_power = false;
                    // The last step is done or not, and nobody hears of it.
                    return if self.random.random_bool(0.5) { Step::DoneAndRefused } else { Step::Refused };
                }
            }
        }
        match self.faults {
            Some(faults) if self.random.random_range(0..faults) == 0 => {
                if self.random.random_range(0..8) == 0 {
                    Step::DoneAndRefused
                } else {
                    Step::Refused
                }
            }
            _ => Step::Done,
        }
    }

    /// Does something, or fails, or both.
    fn attempt<T>(&mut self, act: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        match self.step() {
            Step::Refused => Err(refused()),
            Step::Done => act(self),
            Step::DoneAndRefused => act(self).and(Err(refused())),
        }
    }

    fn find(&self, name: &OsStr) -> io::Result<u64> {
        self.names.get(name).and_then(|name| name.now).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn bind(&mut self, name: &OsStr, number: Option<u64>) {
        let name = self.names.entry(name.to_owned()).or_insert_with(|| Name { now: None, after_crash: vec![None] });
        name.now = number;
        name.after_crash.push(number);
    }
}

impl Files for SimulatedDisk {
    fn look_at(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        self.state().attempt(|state| Ok(state.find(name).ok().map(stamp)))
    }

    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        let (number, boot) = self.state().attempt(|state| Ok((state.find(name)?, state.boot)))?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), number, boot, at: 0, has_lock: AtomicBool::new(false) }))
    }

    fn create(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        let (number, boot) = self.state().attempt(|state| {
            if state.find(name).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let number = state.files.len() as u64;
            state.files.push(Inode::default());
            state.bind(name, Some(number));
            Ok((number, state.boot))
        })?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), number, boot, at: 0, has_lock: AtomicBool::new(false) }))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.state().attempt(|state| {
            let number = state.find(from)?;
            state.bind(from, None);
            state.bind(to, Some(number));
            Ok(())
        })
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        self.state().attempt(|state| {
            state.find(name)?;
            state.bind(name, None);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.state().attempt(|state| {
            state.names.values_mut().for_each(|name| name.after_crash = vec![name.now]);
            Ok(())
        })
    }

    fn names(&self) -> io::Result<Vec<OsString>> {
        self.state().attempt(|state| {
            let there = state.names.iter().filter(|(_, name)| name.now.is_some());
            Ok(there.map(|(name, _)| name.clone()).collect())
        })
    }

    fn rights(&self) -> io::Result<Rights> {
        Ok(Rights { owner: 0, owner_is_trusted: true, mode: 0o700 })
    }
}

fn stamp(number: u64) -> Stamp {
    Stamp { kind: Kind::File, id: FileId { device: 1, number }, len: 0, mode: 0o600 }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    number: u64,
    boot: u32,
    at: usize,
    has_lock: AtomicBool,
}

impl SimulatedFile {
    fn attempt<T>(&self, act: impl FnOnce(&mut ChaCha8Rng, &mut Inode) -> io::Result<T>) -> io::Result<T> {
        self.disk.state().attempt(|state| act(&mut state.random, &mut state.files[self.number as usize]))
    }
}

impl Read for SimulatedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.at;
        let got = self.attempt(|random, file| {
            let rest = &file.bytes[at..];
            // As much as it likes.
            let most = rest.len().min(buffer.len());
            let len = if most == 0 { 0 } else { random.random_range(1..=most) };
            buffer[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        })?;
        self.at += got;
        Ok(got)
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.attempt(|random, file| {
            let len = random.random_range(1..=bytes.len());
            file.bytes.extend(&bytes[..len]);
            Ok(len)
        });
        if written.is_err() && self.disk.has_power() {
            // What was to be written may have been, in part.
            let mut state = self.disk.state();
            let len = state.random.random_range(0..=bytes.len());
            state.files[self.number as usize].bytes.extend(&bytes[..len]);
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OpenFile for SimulatedFile {
    fn stamp(&self) -> io::Result<Stamp> {
        self.attempt(|_, _| Ok(stamp(self.number)))
    }

    fn lock(&self) -> io::Result<()> {
        self.disk.state().attempt(|state| {
            assert!(state.locked.insert(self.number), "would wait for ever");
            self.has_lock.store(true, Ordering::Relaxed);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self.attempt(|_, file| {
            file.durable.clone_from(&file.bytes);
            Ok(())
        });
        if synced.is_err() {
            self.disk.state().files[self.number as usize].a_sync_failed = true;
        }
        synced
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if self.has_lock.load(Ordering::Relaxed) && state.boot == self.boot {
            state.locked.remove(&self.number);
        }
    }
}
