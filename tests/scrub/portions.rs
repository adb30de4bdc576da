//! Parts of a store by name: disjoint, complete, balanced, and the same every night.

use std::ffi::OsStr;

use membrane_codec::scrub::{PortionError, Sample, Subset};
use membrane_codec::sha256;

/// Names as stores have them, and names that differ little.
fn stems() -> impl Iterator<Item = String> {
    let keys = (0..10_000_u32).map(|number| sha256(&number.to_le_bytes()).to_string());
    keys.chain((0..10_000).map(|number| format!("{number}")))
}

#[test]
fn each_name_is_in_one_part() {
    for of in [1, 2, 7, 30] {
        let parts: Vec<_> = (1..=of).map(|part| Subset::new(part, of).expect("a part")).collect();
        let mut sizes = vec![0; of as usize];
        for stem in stems() {
            let within: Vec<_> = (0..parts.len()).filter(|at| parts[*at].contains(stem.as_ref())).collect();
            assert_eq!(within.len(), 1, "{stem}");
            sizes[within[0]] += 1;
        }
        let even = 20_000 / of as i32;
        assert!(sizes.iter().all(|size| (size - even).abs() < even / 5), "{sizes:?}");
    }
}

#[test]
fn parts_of_many_keys_are_balanced() {
    let parts: Vec<_> = (1..=3).map(|part| Subset::new(part, 4).expect("a part")).collect();
    let mut sizes = [0_i32; 4];
    for number in 0..200_000_u32 {
        // Parts are disjoint and complete, so the last has the rest.
        let key = format!("{number:064x}");
        let within = (0..3).find(|at| parts[*at].contains(key.as_ref())).unwrap_or(3);
        sizes[within] += 1;
    }
    assert!(sizes.iter().all(|size| (size - 50_000).abs() < 1_000), "within 2%: {sizes:?}");
}

#[test]
fn a_name_stays_in_its_part() {
    // By the hash of the name: other releases and machines must agree.
    let seven = |stem: &str| {
        let part = (1..=7).find(|part| Subset::new(*part, 7).expect("a part").contains(stem.as_ref()));
        part.expect("each is in one")
    };
    let place = |stem: &str| {
        let first: [u8; 8] = sha256(stem.as_bytes()).as_bytes()[..8].try_into().expect("eight");
        (u128::from(u64::from_be_bytes(first)) * 7 / (1 << 64)) as u32 + 1
    };
    for stem in stems().take(100) {
        assert_eq!(seven(&stem), place(&stem));
        assert_eq!(seven(&stem.to_uppercase()), place(&stem));
    }
    assert_eq!(
        [seven(""), seven("a"), seven("\u{e9}"), seven("\u{c9}")],
        [place(""), place("a"), place("\u{e9}"), place("\u{c9}")]
    );
}

#[test]
fn the_largest_number_of_parts() {
    let within = |part| Subset::new(part, u32::MAX).expect("a part").contains(OsStr::new("name"));
    let first: [u8; 8] = sha256(b"name").as_bytes()[..8].try_into().expect("eight");
    let part = (u128::from(u64::from_be_bytes(first)) * u128::from(u32::MAX)) >> 64;
    let part = part as u32 + 1;
    assert_eq!([within(part - 1), within(part), within(part + 1)], [false, true, false]);
}

#[test]
fn parts_are_written_as_they_are_read() {
    for text in ["1/1", "1/7", "7/7", "4294967295/4294967295"] {
        assert_eq!(text.parse::<Subset>().expect("a part").to_string(), text);
    }
    for text in
        ["", "1", "/", "1/", "/7", "0/7", "8/7", "1/0", "0/0", "1/2/3", " 1/7", "1/7 ", "-1/7", "a/b", "1/4294967296"]
    {
        assert_eq!(text.parse::<Subset>(), Err(PortionError::Subset), "{text:?}");
    }
    assert_eq!(Subset::new(2, 1), Err(PortionError::Subset));
    assert_eq!(PortionError::Subset.to_string(), "a subset is written N/T, with 1 <= N <= T");
    assert_eq!(PortionError::Sample.to_string(), "a sample is a share between 0 and 1");
}

#[test]
fn a_sample_is_the_same_for_the_same_seed() {
    let sampled = |share, seed| {
        let sample = Sample::new(share, seed).expect("a share");
        stems().filter(|stem| sample.contains(stem.as_ref())).collect::<Vec<_>>()
    };
    let five = sampled(0.05, 1);
    assert_eq!(five, sampled(0.05, 1));
    assert!((900..1100).contains(&five.len()), "{}", five.len());
    let others = sampled(0.05, 2);
    let in_both = five.iter().filter(|stem| others.contains(stem)).count();
    assert!(in_both < 100, "{in_both}");
    // A larger share of the same seed holds the smaller.
    let ten = sampled(0.1, 1);
    assert!(five.iter().all(|stem| ten.contains(stem)));
}

#[test]
fn a_sample_of_nothing_and_of_all() {
    let of = |share| Sample::new(share, 7).map(|sample| stems().filter(|stem| sample.contains(stem.as_ref())).count());
    assert_eq!([of(0.0), of(-0.0), of(1.0)], [Ok(0), Ok(0), Ok(20_000)]);
    for share in [-f64::MIN_POSITIVE, 1.0 + f64::EPSILON, f64::NAN, f64::INFINITY, 5.0] {
        assert_eq!(of(share), Err(PortionError::Sample), "{share}");
    }
}
