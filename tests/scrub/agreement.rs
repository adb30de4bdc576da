//! A file gets the verdict that a slice of its bytes gets: all of it, to the wording.

use std::fs;
use std::path::{Path, PathBuf};

use membrane_codec::scrub::Scrubber;
use membrane_codec::{FrameReader, PayloadIdentity, ReadError, canonicalize, sha256};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::samples;
use crate::support::{
    BUFFER_LEN, Verdict, directory, noise, scrub, scrub_all, scrub_one, scrubbers, slice_says, write,
};

/// Where the payload starts in a frame with this identity.
fn payload_offset(identity: &PayloadIdentity) -> usize {
    14 + identity.canonical_json().len() + 8
}

/// A frame of exactly this length, with an identity as long as it happens to be.
fn frame_of_len(len: usize) -> Vec<u8> {
    let identity = samples::identity_of(b"");
    let payload = noise(len - payload_offset(&identity) - 8, len as u64);
    canonicalize(&identity, &payload).expect("a small frame")
}

/// A frame whose identity has exactly this length.
fn frame_with_identity_of(identity_len: usize, payload: &[u8]) -> Vec<u8> {
    let mut identity = samples::identity_of(payload);
    let padding = identity_len - identity.canonical_json().len();
    identity.model_revision = "x".repeat(padding);
    assert_eq!(identity.canonical_json().len(), identity_len);
    canonicalize(&identity, payload).expect("a small frame")
}

/// Writes the files and asserts that every scrubber says of each what a slice says.
fn assert_agreement<'b>(files: impl IntoIterator<Item = &'b [u8]>) {
    let directory = directory();
    let write = |(at, bytes): (usize, &'b [u8])| {
        let path = write(directory.path(), &format!("{at:06}.blob"), bytes);
        (path, bytes, slice_says(bytes))
    };
    let files: Vec<_> = files.into_iter().enumerate().map(write).collect();
    for scrubber in scrubbers() {
        let scrubber = scrubber.max_identity_len(u32::MAX);
        let (_, told) = scrub(&scrubber, directory.path());
        assert_eq!(told.len(), files.len());
        for (told, (path, bytes, (verdict, claims))) in told.into_iter().zip(&files) {
            assert_eq!(told.path, *path);
            if let (Verdict::Damaged(told), Verdict::Damaged(said)) = (&told.verdict, verdict) {
                assert_eq!(told.to_string(), said.to_string(), "{} bytes, {scrubber:?}", bytes.len());
            }
            assert_eq!(told.verdict, *verdict, "{} bytes, {scrubber:?}", bytes.len());
            // Not by its text: some identities are long.
            assert!(told.claims == *claims, "{} bytes, {scrubber:?}", bytes.len());
            assert_eq!(told.stamp.expect("it was opened").len, bytes.len() as u64);
            assert!(!told.changed);
            assert!(told.bytes_read <= bytes.len() as u64, "{} of {}", told.bytes_read, bytes.len());
            if let Verdict::Sound(_) = verdict {
                assert_eq!(told.bytes_read, bytes.len() as u64);
            }
        }
    }
}

/// The ways in which a frame is tried: sound, cut, longer, and with payload and trailer changed.
fn variants(frame: &[u8]) -> [Vec<u8>; 6] {
    let changed = |from_end: usize| {
        let mut frame = frame.to_vec();
        let at = frame.len() - from_end;
        frame[at] ^= 1;
        frame
    };
    let longer = |by: usize| [frame, &vec![0; by]].concat();
    [frame.to_vec(), frame[..frame.len() - 1].to_vec(), longer(1), longer(9), changed(1), changed(9)]
}

