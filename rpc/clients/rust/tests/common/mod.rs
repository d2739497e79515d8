//! A daemon for tests: that of STOA, or of bin/stoa of the repository.
#![allow(dead_code, missing_docs)]

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use stoadb::{Client, Code, messages::StatusRequest};

/// The folder of the repository.
pub fn repository() -> PathBuf {
    std::env::var_os("STOA_REPOSITORY").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.."), PathBuf::from)
}

/// A file of the repository, of JSON.
pub fn read_json(path: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(repository().join(path)).unwrap()).unwrap()
}

/// The protocol, read of its source.
pub fn descriptors() -> prost_types::FileDescriptorSet {
    let proto = repository().join("rpc/proto");
    let mut files: Vec<_> = std::fs::read_dir(proto.join("stoa/v1")).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    protox::compile(files, [proto]).unwrap()
}

/// A daemon, which can be stopped and started anew.
pub struct Daemon {
    dir: tempfile::TempDir,
    engine: &'static str,
    process: Option<Child>,
}

impl Daemon {
    pub async fn start(engine: &'static str) -> Self {
        let dir = tempfile::Builder::new().prefix("stoa-").tempdir().unwrap();
        let mut daemon = Self { dir, engine, process: None };
        daemon.again().await;
        daemon
    }

    pub fn client(&self) -> Client {
        Client::new(self.socket())
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("data/stoa.sock")
    }

    pub async fn again(&mut self) {
        let program = std::env::var_os("STOA").map_or_else(|| repository().join("bin/stoa"), PathBuf::from);
        let log = std::fs::File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let process = Command::new(program)
            .args(["serve", "--engine", self.engine, "--dir"])
            .arg(self.dir.path().join("data"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(process);
        let until = Instant::now() + Duration::from_secs(60);
        while let Err(e) = self.client().admin().status(StatusRequest::default()).await {
            let log = || std::fs::read_to_string(self.dir.path().join("log")).unwrap();
            assert!(e.code() == Code::Unavailable && Instant::now() < until, "{e}: {}", log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // SIGTERM, which the standard library can't send.
            Command::new("kill").arg(process.id().to_string()).status().unwrap();
            process.wait().unwrap();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}
