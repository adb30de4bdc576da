//! Proves that messages of any lengths, in any number and order, hashed at once by any kernel, whole or in pieces, have the
//! digests that an independent library gives each alone.

#![no_main]

use libfuzzer_sys::arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use membrane_codec::{Digest, Kernel, ManyHasher, sha256_many_with};
use sha2::Digest as _;

#[derive(Arbitrary, Debug)]
struct Batch<'a> {
    /// Where each message starts and how long it is, in a buffer that repeats `bytes`.
    messages: Vec<(u8, u16)>,
    /// How long the first pieces of each message are.
    cuts: Vec<u16>,
    bytes: &'a [u8],
}

/// Long enough for several blocks in every lane, short enough for many runs.
const MAX_MESSAGE_LEN: usize = 2048;

fuzz_target!(|batch: Batch<'_>| {
    let seed = if batch.bytes.is_empty() { &[0][..] } else { batch.bytes };
    let buffer: Vec<u8> = seed.iter().copied().cycle().take(256 + MAX_MESSAGE_LEN).collect();
    let messages: Vec<&[u8]> = batch
        .messages
        .iter()
        .take(64)
        .map(|(start, len)| &buffer[usize::from(*start)..][..usize::from(*len) % MAX_MESSAGE_LEN])
        .collect();
    let expected: Vec<Digest> =
        messages.iter().map(|message| Digest::from_bytes(sha2::Sha256::digest(message).into())).collect();

    for kernel in Kernel::available() {
        assert_eq!(sha256_many_with(kernel, &messages), expected, "{kernel}");

        let cut =
            |number: usize| batch.cuts.get(number % batch.cuts.len().max(1)).map_or(1, |cut| usize::from(*cut).max(1));
        let mut hashers = vec![ManyHasher::new(); messages.len()];
        // Round after round one more piece of each message, of a length that is the message's own.
        for round in 0..4 {
            let piece = |number: usize| {
                let (message, len) = (messages[number], cut(number));
                let rest = &message[(round * len).min(message.len())..];
                if round == 3 { rest } else { &rest[..len.min(rest.len())] }
            };
            ManyHasher::update_with(
                kernel,
                hashers.iter_mut().enumerate().map(|(number, hasher)| (hasher, piece(number))),
            );
        }
        assert_eq!(ManyHasher::finalize_with(kernel, &hashers), expected, "{kernel}, in pieces");
    }
});
