//! The canonical byte framing (specification, section 3; contract, section 1).
//!
//! Reading has three prices. [`Frame::parse`] checks structure alone: nanoseconds, whatever the size.
//! [`Frame::identity`] reads the identity's JSON: some hundred bytes. [`Frame::verify`] hashes the payload: every byte.
//! [`parse_canonical`] does all three in the contract's order, and [`Verifier`] can ask for more than the contract does.
//! None of them allocates when the frame is sound and its identity in canonical form.
//!
//! [`OwnedFrame`] is the same view over shared [`bytes::Bytes`]. With the `std` feature, `FrameReader` verifies frames of
//! any size from a stream in constant memory, and `FrameWriter` writes them. [`scan`] finds what is intact among anything
//! else, in memory, and `FrameScanner` in files of any size.

mod encode;
mod layout;
#[cfg(all(unix, feature = "scrub"))]
mod opening;
mod owned;
#[cfg(feature = "std")]
mod pieces;
#[cfg(feature = "std")]
mod reader;
mod scan;
mod verified;
mod view;
#[cfg(feature = "std")]
mod writer;

pub use self::encode::{EncodeError, canonicalize, encode, encoded_len};
#[cfg(any(feature = "migrate", all(unix, feature = "scrub")))]
pub(crate) use self::layout::Accepts;
pub use self::layout::FrameHeader;
#[cfg(all(unix, feature = "migrate"))]
pub(crate) use self::layout::parse_header;
#[cfg(all(unix, feature = "scrub"))]
pub(crate) use self::opening::{Opening, open_start};
pub use self::owned::OwnedFrame;
#[cfg(all(unix, feature = "scrub"))]
pub(crate) use self::pieces::Remainder;
#[cfg(feature = "std")]
pub use self::reader::{FrameReader, FrameStream, ReadError};
#[cfg(feature = "std")]
pub use self::scan::{FrameScanner, StoredFrame};
pub use self::scan::{Refusal, Scan, ScanEvent, scan};
pub(crate) use self::verified::UnverifiedFrame;
pub use self::verified::{Finding, Findings, VerifiedFrame, Verifier, parse_canonical};
pub use self::view::Frame;
#[cfg(all(unix, feature = "scrub"))]
pub(crate) use self::view::parse_identity;
#[cfg(feature = "std")]
pub use self::writer::FrameWriter;
