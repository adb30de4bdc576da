//! Writes what is known to be interesting into the fuzz targets' corpora, from the project's fixtures.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml`, as often as one likes: a seed is named by its hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use membrane_codec::Frame;
use membrane_codec::proto::{Chunk, Envelope, Message};
use membrane_codec_fuzz::lower_hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Longer seeds would teach a fuzzer nothing and slow it down.
const MAX_SEED_LEN: usize = 8 * 1024;

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures = here.join("../fixtures");
    let mut corpora = Corpora { root: here.join("corpus"), written: 0 };

    for case in cases(&fixtures.join("vectors/frames.json"))? {
        if let Some(frame) = case["frame_hex"].as_str().and_then(bytes_of_hex) {
            corpora.add_frame(&frame)?;
        }
    }
    let identities = cases(&fixtures.join("vectors/identities.json"))?;
    for edge in identities.first().and_then(|case| case["canonical_json"].as_str()).map(edges).unwrap_or_default() {
        corpora.add_identity(edge.as_bytes())?;
    }
    for case in identities {
        corpora.add_identity(case["canonical_json"].as_str().unwrap_or_default().as_bytes())?;
        // As other writers may have it: another order, white space, and no escapes.
        corpora.add_identity(case["identity"].to_string().as_bytes())?;
        corpora.add_identity(format!("{:#}", case["identity"]).as_bytes())?;
    }
    for case in cases(&fixtures.join("vectors/snapshots.json"))? {
        let json = case["text"].as_str().unwrap_or_default();
        corpora.add("snapshot", json.as_bytes())?;
        // With escapes, with a name that leads elsewhere, and followed by edits.
        corpora.add("snapshot", json.replace("hash1", "h\\u0061sh1").as_bytes())?;
        corpora.add("snapshot", json.replacen("peer-1", "../peer-1", 1).as_bytes())?;
        corpora.add("snapshot", format!("{json}\0hash2=node-1\0hash1\0hash1=\"").as_bytes())?;
    }
    for case in cases(&fixtures.join("vectors/messages.json"))? {
        let body = case["message"].as_str().unwrap_or_default();
        corpora.add("message", body.as_bytes())?;
        // Without white space, and with escapes, which other roads read.
        corpora.add("message", body.replace(": ", ":").replace(", ", ",").as_bytes())?;
        corpora.add("message", body.replacen("\"public\"", "\"p\\u00fcblic\"", 1).as_bytes())?;
    }
    for case in cases(&fixtures.join("vectors/migrations.json"))? {
        if let Some(frame) = case["before_hex"].as_str().and_then(bytes_of_hex) {
            corpora.add("migrate_frame", &frame)?;
        }
        if case["before"].is_object() {
            corpora.add("migrate_envelope", case["before"].to_string().as_bytes())?;
            corpora.add("migrate_envelope", format!("{:#}", case["before"]).as_bytes())?;
        }
    }
    for directory in ["frames", "damaged", "attacks", "odd"] {
        for file in files_below(&fixtures.join(directory))? {
            corpora.add_frame(&fs::read(file)?)?;
        }
    }
    for body in tombstone_bodies() {
        corpora.add("tombstone_gossip", body.as_bytes())?;
    }
    for number in 0..64_u64 {
        corpora.add("structured_frame", &noise(number, 64 + 16 * number as usize))?;
        corpora.add("scan", &noise(number, 64 + 16 * number as usize))?;
        // An even first byte: the sketch of a transfer.
        corpora.add("proto_chunks", &[&[0], &noise(number, 64 + 16 * number as usize)[..]].concat())?;
    }
    for case in cases(&fixtures.join("proto/transfers.json"))? {
        corpora.add_transfer(&case)?;
    }
    for case in cases(&fixtures.join("proto/messages.json"))? {
        let message = case["hex"].as_str().and_then(bytes_of_hex).unwrap_or_default();
        corpora.add("proto_chunks", &[&[0], &message[..]].concat())?;
    }
    println!("{} seeds in {}", corpora.written, corpora.root.display());
    Ok(())
}

struct Corpora {
    root: PathBuf,
    written: usize,
}

