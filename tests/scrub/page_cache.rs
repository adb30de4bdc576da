//! A scrub leaves the page cache as it found it, and reads past it where it is asked to.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use membrane_codec::scrub::Scrubber;
use rustix::fs::{Advice, fadvise};

use crate::samples;
use crate::support::{BUFFER_LEN, directory, is_sound, noise, scrub, scrub_all, write};

const PAGE_LEN: usize = 4096;
/// The system may take pages away by itself at any time.
const STRAY: usize = 8;

/// How many pages of a file are cached; `None` where nothing tells.
fn cached_pages(path: &Path) -> Option<usize> {
    let output = Command::new("fincore").args(["--noheadings", "--output", "PAGES"]).arg(path).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn pages_of(path: &Path) -> usize {
    (fs::metadata(path).expect("it is there").len() as usize).div_ceil(PAGE_LEN)
}

/// Takes a file out of the cache; `None` where that does not work.
fn drop_from_cache(path: &Path) -> Option<()> {
    let file = File::open(path).expect("it is there");
    file.sync_all().expect("it can be written");
    for _ in 0..20 {
        fadvise(&file, 0, None, Advice::DontNeed).expect("it is a file");
        if cached_pages(path)? == 0 {
            return Some(());
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    None
}

/// Brings parts of a file into the cache, and nothing else.
fn cache(path: &Path, parts: impl IntoIterator<Item = std::ops::Range<usize>>) {
    use std::os::unix::fs::FileExt;
    let file = File::open(path).expect("it is there");
    fadvise(&file, 0, None, Advice::Random).expect("it is a file");
    for part in parts {
        let mut buffer = vec![0; part.len()];
        file.read_exact_at(&mut buffer, part.start as u64).expect("it is there");
    }
}

/// Files of all lengths that matter: within a page, within a buffer, of one exactly, of many.
fn files(directory: &Path) -> Vec<PathBuf> {
    let lens = [400, PAGE_LEN, 100_000, BUFFER_LEN, BUFFER_LEN + 1, 3 * BUFFER_LEN, 20 * BUFFER_LEN + 777];
    let overhead = samples::frame_of(b"").len();
    let file = |len: usize| write(directory, &len.to_string(), &samples::frame_of(&noise(len - overhead, len as u64)));
    lens.into_iter().map(file).collect()
}

fn scrub_soundly(scrubber: &Scrubber, paths: &[PathBuf]) {
    let (summary, told) = scrub_all(scrubber, paths.to_vec());
    assert_eq!(told.len(), paths.len());
    assert!(told.iter().all(is_sound), "{told:?}");
    assert_eq!(summary.not_direct, 0);
}

#[test]
fn files_that_were_not_cached_are_not_cached_afterwards() {
    let directory = directory();
    let paths = files(directory.path());
    for threads in [1, 2] {
        // To let go of a page is advice: the system may keep one that it is busy with. Not each time, though.
        let left = (0..5).map(|_| {
            for path in &paths {
                drop_from_cache(path)?;
            }
            scrub_soundly(&Scrubber::new().threads(threads), &paths);
            paths.iter().map(|path| cached_pages(path)).sum::<Option<usize>>()
        });
        let left: Vec<_> = left.take_while(|left| left.is_some()).collect();
        assert!(left.is_empty() || left.contains(&Some(0)), "pages that stayed: {left:?}");
    }
}

#[test]
fn files_that_were_cached_stay_cached() {
    let directory = directory();
    let paths = files(directory.path());
    for path in &paths {
        let Some(_) = cached_pages(path) else { return };
        let all = 0..fs::metadata(path).expect("it is there").len() as usize;
        cache(path, std::iter::once(all));
    }
    scrub_soundly(&Scrubber::new().threads(2), &paths);
    for path in &paths {
        let cached = cached_pages(path).expect("it told before");
        assert!(cached + STRAY >= pages_of(path), "{cached} of {} pages", pages_of(path));
    }
}

/// Caches parts of a file of 8 MiB, scrubs it, and gives the number of cached pages before and after.
fn before_and_after(parts: impl IntoIterator<Item = std::ops::Range<usize>>) -> Option<(usize, usize)> {
    let directory = directory();
    let path = write(directory.path(), "half", &samples::frame_of(&noise(8 << 20, 1)));
    drop_from_cache(&path)?;
    cache(&path, parts);
    let before = cached_pages(&path)?;
    scrub_soundly(&Scrubber::new().threads(1), std::slice::from_ref(&path));
    Some((before, cached_pages(&path)?))
}

#[test]
fn what_was_cached_of_a_file_stays_and_nothing_else_comes() {
    let piece = BUFFER_LEN / PAGE_LEN;
    let half = 4 << 20;
    for parts in [0..half, half..2 * half, half / 2..half + half / 2, 1000..half + 100_000] {
        let Some((before, after)) = before_and_after([parts.clone()]) else { return };
        assert!(before >= (half / 2) / PAGE_LEN, "{before}");
        assert!(
            after + piece + STRAY >= before && after <= before + piece,
            "{parts:?}: {before} before, {after} after"
        );
    }
}

#[test]
fn cached_pages_between_others_stay() {
    // The first half of each piece.
    let parts = (0..32).map(|piece| piece * BUFFER_LEN..piece * BUFFER_LEN + BUFFER_LEN / 2);
    let Some((before, after)) = before_and_after(parts) else { return };
    assert_eq!(before, 32 * BUFFER_LEN / 2 / PAGE_LEN);
    let piece = BUFFER_LEN / PAGE_LEN;
    assert!(after + piece + STRAY >= before && after <= before + piece, "{before} before, {after} after");
}

#[test]
fn direct_reads_leave_the_cache_alone() {
    let directory = directory();
    let paths = files(directory.path());
    for path in &paths {
        let Some(()) = drop_from_cache(path) else { return };
    }
    scrub_soundly(&Scrubber::new().threads(2).direct(true), &paths);
    for path in &paths {
        assert_eq!(cached_pages(path), Some(0), "{} of {} pages", path.display(), pages_of(path));
    }
}

#[test]
fn file_systems_that_refuse_direct_reads_are_read_through_the_cache_and_counted() {
    // Files of the kernel's own state.
    let (summary, told) = scrub(&Scrubber::new().direct(true), "/proc/self/maps");
    assert_eq!((summary.not_direct, told.len()), (1, 1));
    assert_eq!(scrub(&Scrubber::new(), "/proc/self/maps").0.not_direct, 0);
    // File systems in memory allow them since Linux 6.6.
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
    let paths = files(directory.path());
    let (summary, told) = scrub_all(&Scrubber::new().threads(2).direct(true), paths.clone());
    assert!(told.len() == paths.len() && told.iter().all(is_sound), "{told:?}");
    assert!(summary.not_direct == 0 || summary.not_direct == paths.len() as u64, "{}", summary.not_direct);
}
#[test]
fn a_long_identity_is_let_go_as_well() {
    let directory = directory();
    let mut identity = samples::identity_of(b"payload");
    identity.model_id = "x".repeat(700_000);
    let frame = membrane_codec::canonicalize(&identity, &noise(2 * BUFFER_LEN, 2)).expect("a small frame");
    let path = write(directory.path(), "long", &frame);
    let Some(()) = drop_from_cache(&path) else { return };
    scrub_soundly(&Scrubber::new().threads(1), std::slice::from_ref(&path));
    assert_eq!(cached_pages(&path), Some(0), "of {} pages", pages_of(&path));
}
