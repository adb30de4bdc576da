//! The numbers and names of the specification. The bottom of the house: it uses nothing of the crate.

mod field;
mod identity_field;
mod message_field;

pub use self::field::Field;
pub use self::identity_field::IdentityField;
pub use self::message_field::MessageField;

/// The first four bytes of a v5 frame (specification, section 3).
pub const MAGIC: [u8; 4] = [0xC0, 0xDE, 0x01, 0x05];
/// The first four bytes of a v2 frame (contract, section 1).
pub(crate) const MAGIC_V2: [u8; 4] = [0xC0, 0xDE, 0x01, 0x02];
/// The first four bytes of a v4 frame (contract, section 1).
pub(crate) const MAGIC_V4: [u8; 4] = [0xC0, 0xDE, 0x01, 0x04];
/// The schema version that goes with [`MAGIC`] (specification, section 3).
pub const SCHEMA_VERSION: u16 = 5;
/// Length of a frame's header in bytes; the identity starts here (specification, section 3).
pub const HEADER_LEN: usize = 14;
/// Length of a frame's trailer in bytes (specification, section 3).
pub const TRAILER_LEN: usize = 8;
/// Bytes in a frame beside identity and payload: header, payload_len and trailer (specification, section 3).
pub const OVERHEAD_LEN: usize = HEADER_LEN + PAYLOAD_LEN_LEN + TRAILER_LEN;

/// How deep arrays and objects may be nested in the format's JSON texts, the outermost object being the first level.
///
/// The contract refuses nesting that would endanger a reader's stack. This is the limit of serde_json and far below that
/// of the Python reference, so nothing is accepted here that another reader chokes on.
pub const MAX_NESTING: usize = 128;

/// Length of the payload_len field in bytes.
pub(crate) const PAYLOAD_LEN_LEN: usize = 8;
/// JSON integers are confined to int64, and the format has no negative ones but "all heads".
pub(crate) const MAX_INTEGER: u64 = i64::MAX as u64;
