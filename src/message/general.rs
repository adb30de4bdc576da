//! The general road: any strict JSON, through serde_json; the one that says what is wrong.

use core::num::NonZeroU64;

use super::{CompatFingerprint, MessageView, Number, ReuseScore, Ttl, tenant};
use crate::error::{Document, Error};
use crate::format::MessageField;
use crate::identity::{IdentityView, PayloadHash, Text};
use crate::json::{Key, Object};

pub(super) fn parse(body: &[u8]) -> Result<MessageView<'_>, Error> {
    let object = Object::<_, { MessageField::ALL.len() }>::parse(body)?;
    // In the order of the specification: the first field at fault is the one that is named. So the version goes first,
    // which may be why the rest is not as expected.
    object.field(MessageField::SchemaVersion, |raw| (raw == "5").then_some(()))?;
    Ok(MessageView {
        tenant_id: object.field(MessageField::TenantId, tenant_id)?,
        identity: identity(&object)?,
        payload_ref: object.field(MessageField::PayloadRef, payload_ref)?,
        payload_size: object.field(MessageField::PayloadSize, integer)?,
        ttl: object.field(MessageField::Ttl, |raw| Number::from_json(raw).map(Ttl::from_number))?,
        reuse_score: object
            .field(MessageField::ReuseScore, |raw| Number::from_json(raw).and_then(ReuseScore::from_number))?,
        version_id: object.field(MessageField::VersionId, |raw| integer(raw).and_then(NonZeroU64::new))?,
        consistency: object.field(MessageField::Consistency, Text::from_json)?,
        hlc: object.field(MessageField::Hlc, integer)?,
        fingerprint_compat: object.field(MessageField::FingerprintCompat, fingerprint_compat)?,
    })
}

impl Key for MessageField {
    const DOCUMENT: Document = Document::Message;

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }

    fn index(self) -> usize {
        self as usize
    }
}

fn identity<'a, const N: usize>(object: &Object<'a, MessageField, N>) -> Result<IdentityView<'a>, Error> {
    let raw = object.raw(MessageField::Identity)?;
    IdentityView::parse(raw.as_bytes())
        .map(IdentityView::without_json)
        .map_err(|error| error.shifted(object.offset_of(raw)))
}

// Each of these takes the raw text of a value that is valid JSON without lone surrogates.

fn tenant_id(raw: &str) -> Option<Text<'_>> {
    Text::from_json(raw).filter(|&text| tenant::is_tenant(text))
}

fn payload_ref(raw: &str) -> Option<Option<PayloadHash>> {
    match raw {
        "null" => Some(None),
        _ => PayloadHash::from_text(Text::from_json(raw)?.to_cow().as_bytes()).map(Some),
    }
}

fn fingerprint_compat(raw: &str) -> Option<Option<CompatFingerprint>> {
    match &*Text::from_json(raw)?.to_cow() {
        "" => Some(None),
        text => CompatFingerprint::from_text(text.as_bytes()).map(Some),
    }
}

/// A JSON integer from 0 to 2^64-1: no fraction, no exponent. `-0` is 0.
fn integer(raw: &str) -> Option<u64> {
    match raw {
        "-0" => Some(0),
        _ => raw.parse().ok(),
    }
}
