//! Sources that cannot be read, tear, end early or lie.

use std::io::{self, Read, Seek};

use membrane_codec::{FrameScanner, Refusal, ScanEvent};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::disk::Disk;
use crate::naive::Found::{self, Frame, Gap, Refused};
use crate::samples::frame_of;
use crate::support::{Event, assert_tiled, found, scanner};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 5000 }))]

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
