//! Files that somebody else writes to, replaces or removes while they are migrated: what they did stays.

use std::fs;
use std::io::{Seek, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use membrane_codec::migrate::{FrameMigrator, FrameVersion};

use crate::samples::frame_of;
use crate::support::{Fate, Log, directory, names_in, noise, read, v4_of, write};

/// Migrates one file, during whose copying `change` happens once; what was told, and the file's bytes if it is there.
fn migrated_during(change: impl Fn(&Path) + Sync) -> (Vec<Fate>, Option<Vec<u8>>) {
    let directory = directory();
    let path = write(directory.path(), "a.blob", &v4_of(&noise(1_000_000, 1)));
    let once = std::sync::Once::new();
    let log = Log::new().on_advance(|| once.call_once(|| change(&path)));
    FrameMigrator::new().write(true).threads(1).run([directory.path().to_owned()], &log);
    let told = log.told().into_iter().map(|(_, fate)| fate).collect();
    let names = names_in(directory.path());
    assert!(names.iter().all(|name| name == "a.blob"), "{names:?}");
    (told, fs::read(&path).ok())
}

fn outdated() -> Vec<Fate> {
    vec![Fate::Failed("was written to, replaced or removed meanwhile: left as it is now; run again".into())]
}

#[test]
fn nothing_changes() {
    let (told, bytes) = migrated_during(|_| {});
    assert_eq!((told, bytes), (vec![Fate::Converted(FrameVersion::V4)], Some(frame_of(&noise(1_000_000, 1)))));
}

#[test]
fn written_to_in_place() {
    let (told, bytes) = migrated_during(|path| {
        let mut file = fs::File::options().write(true).open(path).expect("it is there");
        file.seek(std::io::SeekFrom::Start(500_000)).expect("it is long enough");
        file.write_all(b"somebody's bytes").expect("room");
    });
    let mut expected = v4_of(&noise(1_000_000, 1));
    expected[500_000..500_016].copy_from_slice(b"somebody's bytes");
    assert_eq!((told, bytes.expect("it is there") == expected), (outdated(), true));
}

#[test]
fn written_to_with_its_old_time() {
    let (told, bytes) = migrated_during(|path| {
        let modified = fs::metadata(path).expect("it is there").modified().expect("a time");
        let mut file = fs::File::options().write(true).open(path).expect("it is there");
        file.write_all(b"somebody").expect("room");
        file.set_modified(modified).expect("it is ours");
    });
    assert_eq!((told, &bytes.expect("it is there")[..8]), (outdated(), &b"somebody"[..]));
}

#[test]
fn lengthened_and_cut() {
    for len in [10, 2_000_000] {
        let cut =
            |path: &Path| fs::File::options().write(true).open(path).and_then(|file| file.set_len(len)).expect("room");
        let (told, bytes) = migrated_during(cut);
        assert_eq!((told, bytes.expect("it is there").len() as u64), (outdated(), len));
    }
}

#[test]
fn replaced_by_another() {
    let (told, bytes) = migrated_during(|path| {
        let other = write(path.parent().expect("a directory"), "other", b"another's");
        fs::rename(other, path).expect("room");
    });
    assert_eq!((told, bytes), (outdated(), Some(b"another's".to_vec())));
}

#[test]
fn removed() {
    let (told, bytes) = migrated_during(|path| fs::remove_file(path).expect("it is there"));
    assert_eq!((told, bytes), (outdated(), None));
}

/// Somebody who replaces files all the time, as stores do: no file of theirs is ever lost to an older one.
#[test]
fn a_store_that_goes_on_writing() {
    let directory = directory();
    let rounds: u32 = std::env::var("MIGRATE_WRITER_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(300);
    println!("{rounds} rounds; MIGRATE_WRITER_ROUNDS sets another number");
    let path = write(directory.path(), "a.blob", &v4_of(b"0"));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                FrameMigrator::new().write(true).threads(1).run([path.clone()], &Log::new());
            }
        });
        for round in 0..rounds {
            let payload = round.to_string().into_bytes();
            let old = write(directory.path(), "new", &v4_of(&payload));
            fs::rename(old, &path).expect("room");
            // For a moment, until it is noticed, the one before may be there.
            let is_there = || [v4_of(&payload), frame_of(&payload)].contains(&read(&path));
            let tries = (0..1000).take_while(|_| !is_there()).inspect(|_| sleep(Duration::from_millis(5))).count();
            assert!(tries < 1000, "round {round}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let last = (rounds - 1).to_string().into_bytes();
    let now = read(&path);
    assert!(now == v4_of(&last) || now == frame_of(&last));
}
