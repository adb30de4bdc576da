//! What is found, and what lies between.

use std::fs;
use std::io::Cursor;

use membrane_codec::{Reason, Refusal, ScanEvent, encoded_len, parse_canonical, scan};

use crate::disk::Disk;
use crate::naive::Found::{Frame, Gap, Refused};
use crate::samples::{frame_of, identity_of};
use crate::support::{both, files_below, fixtures, found, in_memory, scanner};

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
fn debugging_a_search_prints_no_payload() {
    let bytes = frame_of(&[7; 1000]);
    assert_eq!(format!("{:?}", scan(&bytes)), "Scan { at: 0, .. }");
    assert_eq!(format!("{:?}", scanner(Disk::new(&bytes))), "FrameScanner { at: 0, .. }");
}
