//! The search for intact frames among anything else: what is found is what the naive reader finds, in memory and in
//! sources of any size, however they end, tear, fail or lie.

#![allow(clippy::single_range_in_vec_init)] // Lists of ranges, one long.

#[path = "samples/disk.rs"]
mod disk;
mod naive;
mod samples;

use std::fs;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use allocation_counter::measure;
use disk::Disk;
use membrane_codec::{
    FrameScanner, ReadError, Reason, Refusal, ScanEvent, StoredFrame, encoded_len, parse_canonical, scan, sha256,
};
use naive::Found::{self, Frame, Gap, Refused};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use samples::{frame_of, identities, identity_of, payloads};

type Event = ScanEvent<StoredFrame>;

fn in_memory(bytes: &[u8]) -> Vec<Event> {
    let events = scan(bytes).inspect(|event| {
        if let ScanEvent::Frame { offset, frame } = event {
            let whole = &bytes[*offset as usize..][..frame.frame().frame_len()];
            assert_eq!(parse_canonical(whole), Ok(*frame));
        }
    });
    events.map(stored).collect()
}

fn stored<'a>(event: ScanEvent<membrane_codec::VerifiedFrame<'a>>) -> Event {
    match event {
        ScanEvent::Frame { offset, frame } => ScanEvent::Frame { offset, frame: frame.into() },
        ScanEvent::Refused { offset, why } => ScanEvent::Refused { offset, why },
        ScanEvent::Gap { range, zeros } => ScanEvent::Gap { range, zeros },
        other => panic!("memory can be read: {other:?}"),
    }
}

fn scanner<R: Read + Seek>(source: R) -> FrameScanner<R> {
    FrameScanner::new(source).expect("it can say where it ends")
}

/// What was found, without what the frames hold. An unreadable range is a refusal of its start, then a gap.
fn found(events: &[Event]) -> Vec<Found> {
    events
        .iter()
        .map(|event| match event {
            ScanEvent::Frame { offset, frame } => Frame(*offset, offset + frame.frame_len()),
            ScanEvent::Refused { offset, why: Refusal::Damaged(error) } => Refused(*offset, error.reason().as_str()),
            ScanEvent::Refused { offset, why: Refusal::Unreadable } => Refused(*offset, "unreadable"),
            ScanEvent::Refused { offset, why: Refusal::TooDeep } => Refused(*offset, "too_deep"),
            ScanEvent::Gap { range, .. } => Gap(range.start, range.end),
            other => panic!("unexpected: {other:?}"),
        })
        .collect()
}

/// Both searches, which must agree.
fn both(bytes: &[u8]) -> Vec<Found> {
    let events = in_memory(bytes);
    assert_eq!(scanner(Cursor::new(bytes)).collect::<Vec<_>>(), events);
    assert_tiled(&events, bytes);
    found(&events)
}

