//! Proves on raw bytes: no verdict is wrong. What `parse_canonical` accepts or refuses, and for which reason, is what a
//! naive reading of the contract says, and every other way to read a frame in memory agrees with it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    membrane_codec_fuzz::check_frame(bytes);
});
