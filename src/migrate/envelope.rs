//! One envelope in memory: a [`FragmentMessage`](crate::FragmentMessage) of any version, as JSON text.
//!
//! The text is edited, not written anew: the value of schema_version is replaced, and behind it comes what is missing, in
//! the manner of the text. So every other key, the order of keys, white space and how numbers are written stay.

use std::fmt::Write;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::format::MessageField;
use crate::identity::{CompatFields, IdentityView};
use crate::json::{AnyKey, Object};
use crate::message::MessageParser;
use crate::tenant::TenantId;

/// The schema versions of envelopes (contract, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EnvelopeVersion {
    /// Schema 2: without consistency and hlc.
    V2,
    /// Schema 3.
    V3,
    /// Schema 4.
    V4,
}

impl EnvelopeVersion {
    /// Every version, the oldest first.
    pub const ALL: &'static [Self] = &[Self::V2, Self::V3, Self::V4];

    /// A stable name: `v2`, `v3` or `v4`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::V4 => "v4",
        }
    }
}

impl std::fmt::Display for EnvelopeVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a JSON value is to a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvelopeMigration {
    /// No object with a schema_version of 1 to 5. It stays.
    Other,
    /// Its schema_version is 5: nothing is to be done, and nothing else was looked at.
    Current,
    /// An older envelope, and what it becomes.
    Converted {
        /// What it was.
        from: EnvelopeVersion,
        /// The text of a valid message of v5.
        json: String,
    },
}

/// Converts envelopes of schema 2, 3 and 4 to v5 (specification, section 7), one after another.
///
/// ```
/// use membrane_codec::TenantId;
/// use membrane_codec::migrate::{EnvelopeMigration, EnvelopeMigrator, EnvelopeVersion};
///
/// let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// let identity = format!(
///     r#"{{"payload_hash":"{hash}","model_id":"m","model_revision":"","tokenizer_name":"m","tokenizer_revision":"",
///         "layer_range":[0,0],"head_range":[-1,-1],"token_span":[0,0],"dtype":"nf4","shape":[1]}}"#
/// );
/// let rest = r#""payload_ref":null,"payload_size":0,"ttl":60.0,"reuse_score":0.5,"version_id":1"#;
/// let old = format!(r#"{{"schema_version":4,"identity":{identity},{rest},"consistency":"quorum","hlc":7}}"#);
///
/// let mut migrator = EnvelopeMigrator::new("acme".parse::<TenantId>()?);
/// let EnvelopeMigration::Converted { from: EnvelopeVersion::V4, json } = migrator.migrate(old.as_bytes())? else {
///     panic!("it is an old one");
/// };
/// assert!(json.starts_with(r#"{"schema_version":5,"tenant_id":"acme","fingerprint_compat":""#));
/// assert!(json.ends_with(&old[19..])); // all else is as it was
/// assert_eq!(migrator.migrate(json.as_bytes())?, EnvelopeMigration::Current);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EnvelopeMigrator {
    tenant: TenantId,
    parser: MessageParser,
}

impl EnvelopeMigrator {
    /// A migrator that gives envelopes without a tenant to this one.
    pub fn new(tenant: TenantId) -> Self {
        Self { tenant, parser: MessageParser::new() }
    }

    /// Converts one envelope, given as the text of one JSON value.
    ///
    /// schema_version becomes 5, and what is missing is filled in behind it: tenant_id, consistency "strong", hlc 0, and
    /// fingerprint_compat, computed from the identity. All else stays byte for byte. The result is a valid message:
    /// [`MessageParser`] has read it.
    ///
    /// Cost: one pass over the text to find its version; for an old envelope three more, and one copy.
    ///
    /// # Errors
    /// Offsets count in `json`. The envelope is then to be left as it is.
    /// * [`Reason::MessageJson`](crate::Reason::MessageJson): no JSON object that [`MessageParser::parse`] would read.
    /// * [`Reason::MessageVersion`](crate::Reason::MessageVersion): schema 1, which cannot be converted.
    /// * The error of [`MessageParser::parse`] on the result: a field that cannot be filled in is missing, or one that is
    ///   there is out of its domain.
    pub fn migrate(&mut self, json: &[u8]) -> Result<EnvelopeMigration, Error> {
        let versions = Versions::of(json);
        if let Some(Versions { old: false, current }) = versions {
            return Ok(if current { EnvelopeMigration::Current } else { EnvelopeMigration::Other });
        }
        let object = Object::<MessageField, { MessageField::ALL.len() }>::parse(json)?;
        let from = object.field(MessageField::SchemaVersion, |raw| match raw {
            "2" => Some(EnvelopeVersion::V2),
            "3" => Some(EnvelopeVersion::V3),
            "4" => Some(EnvelopeVersion::V4),
            _ => None,
        })?;
        let raw = object.raw(MessageField::SchemaVersion)?;
        // Fits: it lies in `json`.
        let start = object.offset_of(raw) as usize;
        // UTF-8: the object was read.
        let text = str::from_utf8(json).unwrap_or_default();
        let (before, after) = (&text[..start], &text[start + raw.len()..]);
        let missing = self.missing(&object)?;
        let mut result = String::with_capacity(json.len() + 256);
        result.push_str(before);
        result.push('5');
        let manner = Manner::of(before, after);
        for (key, value) in missing {
            // Writing to a String cannot fail.
            let _ = write!(result, "{}\"{key}\"{}{value}", manner.between, manner.colon);
        }
        let inserted = result.len() - start - raw.len();
        result.push_str(after);
        let behind = (start + raw.len() + inserted) as u64;
        if let Err(error) = self.parser.parse(result.as_bytes()) {
            let by = if error.offset() >= behind { inserted as u64 } else { 0 };
            return Err(error.moved_back(by));
        }
        Ok(EnvelopeMigration::Converted { from, json: result })
    }