/// Frames, gaps and unreadable ranges cover all, and gaps say rightly whether they are zero.
fn assert_tiled(events: &[Event], bytes: &[u8]) {
    let mut at = 0;
    for event in events {
        let range = match event {
            ScanEvent::Frame { offset, frame } => *offset..offset + frame.frame_len(),
            ScanEvent::Refused { offset, .. } => {
                assert!(*offset >= at);
                continue;
            }
            ScanEvent::Gap { range, zeros } => {
                let all_zero = bytes[range.start as usize..range.end as usize].iter().all(|byte| *byte == 0);
                assert_eq!(*zeros, all_zero, "{range:?}");
                range.clone()
            }
            ScanEvent::Unreadable { range } => range.clone(),
            other => panic!("unexpected: {other:?}"),
        };
        assert_eq!(range.start, at, "{events:?}");
        assert!(range.end > range.start);
        at = range.end;
    }
    assert_eq!(at, bytes.len() as u64);
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

#[test]
fn nothing_and_nothing_of_interest() {
    assert_eq!(both(b""), []);
    assert_eq!(both(b"x"), [Gap(0, 1)]);
    assert_eq!(in_memory(&[0; 10_000]), [ScanEvent::Gap { range: 0..10_000, zeros: true }]);
    for at in [0, 1, 4095, 4096, 4097, 9_999] {
        let mut bytes = [0; 10_000];
        bytes[at] = 1;
        assert_eq!(in_memory(&bytes), [ScanEvent::Gap { range: 0..10_000, zeros: false }]);
        both(&bytes);
    }
}

#[test]
fn all_fixtures_one_after_another() {
    let files = files_below(&fixtures().join("frames"));
    assert_eq!(files.len(), 16);
    let frames: Vec<_> = files.iter().map(|file| fs::read(file).expect("it can be read")).collect();
    let mut at = 0;
    let expected: Vec<_> = frames
        .iter()
        .map(|frame| {
            at += frame.len() as u64;
            Frame(at - frame.len() as u64, at)
        })
        .collect();
    assert_eq!(both(&frames.concat()), expected);
    // The file's stem is the hash of its payload.
    let digests: Vec<_> = scanner(Cursor::new(frames.concat()))
        .map(|event| match event {
            ScanEvent::Frame { frame, .. } => frame.payload_digest().to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    let stems: Vec<_> = files.iter().map(|file| file.file_stem().expect("a name").to_string_lossy()).collect();
    assert_eq!(digests, stems);
}

#[test]
fn every_damaged_frame_between_two_sound_ones() {
    let sound = frame_of(b"payload");
    let len = sound.len() as u64;
    for reason in Reason::OF_FRAMES {
        let file = fixtures().join("damaged").join(format!("{reason}.frame"));
        let damaged = fs::read(file).expect("there is one per reason");
        let (second, end) = (len + damaged.len() as u64, 2 * len + damaged.len() as u64);
        let middle = match reason {
            // No magic, no place.
            Reason::BadMagic => vec![Gap(len, second)],
            // The frame is intact, and one byte follows.
            Reason::TrailingBytes => vec![Frame(len, second - 1), Gap(second - 1, second)],
            // It claims what follows as its own.
            Reason::Truncated => vec![Refused(len, "trailer_mismatch"), Gap(len, second)],
            // So does this one, as its identity.
            Reason::IdentityLength => vec![Refused(len, "identity_json"), Gap(len, second)],
            reason => vec![Refused(len, reason.as_str()), Gap(len, second)],
        };
        let expected = [&[Frame(0, len)], &middle[..], &[Frame(second, end)]].concat();
        assert_eq!(both(&[&sound[..], &damaged, &sound].concat()), expected, "{reason}");
        if matches!(reason, Reason::Truncated | Reason::IdentityLength) {
            let at_the_end = [Frame(0, len), Refused(len, reason.as_str()), Gap(len, second)];
            assert_eq!(both(&[&sound[..], &damaged].concat()), at_the_end);
        }
    }
}

#[test]
fn errors_are_the_ones_of_the_other_readers() {
    let mut damaged = frame_of(b"payload");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let error = parse_canonical(&damaged).expect_err("damaged");
    let refusal = Refusal::Damaged(error);
    assert_eq!(refusal.to_string(), error.to_string());
    let bytes = [b"before", &damaged[..], b"behind"].concat();
    assert_eq!(in_memory(&bytes)[0], ScanEvent::Refused { offset: 6, why: refusal });
    both(&bytes);
    // Where the source ends, the error says how much there was.
    let cut = [b"before", &damaged[..100]].concat();
    let error = parse_canonical(&damaged[..100]).expect_err("cut");
    assert_eq!(in_memory(&cut)[0], ScanEvent::Refused { offset: 6, why: Refusal::Damaged(error) });
    both(&cut);
}

#[test]
fn a_log_that_was_cut_and_written_over() {
    let [long, first, second] = [frame_of(&[7; 5000]), frame_of(b"first"), frame_of(b"second")];
    let mut log = [&long[..], &first, &second].concat();
    // A shorter frame over the long one's start.
    let over = frame_of(b"over");
    log[..over.len()].copy_from_slice(&over);
    let [over, long, first] = [over.len() as u64, long.len() as u64, long.len() as u64 + first.len() as u64];
    let end = log.len() as u64;
    assert_eq!(both(&log), [Frame(0, over), Gap(over, long), Frame(long, first), Frame(first, end)]);
    // The last write was cut.
    let cut = end as usize - 3;
    assert_eq!(
        both(&log[..cut]),
        [Frame(0, over), Gap(over, long), Frame(long, first), Refused(first, "truncated"), Gap(first, end - 3)]
    );
}

#[test]
fn a_frame_in_a_frame_is_payload_until_the_outer_one_is_damaged() {
    let inner = frame_of(b"inner");
    let mut outer = frame_of(&[b"before", &inner[..], b"behind"].concat());
    let end = outer.len() as u64;
    let inner_at = end - 8 - 6 - inner.len() as u64;
    assert_eq!(both(&outer), [Frame(0, end)]);
    let last = outer.len() - 1;
    outer[last] ^= 1;
    let inner_end = inner_at + inner.len() as u64;
    assert_eq!(
        both(&outer),
        [Refused(0, "trailer_mismatch"), Gap(0, inner_at), Frame(inner_at, inner_end), Gap(inner_end, end)]
    );
}

#[test]
fn frames_of_older_formats_are_places_and_other_beginnings_of_a_magic_are_not() {
    for (fourth, reason) in [(2, Some("old_version")), (4, Some("old_version")), (0, None), (3, None), (6, None)] {
        let mut bytes = [b"before", &frame_of(b"payload")[..]].concat();
        bytes[9] = fourth;
        let end = bytes.len() as u64;
        let refused = reason.map(|reason| Refused(6, reason));
        assert_eq!(both(&bytes), refused.into_iter().chain([Gap(0, end)]).collect::<Vec<_>>(), "{fourth}");
    }
    // All of a magic, or no place.
    assert_eq!(both(b"\xC0\xDE\x01"), [Gap(0, 3)]);
    assert_eq!(both(b"\xC0\xDE\x01\x05"), [Refused(0, "truncated"), Gap(0, 4)]);
    assert_eq!(both(b"\xC0\xDE\x01\xC0\xDE\x01\x05"), [Refused(3, "truncated"), Gap(0, 7)]);
}

#[test]
fn nothing_but_magics() {
    let bytes = [0xC0, 0xDE, 0x01, 0x05].repeat(10_000);
    let refused = |place: u64| match 40_000 - place {
        ..14 => Refused(place, "truncated"),
        _ => Refused(place, "schema_version"),
    };
    let expected: Vec<_> = (0..10_000).map(|number| refused(4 * number)).chain([Gap(0, 40_000)]).collect();
    assert_eq!(both(&bytes), expected);
}

#[test]
fn a_large_frame_wherever_the_windows_end() {
    const WINDOW: usize = 512 << 10;
    let payload: Vec<u8> = (0..3_u32 << 20).map(|at| (at ^ at >> 8) as u8).collect();
    let large = frame_of(&payload);
    let small = frame_of(b"small");
    let around = [0, 1, 2, 3, 4, 13, 14, 15, 50, 300, 320, 400, 700];
    let before: Vec<_> = around.iter().map(|by| WINDOW - by).chain([0, 1, WINDOW + 1, 2 * WINDOW - 2]).collect();
    for before in before {
        let bytes = [&vec![0; before][..], &large, &small].concat();
        let [start, middle, end] = [before as u64, (before + large.len()) as u64, bytes.len() as u64];
        let events: Vec<_> = scanner(Disk::new(&bytes)).collect();
        let gap = (before > 0).then_some(Gap(0, start));
        let expected: Vec<_> = gap.into_iter().chain([Frame(start, middle), Frame(middle, end)]).collect();
        assert_eq!(found(&events), expected, "after {before} bytes");
    }
    // Damaged, and one inside it.
    let mut bytes = large.clone();
    bytes[WINDOW - 100..][..small.len()].copy_from_slice(&small);
    let inner = (WINDOW - 100) as u64;
    let after = inner + small.len() as u64;
    assert_eq!(
        both(&bytes),
        [Refused(0, "trailer_mismatch"), Gap(0, inner), Frame(inner, after), Gap(after, bytes.len() as u64)]
    );
}

#[test]
fn every_byte_is_read_once_where_all_is_well() {
    let large = frame_of(&vec![7; 3 << 20]);
    let bytes = [&large[..], &frame_of(b"small"), &large, &vec![1; 1 << 20]].concat();
    let disk = Disk::new(&bytes);
    let read = disk.read.clone();
    assert_eq!(scanner(disk).count(), 4);
    assert_eq!(read.get(), bytes.len() as u64);
}

#[test]
fn holes_are_not_read_but_where_a_frame_reaches_over_one() {
    let small = frame_of(b"small");
    let over = frame_of(&[&[7; 1000][..], &vec![0; 4 << 20], &[7; 1000]].concat());
    let hole = 32 << 20;
    let bytes = [&vec![0; hole][..], &small, &vec![0; hole], &over, &vec![0; hole]].concat();
    let [small_at, over_at] = [hole as u64, (2 * hole + small.len()) as u64];
    let [small_end, over_end] = [small_at + small.len() as u64, over_at + over.len() as u64];
    let in_over = over_end - 1008 - (4 << 20);
    let holes = [0..small_at, small_end..over_at, in_over..in_over + (4 << 20), over_end..bytes.len() as u64];
    let disk = Disk::new(&bytes).holes(&holes);
    let read = disk.read.clone();
    let events: Vec<_> = scanner(disk).next_data(Disk::next_data).collect();
    assert_eq!(events, scanner(Disk::new(&bytes)).collect::<Vec<_>>());
    assert_eq!(
        found(&events),
        [
            Gap(0, small_at),
            Frame(small_at, small_end),
            Gap(small_end, over_at),
            Frame(over_at, over_end),
            Gap(over_end, bytes.len() as u64)
        ]
    );
    // The frames, and a window where data ends.
    let most = (over.len() + 3 * (512 << 10)) as u64;
    assert!((over.len() as u64..most).contains(&read.get()), "{}", read.get());

    // A source that cannot tell, or says nonsense, is read.
    let told = |next_data| {
        let disk = Disk::new(&bytes);
        let read = disk.read.clone();
        assert_eq!(scanner(disk).next_data(next_data).collect::<Vec<_>>(), events);
        read.get()
    };
    assert_eq!(told(|_, _| Err(io::ErrorKind::Unsupported.into())), bytes.len() as u64);
    assert_eq!(told(|_, _| Ok(0)), bytes.len() as u64);
}

/// A frame that claims `payload_len` bytes, most of which are what happens to follow.
fn claim(payload_len: u64) -> Vec<u8> {
    let mut frame = frame_of(b"");
    frame.truncate(frame.len() - 16);
    frame.extend(payload_len.to_le_bytes());
    frame
}

#[test]
fn a_place_inside_too_many_damaged_ones_is_not_hashed() {
    let one = claim(0).len() as u64;
    let sound = frame_of(b"sound");
    // Ten that all claim what is there up to the end, and then a sound one, ten deep.
    let end = 10 * one + sound.len() as u64;
    let nested: Vec<u8> = (1..=10).flat_map(|number| claim(end - number * one - 8)).chain(sound.clone()).collect();
    let events = |bytes: &[u8], depth| {
        let events: Vec<_> = scan(bytes).max_depth(depth).map(stored).collect();
        assert_eq!(scanner(Disk::new(bytes)).max_depth(depth).collect::<Vec<_>>(), events);
        assert_eq!(scanner(Disk::new(bytes)).max_depth(depth).window_len(64).collect::<Vec<_>>(), events);
        assert_tiled(&events, bytes);
        found(&events)
    };
    let refused =
        |numbers: std::ops::Range<u64>, reason: &'static str| numbers.map(move |at| Refused(at * one, reason));
    let all: Vec<_> = refused(0..10, "trailer_mismatch").chain([Gap(0, 10 * one), Frame(10 * one, end)]).collect();
    assert_eq!(events(&nested, 10), all);
    assert_eq!(events(&nested, 1024), all);
    assert_eq!(both(&nested), all);
    let too_deep: Vec<_> =
        refused(0..10, "trailer_mismatch").chain([Refused(10 * one, "too_deep"), Gap(0, end)]).collect();
    assert_eq!(events(&nested, 9), too_deep);
    let deep: Vec<_> =
        refused(0..1, "trailer_mismatch").chain(refused(1..11, "too_deep")).chain([Gap(0, end)]).collect();
    assert_eq!(events(&nested, 0), deep);
    // Behind what was claimed all is as before.
    let twice = [&nested[..], &sound].concat();
    assert_eq!(events(&twice, 0)[12], Frame(end, end + sound.len() as u64));
}

#[test]
fn nested_claims_cost_no_more_than_the_depth_allows() {
    let one = claim(0).len() as u64;
    let (number, depth) = (3_000, 3);
    let end = number * one + 8;
    let bytes: Vec<u8> = (1..=number).flat_map(|number| claim(end - number * one - 8)).chain([0; 8]).collect();
    let disk = Disk::new(&bytes);
    let read = disk.read.clone();
    let events: Vec<_> = scanner(disk).max_depth(depth).collect();
    assert_eq!(events.len() as u64, number + 1);
    assert!(read.get() <= (depth as u64 + 2) * end, "{} of {end}", read.get());
}

#[test]
fn memory_follows_neither_claims_nor_the_source() {
    let sound = frame_of(b"payload");
    let claims_of = |identity_len: u32| {
        let mut claim = sound.clone();
        claim[10..14].copy_from_slice(&identity_len.to_le_bytes());
        claim
    };
    // Identities up to the cap, above it and beyond the source, again and again; and text that could be one.
    let bytes = [claims_of(1 << 20), claims_of((1 << 20) + 1), claims_of(u32::MAX), claim(u64::MAX), claim(2 << 20)];
    let bytes = [&bytes.concat().repeat(200)[..], &vec![b' '; 3 << 20], &sound].concat();
    let disk = Disk::new(&bytes);
    let peak = measure(|| assert!(scanner(disk).any(|event| matches!(event, ScanEvent::Frame { .. })))).bytes_max;
    // Two identities of the greatest length, and what the window had before it grew.
    assert!(peak < (2 << 20) + (1 << 20), "{peak}");

    let sound = sound.repeat(100);
    assert_eq!(measure(|| assert_eq!(scan(&sound).count(), 100)).count_total, 0);
}

#[test]
fn the_cap_on_identities_can_be_set() {
    let mut identity = identity_of(b"");
    identity.model_id = "m".repeat(2 << 20);
    let long = membrane_codec::canonicalize(&identity, b"").expect("a frame");
    assert_eq!(Ok(long.len()), encoded_len(&identity, 0));
    let end = long.len() as u64;
    assert_eq!(found(&in_memory(&long)), [Frame(0, end)]);
    let events: Vec<_> = scanner(Disk::new(&long)).collect();
    assert_eq!(found(&events), [Refused(0, "identity_length"), Gap(0, end)]);
    let events: Vec<_> = scanner(Disk::new(&long)).max_identity_len(3 << 20).collect();
    assert_eq!(found(&events), [Frame(0, end)]);

    let short = frame_of(b"payload");
    let end = short.len() as u64;
    let identity_len = short.len() as u32 - 30 - 7;
    let capped = |cap| found(&scanner(Disk::new(&short)).max_identity_len(cap).collect::<Vec<_>>());
    assert_eq!(capped(identity_len), [Frame(0, end)]);
    assert_eq!(capped(identity_len - 1), [Refused(0, "identity_length"), Gap(0, end)]);
    // Above the cap and beyond the source: the error of any other reader.
    let mut longest = short.clone();
    longest[10..14].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(both(&longest), [Refused(0, "identity_length"), Gap(0, end)]);
}

#[test]
fn claims_of_long_identities_cost_no_square() {
    let claims = 100_000;
    let image = |identity_len: u32, spaces: usize| {
        let mut header = frame_of(b"")[..14].to_vec();
        header[10..14].copy_from_slice(&identity_len.to_le_bytes());
        [header.repeat(claims), vec![b' '; spaces]].concat()
    };
    let bytes = image(1 << 20, 2 << 20);
    let disk = Disk::new(&bytes);
    let reads = disk.reads.clone();
    assert_eq!(scanner(disk).count(), claims + 1);
    assert!(reads.get() < 20, "{} reads: a window moves by itself for each claim", reads.get());
    // The same where what they want cannot be read.
    let bytes = image(16 << 20, 20 << 20);
    let bad = 10 << 20..bytes.len() as u64;
    let started = std::time::Instant::now();
    let scanner = scanner(Disk::new(&bytes).bad(&[bad])).max_identity_len(16 << 20);
    let unreadable = |event: &Event| matches!(event, ScanEvent::Refused { why: Refusal::Unreadable, .. });
    assert_eq!(scanner.filter(unreadable).count(), claims);
    // Less than a second. With the window moved for each claim it would be a terabyte.
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

/// What is found on a disk that fails: as [`found`], with unreadable ranges as `Err`.
fn found_on(disk: Disk) -> Vec<Result<Found, std::ops::Range<u64>>> {
    let bytes = disk.bytes.clone();
    let mut scanner = scanner(disk);
    let mut events = Vec::new();
    while let Some(event) = scanner.next() {
        if matches!(event, ScanEvent::Unreadable { .. }) {
            assert_eq!(scanner.read_error().and_then(io::Error::raw_os_error), Some(5));
        }
        events.push(event);
    }
    assert_tiled(&events, &bytes);
    let one = |event: Event| match event {
        ScanEvent::Unreadable { range } => Err(range),
        event => Ok(found(&[event]).remove(0)),
    };
    events.into_iter().map(one).collect()
}

#[test]
fn the_search_goes_on_behind_what_cannot_be_read() {
    let sound = frame_of(&[7; 3000]);
    let len = sound.len() as u64;
    let bytes = [&sound[..], &[1; 20_000], &sound].concat();
    let second = len + 20_000;
    let end = second + len;
    for gives_what_it_can in [true, false] {
        let on = |bad: &[std::ops::Range<u64>]| found_on(Disk { gives_what_it_can, ..Disk::new(&bytes).bad(bad) });
        let [first, last] = [Ok(Frame(0, len)), Ok(Frame(second, end))];
        // One byte, whose block is given up. Where a disk gives what comes before, that is kept.
        let start = if gives_what_it_can { 9000 } else { 8192 };
        let expected = [first.clone(), Ok(Gap(len, start)), Err(start..12_288), Ok(Gap(12_288, second)), last.clone()];
        assert_eq!(on(&[9000..9001]), expected);
        // Two blocks that touch are one range, two that do not are two.
        let expected = [first.clone(), Ok(Gap(len, 8192)), Err(8192..16_384), Ok(Gap(16_384, second)), last.clone()];
        assert_eq!(on(&[8192..8193, 12_288..12_289]), expected);
        let expected = [
            first.clone(),
            Ok(Gap(len, 4096)),
            Err(4096..8192),
            Ok(Gap(8192, 12_288)),
            Err(12_288..16_384),
            Ok(Gap(16_384, second)),
            last.clone(),
        ];
        assert_eq!(on(&[4096..4097, 12_288..12_289]), expected);
        // In the first frame: its end is lost, the rest is searched.
        let start = if gives_what_it_can { 3000 } else { 0 };
        let lost = [Ok(Refused(0, "unreadable")), Ok(Gap(0, 3000))];
        let lost = if gives_what_it_can { &lost[..] } else { &[] };
        let behind = [Err(start..4096), Ok(Gap(4096, second)), last];
        assert_eq!(on(&[3000..3001]), [lost, &behind].concat());
        // At the end, and nothing at all.
        let lost_end = on(&[end - 1..end]).pop();
        assert_eq!(lost_end, Some(Err(if gives_what_it_can { end - 1 } else { end / 4096 * 4096 }..end)));
        assert_eq!(on(&[0..end]), [Err(0..end)]);
    }
}

#[test]
fn a_large_frame_that_cannot_be_read_is_refused_and_its_readable_parts_are_searched() {
    let inner = frame_of(b"inner");
    let mut payload = vec![7; 2 << 20];
    payload[1_500_000..][..inner.len()].copy_from_slice(&inner);
    let outer = frame_of(&payload);
    let inner_at = outer.len() as u64 - 8 - (2 << 20) + 1_500_000;
    let (inner_end, end) = (inner_at + inner.len() as u64, outer.len() as u64);
    assert_eq!(
        found_on(Disk::new(&outer).bad(&[1 << 20..(1 << 20) + 1])),
        [
            Ok(Refused(0, "unreadable")),
            Ok(Gap(0, 1 << 20)),
            Err(1 << 20..(1 << 20) + 4096),
            Ok(Gap((1 << 20) + 4096, inner_at)),
            Ok(Frame(inner_at, inner_end)),
            Ok(Gap(inner_end, end)),
        ]
    );
}

#[test]
fn a_long_range_that_cannot_be_read_is_one() {
    let sound = frame_of(b"payload");
    let bad = 8192..(3_u64 << 20) + 5;
    let bytes = [&vec![0; 4 << 20][..], &sound].concat();
    let after = bad.end.next_multiple_of(4096);
    let end = bytes.len() as u64;
    assert_eq!(
        found_on(Disk::new(&bytes).bad(&[bad])),
        [Ok(Gap(0, 8192)), Err(8192..after), Ok(Gap(after, 4 << 20)), Ok(Frame(4 << 20, end))]
    );
}

#[test]
fn what_can_be_read_the_second_time_is_read() {
    let bytes = [frame_of(&[7; 1 << 20]), frame_of(b"payload")].concat();
    let [second, end] = [frame_of(&[7; 1 << 20]).len() as u64, bytes.len() as u64];
    for failures in [1, 2] {
        // The search meets the place first, with a large read and a small one; then the frame around it is hashed.
        let disk = Disk { failures, gives_what_it_can: false, ..Disk::new(&bytes).bad(&[300_000..300_001]) };
        assert_eq!(found_on(disk), [Ok(Frame(0, second)), Ok(Frame(second, end))], "{failures}");
    }
}

#[test]
fn a_source_that_is_shorter_than_it_said() {
    let sound = frame_of(b"payload");
    let len = sound.len() as u64;
    for claimed_len in [len + 1, len + 100_000_000_000] {
        let mut scanner = scanner(Disk { claimed_len, ..Disk::new(&sound) });
        assert_eq!(scanner.source_len(), claimed_len);
        assert!(matches!(scanner.next(), Some(ScanEvent::Frame { offset: 0, .. })));
        assert_eq!(scanner.next(), Some(ScanEvent::Unreadable { range: len..claimed_len }));
        assert_eq!(scanner.read_error().map(io::Error::kind), Some(io::ErrorKind::UnexpectedEof));
        assert_eq!((scanner.next(), scanner.next()), (None, None));
    }
    // A frame that would have reached beyond is not taken for a damaged one. Short and long.
    for payload in [&b"payload"[..], &[7; 1 << 20]] {
        let sound = frame_of(payload);
        let half = sound.len() / 2;
        let events: Vec<_> = scanner(Disk { claimed_len: sound.len() as u64, ..Disk::new(&sound[..half]) }).collect();
        let half = half as u64;
        assert_eq!(
            events,
            [
                ScanEvent::Refused { offset: 0, why: Refusal::Unreadable },
                ScanEvent::Gap { range: 0..half, zeros: false },
                ScanEvent::Unreadable { range: half..sound.len() as u64 }
            ]
        );
    }
    // What is there beyond the end that a source told is not looked at.
    let events: Vec<_> = scanner(Disk { claimed_len: len - 1, ..Disk::new(&sound) }).collect();
    assert_eq!(found(&events), [Refused(0, "truncated"), Gap(0, len - 1)]);
}

#[test]
fn sources_that_misbehave() {
    struct Liar;
    impl Read for Liar {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len() + 1)
        }
    }
    impl Seek for Liar {
        fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
            Ok(5000)
        }
    }
    let mut liar = scanner(Liar);
    assert_eq!(liar.next(), Some(ScanEvent::Unreadable { range: 0..5000 }));
    let error = liar.read_error().map(ToString::to_string);
    assert_eq!(error.as_deref(), Some("the source gave more than was asked for"));

    struct Unseekable;
    impl Read for Unseekable {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }
    impl Seek for Unseekable {
        fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
            Err(io::ErrorKind::NotSeekable.into())
        }
    }
    let error = FrameScanner::new(Unseekable).expect_err("no end");
    assert_eq!(error.kind(), io::ErrorKind::NotSeekable);
}

