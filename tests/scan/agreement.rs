//! Both searches beside the naive one, on sources made of anything.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::disk::Disk;
use crate::naive;
use crate::samples::{frame_of, identities, payloads};
use crate::support::{assert_tiled, claim, found, in_memory, scanner};

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
}
