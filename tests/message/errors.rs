//! Which check fails first, where, and how it reads.

use membrane_codec::{FragmentMessage, IdentityField, JsonProblem, MessageField, Reason};

use crate::bodies::{body, body_with, replaced};

fn refused(body: &str) -> membrane_codec::Error {
    FragmentMessage::from_json(body.as_bytes()).expect_err("damaged")
}

#[test]
fn the_text_of_an_error() {
    let json = body_with("tenant_id", "\"a b\"");
    let error = refused(&json);
    assert_eq!(error.offset(), json.find("\"a b\"").expect("the value") as u64);
    assert_eq!(
        error.to_string(),
        "message_field at byte 32: tenant_id: found \"a b\", expected 1 to 128 characters, none of them white space, a \
         control character, a colon, a slash, a backslash or a quote"
    );
    assert_eq!(
        refused(&body_with("schema_version", "4")).to_string(),
        "message_version at byte 18: schema_version: found 4, expected the integer 5"
    );
    assert_eq!(
        refused(&format!("\u{feff}{}", body())).to_string(),
        "message_json at byte 0: found a byte order mark, expected JSON without one"
    );
    assert_eq!(refused("[]").to_string(), "message_json at byte 0: found another JSON value, expected one object");
}

#[test]
fn offsets_inside_the_identity_count_from_the_body() {
    let json = body().replacen("\"float16\"", "\"float17\"", 1);
    let error = refused(&json);
    assert_eq!(error.reason(), Reason::IdentityField);
    assert_eq!(error.field(), Some(IdentityField::Dtype.into()));
    assert_eq!(error.offset(), json.find("\"float17\"").expect("the value") as u64);

    let json = body().replacen("\"dtype\":\"float16\"", "\"dtype\":\"float16\",\"dtype\":\"nf4\"", 1);
    let error = refused(&json);
    assert_eq!(error.reason(), Reason::IdentityJson);
    assert_eq!(error.json_problem(), Some(JsonProblem::DuplicateField(IdentityField::Dtype.into())));
    assert_eq!(error.offset(), json.find("\"nf4\"").expect("the value") as u64);
}

#[test]
fn json_first_then_the_order_of_the_specification() {
    let two = replaced(&body_with("hlc", "-1"), "tenant_id", "\"\"");
    assert_eq!(refused(&two).field(), Some(MessageField::TenantId.into()));
    let old = replaced(&body_with("schema_version", "4"), "tenant_id", "\"\"");
    assert_eq!(refused(&old).reason(), Reason::MessageVersion);
    let twice = replaced(&body_with("schema_version", "4"), "hlc", "1,\"hlc\":2");
    let error = refused(&twice);
    assert_eq!(error.reason(), Reason::MessageJson);
    assert_eq!(error.json_problem(), Some(JsonProblem::DuplicateField(MessageField::Hlc.into())));
    let mut missing = body().replacen("\"schema_version\":5,", "", 1);
    assert_eq!(refused(&missing).reason(), Reason::MessageField);
    missing.insert_str(1, "\"schema_version\":\"5\",");
    assert_eq!(refused(&missing).reason(), Reason::MessageVersion);
}

#[test]
fn a_lone_surrogate_anywhere_is_a_matter_of_the_body() {
    let json = body().replacen("llama-3-8b", "llama-\\udc00", 1);
    let error = refused(&json);
    assert_eq!(error.reason(), Reason::MessageJson);
    assert_eq!(error.json_problem(), Some(JsonProblem::LoneSurrogate));
}
