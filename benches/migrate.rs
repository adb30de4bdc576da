//! A tree of v4 frames that is migrated, beside copies of it: `migrate_tree`.
//!
//! `cargo bench --bench migrate --features migrate [-- DIRECTORY]` makes 64 frames of 8 MiB (some 1.5 GiB in all with the
//! copies, removed at the end), has them in the page cache, and prints medians and ratios: `cp -r`; `cp -r` and `sync`, which
//! leaves a tree on disk as a migration does; a migration in memory's terms, which is to verify alone; and the migration,
//! with the number of threads that it takes by itself and with one. Needs cp and sync; `sync` waits for all that others
//! write as well, so measure when nobody does.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use membrane_codec::migrate::{FrameFate, FrameMigrator, on_file};
use membrane_codec::sha256;

mod sample;

const ROUNDS: usize = 7;
const FRAMES: u64 = 64;
const LEN: usize = 8 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let root = argument.map_or_else(std::env::temp_dir, PathBuf::from).join("membrane-codec-bench-migrate");
    fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let measured = measure(&root);
    let removed = fs::remove_dir_all(&root);
    measured.and(Ok(removed?))
}

fn measure(root: &Path) -> Result<(), Box<dyn Error>> {
    let old = root.join("old");
    make(&old)?;
    let (copy, tree) = (root.join("copy"), root.join("tree"));
    let mut rows = [
        ("`cp -r`", Vec::new()),
        ("`cp -r`, then `sync`", Vec::new()),
        ("dry run", Vec::new()),
        ("migration", Vec::new()),
        ("migration, one thread", Vec::new()),
        ("migration, nothing to do", Vec::new()),
    ];
    for _ in 0..ROUNDS {
        fresh(&copy)?;
        let started = Instant::now();
        run(Command::new("cp").arg("-r").args([&old, &copy]))?;
        rows[0].1.push(started.elapsed());
        run(&mut Command::new("sync"))?;
        rows[1].1.push(started.elapsed());

        rows[2].1.push(migrate(&FrameMigrator::new(), &old, 0)?);
        for (row, migrator) in [(3, FrameMigrator::new()), (4, FrameMigrator::new().threads(1))] {
            fresh(&tree)?;
            run(Command::new("cp").arg("-r").args([&old, &tree]))?;
            run(&mut Command::new("sync"))?;
            rows[row].1.push(migrate(&migrator.clone().write(true), &tree, FRAMES)?);
            rows[5].1.push(migrate(&migrator.write(true), &tree, 0)?);
        }
    }
    let medians = rows.each_mut().map(|(name, times)| (*name, median(times)));
    let (cp, durable) = (medians[0].1, medians[1].1);
    println!(
        "migrate_tree\n\n| | seconds | GB/s | to `cp -r` | to `cp -r` and `sync` |\n| --- | --- | --- | --- | --- |"
    );
    for (name, seconds) in medians {
        let rate = (FRAMES * LEN as u64) as f64 / seconds / 1e9;
        println!("| {name} | {seconds:.3} | {rate:.2} | {:.2} | {:.2} |", seconds / cp, seconds / durable);
    }
    Ok(())
}

/// Frames of v4, as a store keeps them.
fn make(directory: &Path) -> Result<(), Box<dyn Error>> {
    let payload_len = LEN - sample::frame_of(b"").len();
    let mut payload: Vec<u8> = (0..payload_len as u64).map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8).collect();
    for number in 0..FRAMES {
        payload[..8].copy_from_slice(&number.to_le_bytes());
        let key = sha256(&payload).to_string();
        let place = directory.join(&key[..2]).join(&key[2..4]);
        fs::create_dir_all(&place)?;
        let mut frame = sample::frame_of(&payload);
        frame[..6].copy_from_slice(&[0xC0, 0xDE, 0x01, 0x04, 4, 0]);
        fs::write(place.join(format!("{key}.blob")), frame)?;
    }
    run(&mut Command::new("sync"))
}

/// Nothing is there, and nothing waits to be written.
fn fresh(directory: &Path) -> Result<(), Box<dyn Error>> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    run(&mut Command::new("sync"))
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// How long it takes; it must convert so many.
fn migrate(migrator: &FrameMigrator, tree: &Path, converted: u64) -> Result<Duration, Box<dyn Error>> {
    let count = std::sync::atomic::AtomicU64::new(0);
    let started = Instant::now();
    migrator.run(
        [tree.to_owned()],
        &on_file(|report| match report.fate() {
            FrameFate::Converted => _ = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            FrameFate::Current | FrameFate::Convertible => {}
            other => panic!("{}: {other:?}", report.path().display()),
        }),
    );
    let elapsed = started.elapsed();
    assert_eq!(count.into_inner(), converted);
    Ok(elapsed)
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}
