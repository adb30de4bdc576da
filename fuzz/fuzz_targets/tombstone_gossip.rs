//! Proves on raw bytes as the body of a gossip, a tombstone and a delete: the answer is the naive reader's, what is written is
//! read again, and gossip that is merged in any order comes to the same tombstones.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    membrane_codec_fuzz::check_tombstone_bodies(body);
});
