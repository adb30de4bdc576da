//! Both searches, and what they found in a form that can be compared.

use std::fs;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use membrane_codec::{FrameScanner, Refusal, ScanEvent, StoredFrame, parse_canonical, scan};

use crate::naive::Found::{self, Frame, Gap, Refused};
use crate::samples::frame_of;

pub(crate) type Event = ScanEvent<StoredFrame>;

pub(crate) fn in_memory(bytes: &[u8]) -> Vec<Event> {
    let events = scan(bytes).inspect(|event| {
        if let ScanEvent::Frame { offset, frame } = event {
            let whole = &bytes[*offset as usize..][..frame.frame().frame_len()];
            assert_eq!(parse_canonical(whole), Ok(*frame));
        }
    });
    events.map(stored).collect()
}

pub(crate) fn stored<'a>(event: ScanEvent<membrane_codec::VerifiedFrame<'a>>) -> Event {
    match event {
        ScanEvent::Frame { offset, frame } => ScanEvent::Frame { offset, frame: frame.into() },
        ScanEvent::Refused { offset, why } => ScanEvent::Refused { offset, why },
        ScanEvent::Gap { range, zeros } => ScanEvent::Gap { range, zeros },
        other => panic!("memory can be read: {other:?}"),
    }
}

pub(crate) fn scanner<R: Read + Seek>(source: R) -> FrameScanner<R> {
    FrameScanner::new(source).expect("it can say where it ends")
}

/// What was found, without what the frames hold. An unreadable range is a refusal of its start, then a gap.
pub(crate) fn found(events: &[Event]) -> Vec<Found> {
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
pub(crate) fn both(bytes: &[u8]) -> Vec<Found> {
    let events = in_memory(bytes);
    assert_eq!(scanner(Cursor::new(bytes)).collect::<Vec<_>>(), events);
    assert_tiled(&events, bytes);
    found(&events)
}

/// Frames, gaps and unreadable ranges cover all, and gaps say rightly whether they are zero.
pub(crate) fn assert_tiled(events: &[Event], bytes: &[u8]) {
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

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

/// A frame that claims `payload_len` bytes, most of which are what happens to follow.
pub(crate) fn claim(payload_len: u64) -> Vec<u8> {
    let mut frame = frame_of(b"");
    frame.truncate(frame.len() - 16);
    frame.extend(payload_len.to_le_bytes());
    frame
}