#[test]
fn every_case_of_the_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors/frames.json");
    let cases: Vec<serde_json::Value> =
        serde_json::from_slice(&fs::read(path).expect("the vectors are there")).expect("JSON");
    let bytes_of = |case: &serde_json::Value| {
        base16ct::mixed::decode_vec(case["frame_hex"].as_str().expect("a frame")).expect("hexadecimal")
    };
    let files: Vec<_> = cases.iter().map(bytes_of).collect();
    assert_eq!(files.len(), 483);
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn every_fixture() {
    fn collect(folder: &Path, found: &mut Vec<Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("the fixtures are there") {
            let path = entry.expect("a readable entry").path();
            match path.extension().and_then(|is| is.to_str()) {
                Some("frame" | "blob") => found.push(fs::read(path).expect("a readable file")),
                None => collect(&path, found),
                Some(_) => {}
            }
        }
    }
    let mut files = Vec::new();
    for folder in ["frames", "damaged", "attacks", "odd"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder), &mut files);
    }
    assert_eq!(files.len(), 16 + 10 + 22 + 13);
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn frames_that_end_at_the_border_of_a_buffer() {
    let around = [-17, -9, -8, -7, -1, 0, 1, 7, 8, 9, 17];
    let lens = [1, 2].into_iter().flat_map(|buffers| around.map(|by| (buffers * BUFFER_LEN).wrapping_add_signed(by)));
    let files: Vec<_> = lens.flat_map(|len| variants(&frame_of_len(len))).collect();
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn frames_that_are_cut_at_each_border_of_their_structure() {
    let small = samples::frame_of(&noise(100, 1));
    let large = samples::frame_of(&noise(3 * BUFFER_LEN, 2));
    let cut = |frame: &[u8]| {
        let payload_at = 14 + u32::from_le_bytes(frame[10..14].try_into().expect("four")) as usize + 8;
        let borders = [0, 4, 6, 10, 14, payload_at - 8, payload_at, frame.len() - 8, frame.len()];
        let buffers = (1..=frame.len() / BUFFER_LEN).map(|buffers| buffers * BUFFER_LEN);
        let ends = borders.into_iter().chain(buffers).flat_map(|end| end.saturating_sub(1)..=end + 1);
        ends.filter(|end| *end <= frame.len()).map(|end| frame[..end].to_vec()).collect::<Vec<_>>()
    };
    let files = [cut(&small), cut(&large)].concat();
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn identities_that_end_at_the_border_of_a_buffer() {
    // payload_len and eight bytes more must come with the identity: each may lie on either side.
    let lens = [32, 31, 30, 29, 23, 22, 21, 15, 14, 13].map(|before| BUFFER_LEN - before);
    let files: Vec<_> = lens
        .into_iter()
        .flat_map(|len| {
            let frame = frame_with_identity_of(len, b"payload");
            let cuts = [BUFFER_LEN, BUFFER_LEN + 1, 14 + len + 15, 14 + len + 16];
            let cut = |end: usize| frame[..end.min(frame.len())].to_vec();
            let with_large_payload = frame_with_identity_of(len, &noise(BUFFER_LEN, 3));
            cuts.map(cut).into_iter().chain([frame.clone(), with_large_payload]).collect::<Vec<_>>()
        })
        .collect();
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn identities_that_are_longer_than_a_buffer() {
    let cap = FrameReader::DEFAULT_MAX_IDENTITY_LEN as usize;
    let frames = [
        frame_with_identity_of(BUFFER_LEN + 1, b""),
        frame_with_identity_of(2 * BUFFER_LEN - 30, &noise(100, 4)),
        frame_with_identity_of(cap, &noise(2 * BUFFER_LEN, 5)),
        frame_with_identity_of(cap + 1, b"payload"),
    ];
    let damaged = |frame: &Vec<u8>| {
        let with = |at: usize, byte: u8| {
            let mut frame = frame.clone();
            frame[at] = byte;
            frame
        };
        let payload_len_at = 14 + u32::from_le_bytes(frame[10..14].try_into().expect("four")) as usize;
        let row_6 = frame[..payload_len_at + 15].to_vec();
        [with(14, b'['), with(BUFFER_LEN, b'\n'), with(payload_len_at + 7, 255), row_6]
    };
    let first = variants(&frames[0]).into_iter().chain(damaged(&frames[0]));
    let files: Vec<_> = first.chain(frames.iter().cloned()).collect();
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn of_two_faults_the_first_of_the_contract_is_told() {
    let small = samples::frame_of(&noise(1000, 6));
    let large = samples::frame_of(&noise(2 * BUFFER_LEN, 7));
    let payload_len_at = 14 + samples::identity_of(b"").canonical_json().len();
    // Magic, schema, reserved, identity_len, the identity's JSON and one of its fields, payload_len, payload.
    let faults = [(0, 0), (4, 4), (6, 1), (13, 255), (14, b'['), (20, b'_'), (payload_len_at + 7, 255), (400, 0)];
    let with_both = |frame: &Vec<u8>, one: (usize, u8), other: (usize, u8)| {
        let mut frame = frame.clone();
        (frame[one.0], frame[other.0]) = (one.1, other.1);
        frame
    };
    let mut files = Vec::new();
    for frame in [&small, &large] {
        for (at, one) in faults.into_iter().enumerate() {
            files.extend(faults[at + 1..].iter().map(|other| with_both(frame, one, *other)));
            let damaged = with_both(frame, one, one);
            files.push(damaged[..damaged.len() - 1].to_vec());
            files.push([&damaged[..], b"more"].concat());
        }
    }
    assert_agreement(files.iter().map(Vec::as_slice));
}

#[test]
fn the_cap_on_the_identity_is_that_of_a_stream() {
    let directory = directory();
    let cap = FrameReader::DEFAULT_MAX_IDENTITY_LEN;
    for (identity_len, max, sound) in [(300, 300, true), (301, 300, false), (cap, cap, true), (cap + 1, cap, false)] {
        let frame = frame_with_identity_of(identity_len as usize, b"payload");
        let path = write(directory.path(), "capped", &frame);
        for scrubber in scrubbers() {
            let scrubber = if max == cap { scrubber } else { scrubber.max_identity_len(max) };
            let streamed = FrameReader::new().max_identity_len(max).open(&frame[..]).map(|_| ());
            let told = scrub_one(&scrubber, &path).verdict;
            match streamed {
                Ok(()) => assert_eq!((sound, told), (true, Verdict::Sound(sha256(b"payload")))),
                Err(ReadError::Frame(error)) => assert_eq!((sound, told), (false, Verdict::Damaged(error))),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn every_kernel_gives_the_same() {
    let directory = directory();
    let lens = [0, 1, 55, 64, 1000, BUFFER_LEN, 3 * BUFFER_LEN + 5];
    let payloads: Vec<_> = (0..20).map(|at| noise(lens[at % lens.len()] + at, at as u64)).collect();
    for (at, payload) in payloads.iter().enumerate() {
        write(directory.path(), &format!("{at:02}.frame"), &samples::frame_of(payload));
    }
    for kernel in membrane_codec::Kernel::available() {
        let (_, told) = scrub(&Scrubber::new().threads(1).kernel(kernel), directory.path());
        let digests: Vec<_> = told.into_iter().map(|told| told.verdict).collect();
        let expected: Vec<_> = payloads.iter().map(|payload| Verdict::Sound(sha256(payload))).collect();
        assert_eq!(digests, expected, "{kernel:?}");
    }
}

#[test]
fn a_report_knows_what_a_verifier_finds() {
    use membrane_codec::scrub::on_verdict;
    use membrane_codec::{Finding, Verifier};

    let directory = directory();
    let swapped = write(directory.path(), &format!("{}.blob", sha256(b"another")), &samples::frame_of(b"payload"));
    let mut damaged = samples::frame_of(b"payload");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    write(directory.path(), &format!("{}.frame", sha256(b"damaged")), &damaged);
    write(directory.path(), "no key.frame", &samples::frame_of(b"payload"));
    let told = std::sync::Mutex::new(Vec::new());
    Scrubber::new().threads(1).run(
        [directory.path().to_owned()],
        &on_verdict(|report| {
            let verifier = Verifier::new().check_payload_hash(true);
            let verifier = report.file().key().map_or(verifier, |key| verifier.expect_key(key));
            let findings: Vec<_> = report.findings(&verifier).iter().collect();
            told.lock().expect("nobody panicked").push((report.path(), report.file().key(), findings));
        }),
    );
    let mut told = told.into_inner().expect("nobody panicked");
    told.sort_by_key(|(path, ..)| (path != &swapped, path.clone()));
    let key_mismatch = Finding::Key { expected: sha256(b"another"), named: sha256(b"payload").into() };
    let expected = [
        (swapped, Some(sha256(b"another")), vec![key_mismatch]),
        (directory.path().join(format!("{}.frame", sha256(b"damaged"))), Some(sha256(b"damaged")), Vec::new()),
        (directory.path().join("no key.frame"), None, Vec::new()),
    ];
    assert_eq!(told, expected);
}

/// Frames of any identity, with payloads from nothing to some buffers.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let payload_len = prop_oneof![
        6 => 0..400_usize,
        1 => 0..3 * BUFFER_LEN,
        1 => (1..3_usize, 0..700_usize).prop_map(|(buffers, less)| buffers * BUFFER_LEN - less),
    ];
    (samples::identities(), payload_len, any::<u64>())
        .prop_map(|(identity, len, seed)| canonicalize(&identity, &noise(len, seed)).expect("a small frame"))
}

/// A file's bytes, which a failure shows in part: there may be megabytes.
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = &self.0[..self.0.len().min(600)];
        write!(f, "{} bytes, {}", self.0.len(), base16ct::lower::encode_string(start))
    }
}

/// Frames with some bytes changed, cut or added; and bytes that were never a frame.
fn files() -> impl Strategy<Value = Bytes> {
    // Half of the changes hit the start of the file, where all that is not payload lies.
    let change = (any::<bool>(), any::<Index>(), any::<u8>());
    let tail = prop_oneof![3 => vec(any::<u8>(), 0..1), 1 => vec(any::<u8>(), 0..40)];
    let damaged = (frames(), vec(change, 0..3), any::<Index>(), 0..6_u8, tail).prop_map(
        |(mut frame, changes, end, cut, tail)| {
            for (early, at, byte) in changes {
                let at = at.index(if early { 400.min(frame.len()) } else { frame.len() });
                frame[at] = byte;
            }
            if cut == 0 {
                frame.truncate(end.index(frame.len() + 1));
            }
            frame.extend(tail);
            frame
        },
    );
    let start = select(vec![&[0xC0, 0xDE, 0x01, 0x05, 5, 0, 0, 0, 0, 0][..], &[0xC0, 0xDE, 0x01, 0x02], &[]]);
    let random = (start, vec(any::<u8>(), 0..60)).prop_map(|(start, rest)| [start, &rest].concat());
    prop_oneof![6 => damaged, 1 => random].prop_map(Bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_bytes_are(files in vec(files(), 1..24)) {
        assert_agreement(files.iter().map(|file| &file.0[..]));
    }
}

#[test]
fn one_path_or_many_the_verdicts_are_the_same() {
    let directory = directory();
    let frame = samples::frame_of(b"payload");
    let paths: Vec<PathBuf> = (0..100).map(|at| write(directory.path(), &format!("{at:03}"), &frame)).collect();
    for scrubber in scrubbers() {
        let (_, told) = scrub_all(&scrubber, paths.clone());
        assert_eq!(told.iter().map(|told| &told.path).collect::<Vec<_>>(), paths.iter().collect::<Vec<_>>());
        assert!(told.iter().all(|told| told.verdict == Verdict::Sound(sha256(b"payload"))));
    }
}
