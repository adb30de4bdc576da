//! Many messages at once: every kernel, every lane, every length, beside every kind of neighbour, against two independent
//! libraries.

use membrane_codec::{Digest, Kernel, ManyHasher, sha256_many, sha256_many_with};
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::Digest as _;

fn with_sha2(data: &[u8]) -> Digest {
    Digest::from_bytes(sha2::Sha256::digest(data).into())
}

fn with_ring(data: &[u8]) -> Digest {
    let digest = ring::digest::digest(&ring::digest::SHA256, data);
    Digest::from_bytes(digest.as_ref().try_into().expect("32 bytes"))
}

/// Bytes that differ everywhere and between numbers.
fn noise(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 131 + number * 29 + (at >> 8) * 17 + 7) as u8).collect()
}

/// The kernels that this machine has; says which it has not.
fn kernels() -> Vec<Kernel> {
    let kernels: Vec<_> = Kernel::available().collect();
    for name in ["sha_ni_avx512", "sha_ni", "avx2", "single", "portable"] {
        if !kernels.iter().any(|kernel| kernel.name() == name) {
            eprintln!("skipped: this processor cannot run the kernel {name}");
        }
    }
    kernels
}

#[test]
fn published_vectors() {
    let cases: [(Vec<u8>, &str); 6] = [
        (vec![], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc".into(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".into(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"
                .into(),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        ),
        // From the long messages of NIST's validation suite, in kind: one byte, repeated.
        (vec![0xbd], "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"),
        (vec![b'a'; 1_000_000], "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ];
    for kernel in kernels() {
        let messages: Vec<_> = cases.iter().map(|(message, _)| message).collect();
        let digests: Vec<_> = sha256_many_with(kernel, &messages).iter().map(Digest::to_string).collect();
        let expected: Vec<_> = cases.iter().map(|(_, digest)| *digest).collect();
        assert_eq!(digests, expected, "{kernel}");
    }
}

#[test]
fn every_length_in_every_lane_beside_every_kind_of_neighbour() {
    // Empty, less than a block, the padding's edges, whole blocks, many blocks.
    let neighbours = [0, 1, 55, 56, 63, 64, 65, 119, 128, 1000];
    for kernel in kernels() {
        for len in 0..=300 {
            let message = noise(len, len);
            let expected = with_sha2(&message);
            for lane in 0..kernel.lanes() {
                let neighbour = neighbours[(len + lane) % neighbours.len()];
                let mut messages: Vec<_> = (0..kernel.lanes()).map(|other| noise(other, neighbour)).collect();
                messages[lane].clone_from(&message);
                let digests = sha256_many_with(kernel, &messages);
                assert_eq!(digests[lane], expected, "{kernel}: {len} bytes in lane {lane} beside {neighbour}");
                let other = (lane + 1) % kernel.lanes();
                assert_eq!(digests[other], with_ring(&messages[other]), "{kernel}: lane {other} beside {len} bytes");
            }
        }
        // All kinds beside each other.
        for &one in &neighbours {
            for &another in &neighbours {
                let messages = [noise(1, one), noise(2, another), noise(3, one), noise(4, another), noise(5, 64 * 40)];
                let expected: Vec<_> = messages.iter().map(|message| with_sha2(message)).collect();
                assert_eq!(sha256_many_with(kernel, &messages), expected, "{kernel}: {one} and {another}");
            }
        }
    }
}

#[test]
fn every_number_of_messages() {
    for kernel in kernels() {
        assert_eq!(sha256_many_with::<&[u8]>(kernel, &[]), []);
        for count in 1..=20 {
            for len in [0, 64, 200] {
                let messages: Vec<_> = (0..count).map(|number| noise(number, len)).collect();
                let expected: Vec<_> = messages.iter().map(|message| with_ring(message)).collect();
                assert_eq!(sha256_many_with(kernel, &messages), expected, "{kernel}: {count} of {len} bytes");
            }
        }
    }
    let messages: Vec<_> = (0..10_000).map(|number| noise(number, number % 300)).collect();
    let expected: Vec<_> = messages.iter().map(|message| with_sha2(message)).collect();
    assert_eq!(sha256_many(&messages), expected);
}

#[test]
fn at_every_alignment() {
    let buffer = noise(0, 64 * 5 + 64);
    for kernel in kernels() {
        for start in 0..64 {
            let messages: Vec<_> = (0..kernel.lanes()).map(|lane| &buffer[(start + lane) % 64..][..64 * 5]).collect();
            let expected: Vec<_> = messages.iter().map(|message| with_sha2(message)).collect();
            assert_eq!(sha256_many_with(kernel, &messages), expected, "{kernel}: from byte {start}");
        }
    }
}

#[test]
fn kernels_and_their_names() {
    let names: Vec<_> = Kernel::available().map(|kernel| (kernel.to_string(), kernel.lanes())).collect();
    assert_eq!(names[names.len() - 2..], [("single".into(), 1), ("portable".into(), 1)]);
    assert_eq!(Kernel::available().next(), Some(Kernel::default()));
}

#[test]
fn hashers_that_live_beside_their_buffers() {
    struct File {
        hasher: ManyHasher,
        buffer: Vec<u8>,
    }
    let mut files: Vec<_> =
        (0..9).map(|number| File { hasher: ManyHasher::new(), buffer: noise(number, 100 * number) }).collect();
    for _ in 0..2 {
        ManyHasher::update(files.iter_mut().map(|file| (&mut file.hasher, file.buffer.as_slice())));
    }
    let digests = ManyHasher::finalize(files.iter().map(|file| &file.hasher));
    let expected: Vec<_> = files.iter().map(|file| with_sha2(&file.buffer.repeat(2))).collect();
    assert_eq!(digests, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_batches(lengths in vec(prop_oneof![0..300_usize, 0..5000_usize], 0..30)) {
        let messages: Vec<_> = lengths.iter().enumerate().map(|(number, len)| noise(number, *len)).collect();
        let sha2: Vec<_> = messages.iter().map(|message| with_sha2(message)).collect();
        let ring: Vec<_> = messages.iter().map(|message| with_ring(message)).collect();
        prop_assert_eq!(&sha2, &ring);
        for kernel in Kernel::available() {
            prop_assert_eq!(&sha256_many_with(kernel, &messages), &sha2, "{}", kernel);
        }
    }

    #[test]
    fn pieces_of_many_messages(
        rounds in vec(vec(prop_oneof![Just(0_usize), 0..70_usize, 0..2000_usize], 5), 1..6),
    ) {
        for kernel in Kernel::available() {
            let mut hashers = vec![ManyHasher::new(); 5];
            let mut whole = vec![Vec::new(); 5];
            for (round, lengths) in rounds.iter().enumerate() {
                let pieces: Vec<_> = lengths.iter().map(|len| noise(round, *len)).collect();
                for (whole, piece) in whole.iter_mut().zip(&pieces) {
                    whole.extend(piece);
                }
                ManyHasher::update_with(kernel, hashers.iter_mut().zip(pieces.iter().map(Vec::as_slice)));
                // After every round, not only at the end.
                let expected: Vec<_> = whole.iter().map(|message| with_sha2(message)).collect();
                prop_assert_eq!(&ManyHasher::finalize_with(kernel, &hashers), &expected, "{}", kernel);
            }
            for (hasher, whole) in hashers.iter().zip(&whole) {
                prop_assert_eq!(hasher.total_len(), whole.len() as u64);
            }
        }
    }
}