    /// The fields that are not there and can be filled in, with the text of their values.
    fn missing<const N: usize>(
        &self,
        object: &Object<'_, MessageField, N>,
    ) -> Result<Vec<(&'static str, String)>, Error> {
        let is_missing = |field| object.raw(field).is_err();
        let mut missing = Vec::new();
        let mut fill = |field: MessageField, value| missing.push((field.as_str(), value));
        if is_missing(MessageField::TenantId) {
            // Nothing that a tenant may hold needs an escape.
            fill(MessageField::TenantId, format!("\"{}\"", self.tenant));
        }
        if is_missing(MessageField::Consistency) {
            fill(MessageField::Consistency, "\"strong\"".into());
        }
        if is_missing(MessageField::Hlc) {
            fill(MessageField::Hlc, "0".into());
        }
        if is_missing(MessageField::FingerprintCompat) {
            let raw = object.raw(MessageField::Identity)?;
            let identity = IdentityView::parse(raw.as_bytes()).map_err(|error| error.shifted(object.offset_of(raw)))?;
            let fingerprint = CompatFields::from_identity(&identity).fingerprint();
            fill(MessageField::FingerprintCompat, format!("\"{fingerprint}\""));
        }
        Ok(missing)
    }
}

/// How a text sets its members apart, as it does around schema_version.
struct Manner<'t> {
    /// From the end of a value to the next key: a comma, with white space around it.
    between: &'t str,
    /// From a key to its value: a colon, with white space around it.
    colon: &'t str,
}

impl<'t> Manner<'t> {
    /// By what stands before and after the value of schema_version, in an object that is valid.
    fn of(before: &'t str, after: &'t str) -> Self {
        let key_end = before.rfind('"').map_or(before.len(), |quote| quote + 1);
        let colon = &before[key_end..];
        let next = after.find('"').filter(|quote| after[..*quote].trim_start().starts_with(','));
        let between = match next {
            Some(quote) => &after[..quote],
            // It is the last one: as it is set apart from the one before. No quote stands in the key itself.
            None => {
                let key = before[..key_end.saturating_sub(1)].rfind('"').unwrap_or(0);
                let value_end = before[..key].trim_end().strip_suffix(',').map(|rest| rest.trim_end().len());
                value_end.map_or(",", |end| &before[end..key])
            }
        };
        Self { between, colon }
    }
}

/// The schema versions that an object names; one, unless it is no valid message.
struct Versions {
    /// One of 1 to 4.
    old: bool,
    /// 5.
    current: bool,
}

impl Versions {
    /// `None` when that cannot be said: the text is not JSON.
    fn of(json: &[u8]) -> Option<Self> {
        let text = str::from_utf8(json).ok()?;
        if !text.trim_start().starts_with('{') {
            serde_json::from_str::<IgnoredAny>(text).ok()?;
            return Some(Self { old: false, current: false });
        }
        let mut versions = Self { old: false, current: false };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.deserialize_map(&mut versions).ok()?;
        deserializer.end().ok()?;
        Some(versions)
    }
}

impl<'a> Visitor<'a> for &mut Versions {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let is_version = |key: &str| (key == MessageField::SchemaVersion.as_str()).then_some(());
        while let Some(key) = map.next_key_seed(AnyKey(&is_version))? {
            if key.is_none() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            match map.next_value::<&'a RawValue>()?.get() {
                "1" | "2" | "3" | "4" => self.old = true,
                "5" => self.current = true,
                _ => {}
            }
        }
        Ok(())
    }
}
