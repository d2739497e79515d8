//! Keys and values against the golden bytes of the schema.

mod common;

use stoadb::{Key, Scope, Value, keys, values};

/// What becomes of bytes that are decoded and encoded again.
type Again = fn(&[u8]) -> Result<Vec<u8>, String>;

fn value<V: Value>(bytes: &[u8]) -> Result<Vec<u8>, String> {
    V::decode(bytes).and_then(|v| v.encode()).map_err(|e| e.to_string())
}

fn key<K: Key>(bytes: &[u8]) -> Result<Vec<u8>, String> {
    assert_eq!(K::fits(bytes), K::decode(bytes).is_ok());
    K::decode(bytes).and_then(|k| k.encode()).map_err(|e| e.to_string())
}

fn golden(part: &str) -> Vec<(String, Vec<u8>)> {
    let all = common::read_json("keys/testdata/schema.json");
    let one = |g: &serde_json::Value| (g["type"].as_str().unwrap().into(), hex::decode(g["hex"].as_str().unwrap()).unwrap());
    all[part].as_array().unwrap().iter().map(one).collect()
}

include!("common/named.rs");

#[test]
fn values_are_those_of_the_schema() {
    for (name, bytes) in golden("values") {
        let again = values_by_name(&name).unwrap_or_else(|| panic!("no value {name}"));
        assert_eq!(again(&bytes).as_ref(), Ok(&bytes), "{name}");
    }
}

#[test]
fn keys_are_those_of_the_schema() {
    for (name, bytes) in golden("keys") {
        let again = keys_by_name(&name).unwrap_or_else(|| panic!("no key {name}"));
        assert_eq!(again(&bytes).as_ref(), Ok(&bytes), "{name}");
    }
}

#[test]
fn what_is_no_value() {
    for (name, bytes) in golden("bad_values") {
        let again = values_by_name(&name).unwrap_or_else(|| panic!("no value {name}"));
        assert!(again(&bytes).is_err(), "{name} {bytes:x?}");
    }
}

#[test]
fn what_has_no_bytes() {
    let why = |e: Result<Vec<u8>, stoadb::Malformed>| e.unwrap_err().to_string();
    assert_eq!(why(values::GroupAlias { name: String::new() }.encode()), "GroupAlias: a name has 1 to 50 bytes, and no zero");
    assert_eq!(why(values::GroupAlias { name: "a".repeat(51) }.encode()), "GroupAlias: a name has 1 to 50 bytes, and no zero");
    assert_eq!(why(values::GroupMemberCapabilityValue { capabilities: 128 }.encode()), "GroupMemberCapabilityValue: has other bits than 0x7f");
    assert_eq!(why(keys::Alias { kind: 1, scope: [0; 32], name: "a\0".into() }.encode()), "Alias: a name has 1 to 50 bytes, and no zero");
    assert!(why(keys::Generic { scope: Scope::KeyValues([1; 16]), fragment: vec![] }.encode()).contains("begins with 0"));
    assert!(why(keys::Generic { scope: Scope::Name("more than 16 bytes".into()), fragment: vec![] }.encode()).contains("1 to 16 bytes"));
}

#[test]
fn secrets_are_not_shown() {
    assert_eq!(format!("{:?}", values::GroupKeyEntry { key: [7; 32] }), "GroupKeyEntry(secret)");
    let member = values::ContextIdentityValue { private_key: Some([7; 32]), sender_key: None };
    assert_eq!(format!("{member:?}"), "ContextIdentityValue(secret)");
}
