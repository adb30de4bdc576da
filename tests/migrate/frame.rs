//! One frame in memory.

use membrane_codec::migrate::{FrameVersion, V5_START, migrate_frame};
use membrane_codec::{Error, Reason, canonicalize, parse_canonical, sha256};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::samples::{frame_of, identities, payloads};
use crate::support::{OLD_STARTS, as_version, frame_vectors};

/// What the frame becomes.
fn migrated(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let migration = migrate_frame(bytes)?;
    let mut after = bytes.to_vec();
    if let Some(start) = migration.new_start() {
        after[..start.len()].copy_from_slice(&start);
    }
    Ok(after)
}

#[test]
fn vectors() {
    for (name, before, after) in frame_vectors() {
        assert_eq!(migrated(&before).ok(), after, "{name}");
        let Some(after) = after else { continue };
        let is_current = name.starts_with("v5_noop");
        assert_eq!(migrate_frame(&before).map(|frame| frame.new_start().is_none()), Ok(is_current), "{name}");
        assert_eq!(migrated(&after), Ok(after), "{name}");
    }
}

#[test]
fn refusals_name_their_reason() {
    let reasons = [
        ("bad_trailer", Reason::TrailerMismatch),
        ("cut", Reason::Truncated),
        ("tail", Reason::TrailingBytes),
        ("identity_broken", Reason::IdentityJson),
        ("schema_3", Reason::SchemaVersion),
        ("reserved", Reason::ReservedNotZero),
        ("schema_4", Reason::SchemaVersion),
        ("foreign", Reason::BadMagic),
        ("v3_magic", Reason::BadMagic),
    ];
    for (name, before, _) in frame_vectors().into_iter().filter(|(.., after)| after.is_none()) {
        let (_, reason) = reasons.into_iter().find(|(ending, _)| name.ends_with(ending)).expect("a known case");
        assert_eq!(migrate_frame(&before).map_err(|error| error.reason()), Err(reason), "{name}");
    }
}

#[test]
fn what_a_schema_should_be_depends_on_the_magic() {
    for (magic, schema, expected) in [(2, 4, "2"), (4, 2, "4"), (2, 5, "2"), (4, 5, "4"), (5, 3, "5"), (5, 6, "5")] {
        let mut frame = frame_of(b"payload");
        frame[3] = magic;
        frame[4] = schema;
        let error = migrate_frame(&frame).expect_err("they do not go together");
        assert_eq!(error.to_string(), format!("schema_version at byte 4: found schema {schema}, expected {expected}"));
    }
}

#[test]
fn a_start_that_is_cut_is_truncated_whatever_the_version() {
    for (version, _) in OLD_STARTS {
        let frame = as_version(version, frame_of(b"payload"));
        for len in 0..frame.len() {
            let expected = parse_canonical(&frame_of(b"payload")[..len]).map(|_| ());
            assert_eq!(migrate_frame(&frame[..len]).map(|_| ()), expected, "{version}, {len}");
        }
    }
}

#[test]
fn readers_of_v5_refuse_what_is_to_be_converted() {
    for (version, _) in OLD_STARTS {
        let reason = match version {
            FrameVersion::V2 | FrameVersion::V4 => Reason::OldVersion,
            _ => Reason::SchemaVersion,
        };
        let frame = as_version(version, frame_of(b"payload"));
        assert_eq!(parse_canonical(&frame).map_err(|error| error.reason()).map(|_| ()), Err(reason));
        assert!(reason.advice().contains("membrane-codec migrate frames"));
    }
}

proptest! {
    #[test]
    fn only_magic_and_schema_change(
        identity in identities(), payload in payloads(), (version, _) in select(OLD_STARTS.to_vec()),
    ) {
        let current = canonicalize(&identity, &payload).expect("a small frame");
        let old = as_version(version, current.clone());
        let migration = migrate_frame(&old).expect("it is sound");
        prop_assert_eq!(migration.version(), version);
        prop_assert_eq!(migration.new_start(), Some(V5_START));
        prop_assert_eq!(migration.identity().to_identity(), identity);
        prop_assert_eq!(migration.payload_digest(), sha256(&payload));
        prop_assert_eq!(&migrated(&old).expect("it is sound"), &current);
        // Twice is once.
        prop_assert_eq!(&migrated(&current).expect("it is sound"), &current);
    }

    /// Damage behind magic and schema gets the verdict that it gets in v5.
    #[test]
    fn damage_is_judged_as_in_v5(
        payload in payloads(), (version, _) in select(OLD_STARTS.to_vec()), at in any::<Index>(), to in any::<u8>(),
        cut in any::<Index>(),
    ) {
        let mut current = frame_of(&payload);
        let at = 6 + at.index(current.len() - 6);
        current[at] = to;
        current.truncate(6 + cut.index(current.len() * 2).min(current.len() - 6));
        let old = as_version(version, current.clone());
        let expected = parse_canonical(&current).map(|frame| frame.payload_digest());
        prop_assert_eq!(migrate_frame(&old).map(|frame| frame.payload_digest()), expected);
        prop_assert_eq!(migrate_frame(&current).map(|frame| frame.payload_digest()), expected);
    }
}
