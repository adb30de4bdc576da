//! A field of any of the format's JSON objects.

use core::fmt;

use super::{IdentityField, MessageField};

/// The field that an [`Error`](crate::Error) is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// One of the ten of an identity.
    Identity(IdentityField),
    /// One of the eleven of a message.
    Message(MessageField),
}

impl Field {
    /// The field's key in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identity(field) => field.as_str(),
            Self::Message(field) => field.as_str(),
        }
    }

    /// What the field may hold, in words.
    pub const fn domain(self) -> &'static str {
        match self {
            Self::Identity(field) => field.domain(),
            Self::Message(field) => field.domain(),
        }
    }
}

impl From<IdentityField> for Field {
    fn from(field: IdentityField) -> Self {
        Self::Identity(field)
    }
}

impl From<MessageField> for Field {
    fn from(field: MessageField) -> Self {
        Self::Message(field)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
