//! Reads and writes a frame without std. Compiled, never run.

#![no_std]

use membrane_codec::{IdentityView, canonicalize, parse_canonical};

/// Takes an identity's JSON and a payload; says whether the frame of both reads back as it was written.
pub fn round_trip(identity: &[u8], payload: &[u8]) -> bool {
    let Ok(identity) = IdentityView::parse(identity) else { return false };
    let Ok(frame) = canonicalize(&identity.to_identity(), payload) else { return false };
    parse_canonical(&frame).is_ok_and(|frame| frame.payload() == payload)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
