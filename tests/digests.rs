//! Our SHA-256 against two independent libraries and the published vectors.

use membrane_codec::{Digest, ParseDigestError, Sha256, sha256};
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

#[test]
fn published_vectors() {
    for (message, digest) in [
        (&b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (&[b'a'; 1_000_000], "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ] {
        assert_eq!(sha256(message).to_string(), digest);
    }
}

#[test]
fn every_length_around_the_blocks() {
    let data: Vec<u8> = (0..1000_u32).map(|at| (at * 7) as u8).collect();
    for len in 0..=data.len() {
        let digest = sha256(&data[..len]);
        assert_eq!(digest, with_sha2(&data[..len]), "{len} bytes");
        assert_eq!(digest, with_ring(&data[..len]), "{len} bytes");
    }
}

#[test]
fn digests_as_text() {
    let digest = sha256(b"abc");
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(format!("{digest}"), text);
    assert_eq!(format!("{digest:>66}"), format!("  {text}"));
    assert_eq!(format!("{digest:?}"), format!("Digest({text})"));
    assert_eq!(text.to_uppercase().parse(), Ok(digest));
    for wrong in [&text[1..], &format!("{text}0"), &text.replace('f', "g"), ""] {
        assert_eq!(wrong.parse::<Digest>(), Err(ParseDigestError));
    }
    assert_eq!(digest.trailer(), [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
}

proptest! {
    #[test]
    fn pieces_are_the_whole(pieces in vec(vec(any::<u8>(), 0..200), 0..8)) {
        let mut hasher = Sha256::new();
        for piece in &pieces {
            hasher.update(piece);
        }
        let whole = pieces.concat();
        prop_assert_eq!(hasher.finalize(), with_ring(&whole));
        prop_assert_eq!(sha256(&whole), with_sha2(&whole));
    }
}
