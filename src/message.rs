//! The wire message (specification, section 2; contract, section 3): the JSON body of every request that carries a
//! fragment.
//!
//! [`MessageParser`] reads bodies into [`MessageView`]s that borrow from them; [`FragmentMessage`] owns its fields. Every
//! field has a type that can only hold a legal value, so a message that exists is valid.
//!
//! Three roads read a body and give the same answer on every one. The plain road takes a body of printable ASCII without
//! escapes and unknown keys, which is what producers write, in one pass. Of what it leaves, simd-json reads what is valid:
//! other scripts, escapes, pretty printing, unknown keys. And serde_json, the road of identities, says of the rest what is
//! wrong and where. Only the last one refuses. PERF.md gives the cost of each.
//!
//! ```
//! use membrane_codec::{Compatibility, Dtype, FragmentMessage, HeadRange, InclusiveRange, MessageParser, PayloadIdentity, sha256};
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
//! let engine = identity.fingerprint_compat();
//! let body = FragmentMessage::builder(identity).tenant_id("acme").payload_size(128).ttl(3600.0).build()?.to_json();
//!
//! let mut parser = MessageParser::new(); // one for each thread: it keeps its memory
//! let message = parser.parse(body.as_bytes())?;
//! assert_eq!(message.tenant_id(), "acme");
//! assert_eq!(message.compatibility(engine), Compatibility::Same);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod compatibility;
mod consistency;
mod general;
mod number;
mod owned;
mod parser;
mod plain;
mod tape;
mod tenant;
mod view;
mod write;

pub use self::builder::{BuildError, MessageBuilder};
pub use self::compatibility::{CompatFingerprint, Compatibility};
pub use self::consistency::Consistency;
pub use self::number::{Number, ReuseScore, Ttl};
pub use self::owned::FragmentMessage;
pub use self::parser::MessageParser;
pub use self::tenant::TenantId;
pub use self::view::MessageView;