/// Scans up to the first frame and gives it, with the scanner.
fn first_frame(disk: Disk) -> (FrameScanner<Disk>, u64, StoredFrame) {
    let mut scanner = scanner(disk);
    loop {
        if let ScanEvent::Frame { offset, frame } = scanner.next().expect("there is a frame") {
            return (scanner, offset, frame);
        }
    }
}

#[test]
fn copies_are_the_bytes_that_were_found() {
    for payload_len in [0, 1, 8, 100_000, 1 << 20] {
        let frame = frame_of(&vec![7; payload_len]);
        let bytes = [b"before", &frame[..], b"behind", &frame].concat();
        let (mut scanner, offset, found) = first_frame(Disk::new(&bytes));
        assert_eq!((offset, found.frame_len(), found.payload_len()), (6, frame.len() as u64, payload_len as u64));
        assert_eq!(found.payload_digest(), sha256(&vec![7; payload_len]));
        assert_eq!(*found.identity(), identity_of(&vec![7; payload_len]));
        assert!(scanner.copy_frame(offset, &found, Vec::new()).expect("sound") == frame);
        // Neither again, nor elsewhere, nor going on is disturbed by it.
        assert!(scanner.copy_frame(offset, &found, Vec::new()).expect("sound") == frame);
        let second = (12 + frame.len()) as u64;
        assert!(scanner.copy_frame(second, &found, Vec::new()).expect("sound") == frame);
        let rest: Vec<_> = scanner.collect();
        let end = bytes.len() as u64;
        assert_eq!(self::found(&rest), [Gap(second - 6, second), Frame(second, end)]);
    }
}

