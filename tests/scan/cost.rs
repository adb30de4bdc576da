//! How much is read, hashed and held for it.

use std::io;

use allocation_counter::measure;
use membrane_codec::{Refusal, ScanEvent, scan};

use crate::disk::Disk;
use crate::naive::Found::{Frame, Gap, Refused};
use crate::samples::frame_of;
use crate::support::{Event, assert_tiled, both, claim, found, scanner, stored};

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
