//! Whole files from a hot page cache: `membrane-codec verify` beside `openssl dgst`, `cat`, and the same bytes in memory.
//!
//! `cargo bench --bench scrub --features scrub [-- DIRECTORY]` makes 128 frames of 8 MiB and 200,000 of 4 KiB (some 2 GiB,
//! removed at the end) and prints medians, ratios and peak memory. Needs openssl, cat, xargs, and a program built with
//! `cargo build --release -p membrane-codec-cli`.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use membrane_codec::{BatchVerifier, sha256};

mod sample;

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let root = argument.map_or_else(std::env::temp_dir, PathBuf::from).join("membrane-codec-bench-scrub");
    fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let measured = measure(&root);
    let removed = fs::remove_dir_all(&root);
    measured.and(Ok(removed?))
}

fn measure(root: &Path) -> Result<(), Box<dyn Error>> {
    // target/release/deps/scrub-... beside target/release/membrane-codec
    let program = std::env::current_exe()?.with_file_name("../membrane-codec");
    let large = make(&root.join("large"), 128, 8 << 20, Layout::Store)?;
    let flat = make(&root.join("flat"), 200_000, 4096, Layout::Flat)?;
    let store = link(&flat, &root.join("store"))?;

    let verify = |files: &Files, threads: &str| {
        let mut command = Command::new(&program);
        command.args(["verify", "--quiet", "-j", threads]).arg(&files.directory);
        command
    };
    let over_xargs = |files: &Files, words: &[&str]| -> io::Result<Command> {
        let mut command = Command::new("xargs");
        command.arg("-0").args(words).stdin(File::open(&files.list)?);
        Ok(command)
    };
    println!(
        "| files | | seconds | GB/s | to openssl | to cat | peak MiB |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    let mut ratios = Vec::new();
    for files in [&large, &flat, &store] {
        let mut rows = vec![
            Row::new("`cat`, over xargs"),
            Row::new("`openssl dgst -sha256`, over xargs"),
            Row::new("`verify -j 1`"),
            Row::new("`verify -j 2`"),
        ];
        if files.count < 1000 {
            rows.push(Row::new("`BatchVerifier`, one thread, in memory"));
        }
        for _ in 0..ROUNDS {
            rows[0].run(over_xargs(files, &["cat"])?)?;
            rows[1].run(over_xargs(files, &["openssl", "dgst", "-sha256"])?)?;
            rows[2].run(verify(files, "1"))?;
            rows[3].run(verify(files, "2"))?;
            if let Some(row) = rows.get_mut(4) {
                let frames = files.read()?;
                let started = Instant::now();
                let batch = BatchVerifier::new().threads(1).verify(&frames);
                row.times.push(started.elapsed());
                assert_eq!(batch.report.sound(), files.count as u64);
            }
        }
        let (cat, openssl) = (rows[0].median(), rows[1].median());
        for row in &rows {
            let seconds = row.median();
            println!(
                "| {} | {} | {seconds:.3} | {:.2} | {:.2} | {:.2} | {} |",
                files.name(),
                row.name,
                files.bytes as f64 / seconds / 1e9,
                openssl / seconds,
                cat / seconds,
                row.peak_kib.map_or(String::new(), |kib| (kib / 1024).to_string()),
            );
        }
        let (one, two) = (rows[2].median(), rows[3].median());
        ratios.push(format!("{}: two threads to one {:.2}", files.name(), one / two));
        ratios.extend(
            rows.get(4).map(|memory| format!("{}: one thread to memory {:.2}", files.name(), memory.median() / one)),
        );
    }
    ratios.iter().for_each(|ratio| println!("\n{ratio}"));
    Ok(())
}

struct Files {
    directory: PathBuf,
    /// Their paths, each with a NUL.
    list: PathBuf,
    count: usize,
    bytes: u64,
}

impl Files {
    fn name(&self) -> String {
        let layout = self.directory.file_name().unwrap_or_default().to_string_lossy();
        format!("{} of {} bytes, {layout}", self.count, self.bytes / self.count as u64)
    }

    fn paths(&self) -> io::Result<Vec<String>> {
        Ok(fs::read_to_string(&self.list)?.split_terminator('\0').map(str::to_owned).collect())
    }

    fn read(&self) -> io::Result<Vec<Vec<u8>>> {
        self.paths()?.iter().map(fs::read).collect()
    }
}

#[derive(Clone, Copy)]
enum Layout {
    /// `{key[:2]}/{key[2:4]}/{key}.blob`
    Store,
    /// All in one directory.
    Flat,
}

impl Layout {
    fn directory(self, root: &Path, key: &str) -> PathBuf {
        match self {
            Self::Store => root.join(&key[..2]).join(&key[2..4]),
            Self::Flat => root.to_owned(),
        }
    }
}

/// Writes `count` frames of `len` bytes.
fn make(directory: &Path, count: usize, len: usize, layout: Layout) -> Result<Files, Box<dyn Error>> {
    let payload_len = len - sample::frame_of(b"").len();
    let mut payload: Vec<u8> = (0..payload_len as u64).map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8).collect();
    let list = directory.with_extension("list");
    fs::create_dir(directory)?;
    let mut names = io::BufWriter::new(File::create(&list)?);
    for number in 0..count {
        payload[..8].copy_from_slice(&(number as u64).to_le_bytes());
        let key = sha256(&payload).to_string();
        let place = layout.directory(directory, &key);
        fs::create_dir_all(&place)?;
        let path = place.join(format!("{key}.blob"));
        fs::write(&path, sample::frame_of(&payload))?;
        write!(names, "{}\0", path.display())?;
    }
    names.flush()?;
    Ok(Files { directory: directory.to_owned(), list, count, bytes: (count * len) as u64 })
}

/// The same files as a store has them.
fn link(flat: &Files, directory: &Path) -> Result<Files, Box<dyn Error>> {
    let list = directory.with_extension("list");
    let mut names = io::BufWriter::new(File::create(&list)?);
    for path in flat.paths()?.iter().map(Path::new) {
        let key = path.file_stem().unwrap_or_default().to_string_lossy();
        let place = Layout::Store.directory(directory, &key);
        fs::create_dir_all(&place)?;
        let target = place.join(path.file_name().unwrap_or_default());
        fs::hard_link(path, &target)?;
        write!(names, "{}\0", target.display())?;
    }
    names.flush()?;
    Ok(Files { directory: directory.to_owned(), list, count: flat.count, bytes: flat.bytes })
}

/// One contender.
struct Row {
    name: &'static str,
    times: Vec<Duration>,
    peak_kib: Option<u64>,
}

impl Row {
    fn new(name: &'static str) -> Self {
        Self { name, times: Vec::new(), peak_kib: None }
    }

    fn run(&mut self, mut command: Command) -> Result<(), Box<dyn Error>> {
        let started = Instant::now();
        let mut child = command.stdout(Stdio::null()).spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let status = format!("/proc/{}/status", child.id());
        let exit = loop {
            if let Some(exit) = child.try_wait()? {
                break exit;
            }
            // The high-water mark, as long as the process is there to tell.
            let peak = fs::read_to_string(&status).unwrap_or_default();
            let peak =
                peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
            self.peak_kib = self.peak_kib.max(peak);
            std::thread::sleep(Duration::from_millis(1));
        };
        self.times.push(started.elapsed());
        if exit.success() { Ok(()) } else { Err(format!("{command:?}: {exit}").into()) }
    }

    fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64()
    }
}