#[test]
fn a_copy_of_what_has_changed_is_an_error() {
    /// A disk whose later reads give other bytes.
    struct Changing {
        disk: Disk,
        then: Vec<u8>,
        scanned: bool,
    }
    impl Read for Changing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.disk.read.get() >= self.then.len() as u64 && !self.scanned {
                (self.disk.bytes, self.scanned) = (self.then.clone(), true);
            }
            self.disk.read(buffer)
        }
    }
    impl Seek for Changing {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.disk.seek(to)
        }
    }
    let payload = vec![7; 1 << 20];
    let frame = frame_of(&payload);
    let after = |then: Vec<u8>| {
        let mut scanner = scanner(Changing { disk: Disk::new(&frame), then, scanned: false });
        let Some(ScanEvent::Frame { offset: 0, frame }) = scanner.next() else { panic!("sound at first") };
        scanner.copy_frame(0, &frame, Vec::new())
    };
    let mut damaged = frame.clone();
    damaged[900_000] ^= 1;
    match after(damaged) {
        Err(ReadError::Frame(error)) => assert_eq!(error.reason(), Reason::TrailerMismatch),
        other => panic!("{other:?}"),
    }
    // Another frame of the same length, sound as well.
    let mut identity = identity_of(&payload);
    identity.model_id = "llama-3-9b".into();
    let changed = membrane_codec::canonicalize(&identity, &payload).expect("a frame");
    assert_eq!(changed.len(), frame.len());
    // The identity's JSON stays in the window: it is the old one that is copied, with the payload that was verified.
    assert_eq!(after(changed).expect("as it was found"), frame);
    let same = after(frame.clone()).expect("as it was");
    assert_eq!(same, frame);
}

