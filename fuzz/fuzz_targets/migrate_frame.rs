//! Proves on raw bytes: a frame of any version is refused for the reason for which it would be refused in v5, or becomes a
//! v5 frame with the same identity and payload, byte for byte; and once is as good as twice.

#![no_main]

use libfuzzer_sys::fuzz_target;
use membrane_codec::migrate::{FrameVersion, V5_START, migrate_frame};
use membrane_codec::{FrameHeader, Reason, parse_canonical};

/// Magic and schema of every version that is read.
const STARTS: [(FrameVersion, [u8; 6]); 5] = [
    (FrameVersion::V2, [0xC0, 0xDE, 1, 2, 2, 0]),
    (FrameVersion::V4, [0xC0, 0xDE, 1, 4, 4, 0]),
    (FrameVersion::V5OverSchema2, [0xC0, 0xDE, 1, 5, 2, 0]),
    (FrameVersion::V5OverSchema4, [0xC0, 0xDE, 1, 5, 4, 0]),
    (FrameVersion::V5, V5_START),
];

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // As if each version had written it, with its trailer and with the right one.
    if bytes.len() < V5_START.len() {
        return;
    }
    let mut current = bytes.to_vec();
    current[..V5_START.len()].copy_from_slice(&V5_START);
    let mut repaired = current.clone();
    membrane_codec_fuzz::repair_trailer(&mut repaired);
    for current in [current, repaired] {
        let expected = parse_canonical(&current).map(|frame| frame.payload_digest());
        for (version, start) in STARTS {
            let mut old = current.clone();
            old[..start.len()].copy_from_slice(&start);
            let migration = migrate_frame(&old);
            assert_eq!(migration.map(|migration| migration.payload_digest()), expected);
            assert!(migration.is_err() || migration.is_ok_and(|migration| migration.version() == version));
            check(&old);
        }
    }
});

fn check(bytes: &[u8]) {
    match migrate_frame(bytes) {
        Ok(migration) => {
            let mut after = bytes.to_vec();
            if let Some(start) = migration.new_start() {
                after[..start.len()].copy_from_slice(&start);
                assert!(parse_canonical(bytes).is_err());
            }
            let frame = parse_canonical(&after).expect("a frame of v5");
            assert_eq!(frame.identity(), migration.identity());
            assert_eq!(frame.payload_digest(), migration.payload_digest());
            let behind = frame.frame().payload_offset();
            assert_eq!(after[V5_START.len()..], bytes[V5_START.len()..]);
            assert_eq!(frame.payload(), &bytes[behind..behind + frame.payload().len()]);
            assert_eq!(migrate_frame(&after).map(|again| again.version()), Ok(FrameVersion::V5));
        }
        Err(error) => {
            assert!(error.offset() <= bytes.len() as u64, "{error}");
            assert!(parse_canonical(bytes).is_err(), "{error}");
            let header = bytes.first_chunk().map(|start| FrameHeader::from_bytes(*start));
            let version = header.and_then(|header| FrameVersion::of(&header));
            let is_of_none = matches!(error.reason(), Reason::BadMagic | Reason::OldVersion | Reason::SchemaVersion);
            assert!(header.is_none() || version.is_none() == is_of_none, "{error}");
            assert_ne!(error.reason(), Reason::OldVersion);
        }
    }
}
