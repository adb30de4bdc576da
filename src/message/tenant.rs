//! The `tenant_id` field.

use core::fmt;
use core::str::FromStr;

use crate::format::MessageField;
use crate::identity::{DomainError, Text};

/// Whose fragment it is: 1 to 128 characters, none of them white space, a control character, `:`, `/`, `\` or `"`
/// (contract, section 3), so that a tenant can stand in keys and paths.
///
/// ```
/// use membrane_codec::TenantId;
///
/// let tenant: TenantId = "acme-eu".parse()?;
/// assert_eq!(tenant.as_str(), "acme-eu");
/// assert!("acme/eu".parse::<TenantId>().is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(Box<str>);

impl TenantId {
    /// The most characters, as Unicode counts them, that a tenant has.
    pub const MAX_CHARS: usize = 128;

    /// The tenant of those who name none.
    pub fn public() -> Self {
        Self("public".into())
    }

    /// The tenant's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `text` must have been accepted by [`is_tenant`].
    pub(super) fn from_checked(text: Text<'_>) -> Self {
        Self(text.to_cow().into())
    }
}

/// Whether a tenant may be called so.
pub(crate) fn is_tenant(text: Text<'_>) -> bool {
    let legal = |character: char| {
        !(character.is_whitespace() || character.is_control() || matches!(character, ':' | '/' | '\\' | '"'))
    };
    !text.is_empty() && text.chars().nth(TenantId::MAX_CHARS).is_none() && text.chars().all(legal)
}

impl FromStr for TenantId {
    type Err = DomainError;

    /// # Errors
    /// [`DomainError`] when the text is empty, too long or holds a character that is not allowed.
    fn from_str(text: &str) -> Result<Self, DomainError> {
        let text = Text::from(text);
        if is_tenant(text) {
            Ok(Self::from_checked(text))
        } else {
            Err(DomainError::new(MessageField::TenantId.domain()))
        }
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