#[test]
fn a_copy_that_is_not_the_frame_that_was_found() {
    let (one, two) = (frame_of(b"one"), frame_of(b"two"));
    let (mut scanner, _, found) = first_frame(Disk::new(&[&one[..], &two].concat()));
    let copy = |scanner: &mut FrameScanner<Disk>, offset| match scanner.copy_frame(offset, &found, Vec::new()) {
        Err(ReadError::Source(error)) => error.to_string(),
        Err(ReadError::Frame(error)) => error.reason().to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(copy(&mut scanner, one.len() as u64), "the frame has changed since it was found");
    assert_eq!(copy(&mut scanner, 1), "bad_magic");
    assert_eq!(copy(&mut scanner, u64::MAX), "truncated");
}

#[test]
fn copies_that_cannot_be_read_or_written() {
    let frame = frame_of(&vec![7; 1 << 20]);
    let disk = Disk::new(&frame);
    let (mut scanner, offset, found) = first_frame(disk);
    match scanner.copy_frame(offset, &found, &mut [0; 700_000][..]) {
        Err(ReadError::Sink(error)) => assert_eq!(error.kind(), io::ErrorKind::WriteZero),
        other => panic!("{other:?}"),
    }
    struct NeverFlushed;
    impl io::Write for NeverFlushed {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::other("full"))
        }
    }
    assert!(matches!(scanner.copy_frame(offset, &found, NeverFlushed), Err(ReadError::Sink(_))));
    assert!(scanner.copy_frame(offset, &found, Vec::new()).expect("sound") == frame);
}