impl Corpora {
    fn add_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        self.add("parse_canonical", frame)?;
        self.add("migrate_frame", frame)?;
        // structured_frame draws its frames from a sketch: to it, a frame would be noise.
        // stream_vs_slice takes eight bytes before the frame, which say how it arrives; any will do.
        let seed = Sha256::digest(frame);
        self.add("stream_vs_slice", &[&seed[..8], frame].concat())?;
        match Frame::parse_prefix(frame) {
            Ok((frame, _)) => self.add_identity(frame.identity_bytes()),
            Err(_) => Ok(()),
        }
    }

    /// The stream of a transfer that is compressed, after an odd byte and what the target wants to know of it.
    fn add_transfer(&mut self, case: &Value) -> io::Result<()> {
        let hex = |text: &Value| Bytes::from(text.as_str().and_then(bytes_of_hex).unwrap_or_default());
        let envelope = Envelope::decode(hex(&case["envelope"])).map_err(io::Error::other)?;
        let mut stream = Vec::new();
        for chunk in case["chunks"].as_array().into_iter().flatten() {
            stream.extend(Chunk::decode(hex(chunk)).map_err(io::Error::other)?.data);
        }
        let total = u16::try_from(envelope.total_bytes).unwrap_or(u16::MAX).to_le_bytes();
        // Cuts of 7 bytes; then 0 for zstd, 1 for lz4.
        let compression = (envelope.compression == 2).into();
        self.add("proto_chunks", &[&[1, total[0], total[1], 7, compression], &stream[..]].concat())
    }

    fn add_identity(&mut self, json: &[u8]) -> io::Result<()> {
        self.add("identity_json", json)
    }

    fn add(&mut self, target: &str, seed: &[u8]) -> io::Result<()> {
        if seed.len() > MAX_SEED_LEN {
            return Ok(());
        }
        let directory = self.root.join(target);
        fs::create_dir_all(&directory)?;
        let name = lower_hex(&Sha256::digest(seed)[..8]);
        fs::write(directory.join(name), seed)?;
        self.written += 1;
        Ok(())
    }
}

/// The cases of a vector file; none if there is no such file.
fn cases(path: &Path) -> io::Result<Vec<Value>> {
    match fs::read(path) {
        Ok(json) => Ok(serde_json::from_slice(&json)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Every regular file below `directory`; none if there is no such directory.
fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else if kind.is_file() && entry.metadata()?.len() <= MAX_SEED_LEN as u64 {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// This identity, changed so that it stands on one side or the other of a limit.
fn edges(canonical_json: &str) -> Vec<String> {
    let nested = [127, 128].map(|levels| {
        canonical_json.replacen('{', &format!("{{\"unknown\":{}{},", "[".repeat(levels), "]".repeat(levels)), 1)
    });
    let numbers = ["9223372036854775807", "9223372036854775808", "-0", "-1", "01", "1.0", "1e0"]
        .map(|number| canonical_json.replacen("\"shape\":[", &format!("\"shape\":[{number},"), 1));
    nested.into_iter().chain(numbers).collect()
}

/// Gossip, tombstones and deletes: sound ones, and such as stand on one side or the other of a limit.
fn tombstone_bodies() -> Vec<String> {
    let hash = |number: u8| lower_hex(&Sha256::digest([number]));
    let numbers = ["1735600060.5", "1000", "1000.0000001", "-0", "1e308", "1e999", "NaN", "null", "\"60\"", "01"];
    let mut bodies = vec!["{}".to_owned(), r#"{"fragment_tombstones": null}"#.to_owned()];
    for number in numbers {
        let (one, other) = (hash(1), hash(2));
        bodies.push(format!(r#"{{"content_hash": "{one}", "until": {number}, "node_id": "node-1"}}"#));
        bodies.push(format!(r#"{{"content_hash": "{one}", "node_id": "node-1", "tombstone_until": {number}}}"#));
        bodies.push(format!(r#"{{"fragment_tombstones": {{"{one}": {number}, "{other}": 2000}}, "peers": []}}"#));
        let upper = one.to_uppercase();
        bodies.push(format!(r#"{{"fragment_tombstones": {{"{one}": 3000, "{upper}": {number}, "h1": 1}}}}"#));
    }
    bodies
}

/// Enough for the many choices that a sketch of a frame has; a fuzzer that starts from nothing needs long to grow them.
fn noise(number: u64, len: usize) -> Vec<u8> {
    let block = |index: u64| Sha256::digest([number.to_le_bytes(), index.to_le_bytes()].concat());
    (0..).flat_map(block).take(len).collect()
}

fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    Some(digits?.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
