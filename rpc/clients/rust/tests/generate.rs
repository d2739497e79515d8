//! Says when src/messages.rs is not what prost-build makes of the protocol, and writes it with STOA_UPDATE=1.

mod common;

#[test]
fn messages_are_current() {
    let out = tempfile::tempdir().unwrap();
    prost_build::Config::new().out_dir(out.path()).btree_map(["."]).compile_fds(common::descriptors()).unwrap();
    let generated = std::fs::read_to_string(out.path().join("stoa.v1.rs")).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/messages.rs");
    if std::env::var_os("STOA_UPDATE").is_some() {
        std::fs::write(path, generated).unwrap();
    } else {
        assert!(std::fs::read_to_string(path).unwrap() == generated, "src/messages.rs is not current: make generate");
    }
}