#[test]
fn debugging_a_search_prints_no_payload() {
    let bytes = frame_of(&[7; 1000]);
    assert_eq!(format!("{:?}", scan(&bytes)), "Scan { at: 0, .. }");
    assert_eq!(format!("{:?}", scanner(Disk::new(&bytes))), "FrameScanner { at: 0, .. }");
}

/// What sources are made of.
fn pieces_of_a_source() -> impl Strategy<Value = Vec<u8>> {
    let frame = (identities(), payloads())
        .prop_map(|(identity, payload)| membrane_codec::canonicalize(&identity, &payload).expect("a small frame"))
        .boxed();
    let plain = payloads().prop_map(|payload| frame_of(&payload)).boxed();
    let damaged = (frame.clone(), any::<prop::sample::Index>(), 1..=u8::MAX).prop_map(|(mut frame, at, change)| {
        let at = at.index(frame.len());
        frame[at] ^= change;
        frame
    });
    let cut =
        (frame.clone(), any::<prop::sample::Index>()).prop_map(|(frame, at)| frame[..at.index(frame.len())].to_vec());
    let nested = (plain.clone(), vec(any::<u8>(), 0..20), any::<bool>()).prop_map(|(inner, behind, damage)| {
        let mut outer = frame_of(&[&inner[..], &behind].concat());
        *outer.last_mut().expect("a trailer") ^= u8::from(damage);
        outer
    });
    let claims = (0..1500_u64).prop_map(claim);
    let junk = vec(select(vec![0xC0, 0xDE, 0x01, 0x05, 0x02, 0x00, b'{']), 0..60);
    prop_oneof![frame, plain, damaged, cut, nested, claims, junk, (0..200_usize).prop_map(|len| vec![0; len])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 5000 }))]

    #[test]
    fn both_searches_find_what_the_naive_one_finds(
        pieces in vec(pieces_of_a_source(), 0..8),
        window_len in prop_oneof![1..40_usize, 1..2000_usize],
        reads in vec(prop_oneof![Just(0), 1..50_usize, Just(usize::MAX)], 1..6),
        holes in vec(any::<bool>(), 1..20),
    ) {
        prop_assume!(reads.iter().any(|read| *read > 0));
        let bytes = pieces.concat();
        let events = in_memory(&bytes);
        assert_tiled(&events, &bytes);
        prop_assert_eq!(found(&events), naive::scan(&bytes));
        let disk = Disk::new(&bytes).pieces(&reads);
        prop_assert_eq!(&scanner(disk.clone()).window_len(window_len).collect::<Vec<_>>(), &events);
        prop_assert_eq!(&scanner(disk.clone()).collect::<Vec<_>>(), &events);
        // With some of the zeros told to be holes, any part of them.
        let zeros: Vec<_> = bytes.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at as u64).collect();
        let holes: Vec<_> =
            zeros.iter().zip(holes.iter().cycle()).filter(|(_, is_hole)| **is_hole).map(|(at, _)| *at..at + 1).collect();
        let sparse = scanner(disk.holes(&holes)).next_data(Disk::next_data).window_len(window_len);
        prop_assert_eq!(&sparse.collect::<Vec<_>>(), &events);
    }

    #[test]
    fn what_can_be_read_is_found(
        payloads in vec(vec(any::<u8>(), 0..6000), 1..8),
        bad in vec((0..40_000_u64, 1..9000_u64), 0..4),
        gives_what_it_can: bool,
        window_len in prop_oneof![Just(512 << 10), 1..20_000_usize],
    ) {
        let frames: Vec<_> = payloads.iter().map(|payload| frame_of(payload)).collect();
        let bytes = frames.concat();
        let end = bytes.len() as u64;
        let bad: Vec<_> = bad.into_iter().map(|(start, len)| start..start + len).filter(|bad| bad.start < end).collect();
        // Reads are block by block where it matters, so a block with one bad byte is bad.
        let blocks: Vec<_> = bad.iter().map(|bad| bad.start / 4096 * 4096..(bad.end.min(end)).next_multiple_of(4096)).collect();
        let events: Vec<_> =
            scanner(Disk { gives_what_it_can, ..Disk::new(&bytes).bad(&bad) }).window_len(window_len).collect();
        assert_tiled(&events, &bytes);
        let mut at = 0;
        for frame in &frames {
            let range = at..at + frame.len() as u64;
            at = range.end;
            let touched = |ranges: &[std::ops::Range<u64>]| ranges.iter().any(|bad| bad.start < range.end && bad.end > range.start);
            let found = events.iter().any(|event| matches!(event, ScanEvent::Frame { offset, .. } if *offset == range.start));
            prop_assert!(found || touched(&blocks), "{:?} is missing", range);
            prop_assert!(!(found && touched(&bad)), "{:?} cannot be read", range);
        }
        for event in &events {
            if let ScanEvent::Unreadable { range } = event {
                let within = |at: u64| blocks.iter().any(|block| block.contains(&at));
                prop_assert!(within(range.start) && within(range.end - 1), "{:?} can be read", range);
            }
        }
    }
}
