#![cfg_attr(not(feature = "std"), no_std)]
//! Reads, writes and verifies the v5 wire and storage formats of Membrane, a cluster cache for the KV tensors of language
//! models.
//!
//! A damaged or swapped fragment does not crash a model, it makes it talk nonsense. This crate is for those who must
//! notice: storage backends that serve fragments, operators who scrub stores, writers of other implementations.
//!
//! "The specification" in these pages is Membrane's *Wire and storage format*, version 5; "the contract" decides where it
//! is silent. What the contract says of frames is the table of [`parse_canonical`]; what it says of identities stands at
//! [`IdentityView::parse`] and [`IdentityView::canonical_json`].
//!
//! # The main job
//!
//! ```
//! use membrane_codec::{Dtype, HeadRange, InclusiveRange, PayloadIdentity, canonicalize, parse_canonical, sha256};
//!
//! let payload = [0x3c; 2 * 64];
//! let identity = PayloadIdentity {
//!     payload_hash: sha256(&payload).into(),
//!     model_id: "llama-3-8b".into(),
//!     model_revision: String::new(),
//!     tokenizer_name: "llama-3-8b".into(),
//!     tokenizer_revision: String::new(),
//!     layer_range: InclusiveRange::new(0, 0)?,
//!     head_range: HeadRange::All,
//!     token_span: InclusiveRange::new(0, 0)?,
//!     dtype: Dtype::Float16,
//!     shape: [1, 1, 1, 1, 64].try_into()?,
//! };
//! let stored = canonicalize(&identity, &payload)?;
//!
//! let frame = parse_canonical(&stored)?; // every check of the format, or an error that says which failed and where
//! assert_eq!(frame.payload(), payload);
//! assert_eq!(frame.identity().fingerprint(), identity.fingerprint());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! | to | take |
//! |---|---|
//! | read a frame in memory | [`Frame`] (structure first), [`parse_canonical`] (everything), [`OwnedFrame`] (shared buffers) |
//! | ask for more than the format checks | [`Verifier`] |
//! | verify many frames at once | [`verify_batch`], [`BatchVerifier`] |
//! | verify whole directories of files | `scrub` (feature `scrub`) |
//! | read a frame of any size from a stream | `FrameReader` (feature `std`) |
//! | find the intact frames among anything else | [`scan`], `FrameScanner` (feature `std`) |
//! | write a frame | [`canonicalize`], [`encode`], `FrameWriter` (feature `std`) |
//! | say what a payload is | [`PayloadIdentity`], [`IdentityView`] |
//! | ask whether an engine can use it | [`CompatFields`] |
//! | read and write the wire message | `MessageParser`, `FragmentMessage` (feature `message`) |
//! | send and receive payloads as protobuf messages, in chunks | `proto` (feature `proto`) |
//! | keep what was deleted from returning | `tombstone` (feature `cluster`) |
//! | know when nobody holds a blob any more | `refcount` (feature `cluster`) |
//! | keep cluster state across crashes | `snapshot` (feature `cluster`) |
//! | convert what older versions wrote | `migrate` (feature `migrate`) |
//! | hash | [`sha256`], [`Sha256`], [`Digest`]; many messages at once: [`sha256_many`], [`ManyHasher`], [`Kernel`] |
//! | know why not | [`Error`], [`Reason`], [`ErrorClass`] |
//!
//! # Features
//!
//! * `std` (default): streams over `std::io`. Without it the crate is `no_std` and needs `alloc`.
//! * `rayon` (default): [`verify_batch`] works on several cores. Without it, in the calling thread.
//! * `scrub`: the module `scrub`, which verifies files and directories (Unix).
//! * `message`: the wire message in JSON, read through simd-json where it pays.
//! * `proto`: the module `proto`, which sends and receives payloads as protobuf messages, in chunks. Builds zstd from C.
//! * `cluster`: the modules `snapshot` (its store of files is for Unix), `tombstone` and `refcount`.
//! * `migrate`: the module `migrate`, which converts frames and messages of older versions, in memory and (Unix) in files.
//! * `ring`: hash single messages with ring instead of sha2. PERF.md says where that pays.
//!
//! No global state but rayon's pool, no threads but those in it and those of a scrub, a migration or a `Sweeper`, and all of
//! them only where a page says so; unsafe code only in the kernels that hash many messages. Every type is `Send` and `Sync`
//! where its parameters are.

extern crate alloc;

mod digest;
mod error;
mod format;
mod frame;
mod identity;
mod json;
#[cfg(feature = "message")]
mod message;
#[cfg(feature = "migrate")]
pub mod migrate;
#[cfg(feature = "proto")]
pub mod proto;
#[cfg(feature = "cluster")]
pub mod refcount;
#[cfg(all(unix, feature = "scrub"))]
pub mod scrub;
#[cfg(feature = "cluster")]
pub mod snapshot;
#[cfg(feature = "cluster")]
mod sync;
mod tenant;
#[cfg(feature = "cluster")]
pub mod tombstone;
mod verify;

pub use self::digest::{Digest, Kernel, ManyHasher, ParseDigestError, Sha256, sha256, sha256_many, sha256_many_with};
pub use self::error::{Error, ErrorClass, JsonProblem, Reason, Trailers};
pub use self::format::{
    Field, HEADER_LEN, IdentityField, MAGIC, MAX_NESTING, MessageField, OVERHEAD_LEN, SCHEMA_VERSION, TRAILER_LEN,
};
pub use self::frame::{
    EncodeError, Finding, Findings, Frame, FrameHeader, OwnedFrame, Refusal, Scan, ScanEvent, VerifiedFrame, Verifier,
    canonicalize, encode, encoded_len, parse_canonical, scan,
};
#[cfg(feature = "std")]
pub use self::frame::{FrameReader, FrameScanner, FrameStream, FrameWriter, ReadError, StoredFrame};
pub use self::identity::{
    Chars, CompatFields, Dims, DomainError, Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash,
    PayloadIdentity, Shape, ShapeView, Text,
};
#[cfg(feature = "message")]
pub use self::message::{
    BuildError, CompatFingerprint, Compatibility, Consistency, FragmentMessage, MessageBuilder, MessageParser,
    MessageView, Number, ReuseScore, Ttl,
};
pub use self::tenant::TenantId;
pub use self::verify::{Batch, BatchReport, BatchVerifier, Verdict, verify_batch};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
