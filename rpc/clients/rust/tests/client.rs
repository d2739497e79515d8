//! What a client does with a daemon that goes away, that is slow, and that has much to say.

mod common;

use std::time::{Duration, SystemTime};

use common::Daemon;
use serde_json::{Value, json};
use stoadb::{
    Client, Code, KeyValues, Rows,
    key_values::{Event, Expected},
    keys, messages as m, values,
};

#[tokio::test]
async fn where_no_daemon_is() {
    let client = Client::new("/nowhere/stoa.sock");
    let failure = client.admin().status(m::StatusRequest::default()).await.unwrap_err();
    assert_eq!(failure.code(), Code::Unavailable);
    assert!(failure.message().contains("no daemon at /nowhere/stoa.sock"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_share_a_client() {
    let daemon = Daemon::start("mem").await;
    let kv = KeyValues::new(&daemon.client(), "acme").deferred();
    for i in 0..50 {
        kv.put(&format!("k{i}"), &i).await.unwrap();
    }
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..16 {
        let kv = kv.clone();
        tasks.spawn(async move {
            for i in 0..200 {
                let n = (i + worker) % 50;
                assert_eq!(kv.get::<u64>(&format!("k{n}")).await.unwrap(), Some(n));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn key_values() {
    let daemon = Daemon::start("mem").await;
    let kv = KeyValues::new(&daemon.client(), "acme");
    assert_eq!(kv.get::<Value>("config").await.unwrap(), None);
    let revision = kv.put_for("config", &json!({ "limit": 10, "names": ["a", "ä"] }), Duration::from_secs(60)).await.unwrap();
    let item = kv.item("config").await.unwrap().unwrap();
    assert_eq!((item.revision, item.value), (revision, json!({ "limit": 10, "names": ["a", "ä"] })));
    let left = item.expires.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!((30..=60).contains(&left.as_secs()), "{left:?}");
    assert!(kv.swap("config", &Value::Null, Expected::Revision(revision)).await.unwrap());
    assert!(!kv.swap("config", &1, Expected::Value(&json!(2))).await.unwrap());
    assert_eq!(kv.item("config").await.unwrap().unwrap().value, Value::Null);
    assert!(kv.swap("other", &1, Expected::Absent).await.unwrap());
    assert!(!kv.swap("other", &1, Expected::Absent).await.unwrap());
    assert_eq!(kv.increment("n", 1).await.unwrap(), 1);
    assert_eq!(kv.increment("n", 1 << 62).await.unwrap(), (1 << 62) + 1);
    let items: Vec<_> = kv.items("").await.unwrap().into_iter().map(|i| i.key).collect();
    assert_eq!(items, ["config", "n", "other"]);
    assert!(kv.delete("n").await.unwrap() && !kv.delete("n").await.unwrap());
    let refused = kv.put("", &1).await.unwrap_err();
    assert_eq!((refused.code(), refused.kind(), refused.fields()["field"].as_str()), (Code::InvalidArgument, "KV_ARGUMENT", "key"));
    let wrong = kv.get::<bool>("other").await.unwrap_err();
    assert!(wrong.message().starts_with("the value of other: invalid type"), "{wrong}");
}

#[tokio::test]
async fn rows() {
    let daemon = Daemon::start("mem").await;
    let rows = Rows::new(&daemon.client());
    let home = keys::Alias { kind: 1, scope: [0; 32], name: "home".into() };
    let me = keys::Alias { kind: 2, scope: [0; 32], name: "me".into() };
    assert_eq!(rows.get(&home).await.unwrap(), None);
    let value = values::Alias { id: [1; 32] };
    rows.batch().expect(&home, None).put(&home, &value).put(&me, &values::Alias { id: [3; 32] }).apply().await.unwrap();
    assert_eq!(rows.get(&home).await.unwrap(), Some(value.clone()));
    let again = rows.batch().expect(&home, None).delete(&home).apply().await.unwrap_err();
    assert_eq!((again.code(), again.kind()), (Code::Aborted, "CONFLICT"));
    let other = rows.batch().expect(&home, Some(&values::Alias { id: [9; 32] })).apply().await.unwrap_err();
    assert_eq!(other.kind(), "CONFLICT");
    let names = async |start, request| {
        let mut scan = rows.scan_with::<keys::Alias>(start, request).await.unwrap();
        let mut names = Vec::new();
        while let Some((key, _)) = scan.next().await.unwrap() {
            names.push(key.name);
        }
        names
    };
    assert_eq!(names(keys::Alias::all(), m::ScanRequest::default()).await, ["home", "me"]);
    assert_eq!(names(keys::Alias::by_kind(2).unwrap(), m::ScanRequest::default()).await, ["me"]);
    assert_eq!(names(keys::Alias::all(), m::ScanRequest { reverse: true, limit: 1, ..Default::default() }).await, ["me"]);
    rows.batch().delete(&home).deferred().apply().await.unwrap();
    assert_eq!(rows.get(&home).await.unwrap(), None);
    let wrong = rows.batch().put(&keys::Alias { name: String::new(), ..home }, &value).apply().await.unwrap_err();
    assert!(wrong.message().contains("Alias: a name has"), "{wrong}");
}

fn piece(part: m::blob_put_request::Part) -> m::BlobPutRequest {
    m::BlobPutRequest { part: Some(part) }
}

#[tokio::test]
async fn a_large_blob_goes_both_ways() {
    let daemon = Daemon::start("mem").await;
    let client = daemon.client();
    let data: Vec<u8> = (0..5_000_000u32).map(|i| (i % 251) as u8).collect();
    let mut put = client.blob().put().await.unwrap();
    put.send(piece(m::blob_put_request::Part::Header(m::BlobPutHeader::default()))).await.unwrap();
    for part in data.chunks(100_000) {
        put.send(piece(m::blob_put_request::Part::Data(part.to_vec()))).await.unwrap();
    }
    let blob_id = put.finish().await.unwrap().info.unwrap().blob_id;
    let mut parts = client.blob().get(m::BlobGetRequest { blob_id, ..Default::default() }).await.unwrap();
    let mut got = Vec::new();
    while let Some(part) = parts.message().await.unwrap() {
        if let Some(m::blob_get_response::Part::Data(part)) = part.part {
            got.extend(part);
        }
    }
    assert!(got == data);
}

#[tokio::test]
async fn what_follows_an_end_goes_nowhere() {
    let daemon = Daemon::start("mem").await;
    let client = daemon.client();
    let mut put = client.blob().put().await.unwrap();
    for _ in 0..100 {
        put.send(piece(m::blob_put_request::Part::Data(vec![0; 100_000]))).await.unwrap(); // without a header
    }
    assert_eq!(put.finish().await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(client.admin().status(m::StatusRequest::default()).await.unwrap().engine, "mem");
}

#[tokio::test]
async fn streams_that_are_left_early_are_given_up() {
    let daemon = Daemon::start("mem").await;
    let client = daemon.client();
    let kv = KeyValues::new(&client, "acme").deferred();
    for i in 0..2000 {
        kv.put(&format!("k{i}"), &"x".repeat(1000)).await.unwrap();
    }
    for _ in 0..20 {
        let mut scan = client.kv().scan(m::KvScanRequest { tenant: "acme".into(), ..Default::default() }).await.unwrap();
        assert!(!scan.message().await.unwrap().unwrap().items.is_empty());
    }
    assert_eq!(kv.items("").await.unwrap().len(), 2000);

    // A stream lasts longer than the client that has begun it.
    let other = daemon.client();
    let mut scan = other.kv().scan(m::KvScanRequest { tenant: "acme".into(), ..Default::default() }).await.unwrap();
    drop(other);
    let mut count = 0;
    while let Some(page) = scan.message().await.unwrap() {
        count += page.items.len();
    }
    assert_eq!(count, 2000);
}

#[tokio::test]
async fn who_waits_long_enough_goes_on() {
    let daemon = Daemon::start("mem").await;
    let client = daemon.client();
    let mut watch = KeyValues::new(&client, "acme").watch("");
    assert!(matches!(watch.next().await.unwrap(), Event::Synced { .. }));
    assert!(tokio::time::timeout(Duration::from_millis(50), watch.next()).await.is_err());
    KeyValues::new(&client, "acme").put("k", &1).await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Event::Put(item) if item.key == "k"));
}

/// A socket of somebody who greets, and then says nothing.
#[tokio::test]
async fn a_daemon_that_does_not_answer() {
    let dir = tempfile::tempdir().unwrap();
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join("sock")).unwrap();
    let (asked, heard) = std::sync::mpsc::channel();
    let mute = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let greeting = [&b"STO1"[..], &[12, 0, 0, 0], &[0; 15], &[1; 12]].concat();
        stream.write_all(&greeting).unwrap();
        let mut all = vec![0; 4 + 19];
        stream.read_exact(&mut all).unwrap();
        asked.send(()).unwrap();
        stream.read_to_end(&mut all).unwrap();
        all
    });
    let client = Client::new(dir.path().join("sock"));
    let call = client.clone();
    let call = tokio::spawn(async move { call.admin().status(m::StatusRequest::default()).await });
    tokio::task::spawn_blocking(move || heard.recv().unwrap()).await.unwrap();
    call.abort(); // a call that is dropped is given up
    assert!(call.await.unwrap_err().is_cancelled());
    let late = client.with_timeout(Duration::from_millis(1));
    tokio::time::pause();
    let failure = late.admin().status(m::StatusRequest::default()).await.unwrap_err();
    assert_eq!((failure.code(), failure.message()), (Code::DeadlineExceeded, "the daemon does not answer"));
    drop((client, late));
    let sent = tokio::task::spawn_blocking(|| mute.join().unwrap()).await.unwrap();
    let last = &sent[sent.len() - 19..];
    assert_eq!((last[12..14].to_vec(), last[14]), (vec![0, 0], 4), "the call is cancelled");
}

#[tokio::test]
async fn a_client_connects_again() {
    let mut daemon = Daemon::start("mem").await;
    let client = daemon.client();
    assert_eq!(client.admin().status(m::StatusRequest::default()).await.unwrap().engine, "mem");
    daemon.stop();
    assert_eq!(client.admin().status(m::StatusRequest::default()).await.unwrap_err().code(), Code::Unavailable);
    daemon.again().await;
    assert_eq!(client.admin().status(m::StatusRequest::default()).await.unwrap().engine, "mem");
}

#[test]
fn a_runtime_that_has_ended_leaves_a_client_that_connects_again() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let daemon = first.block_on(Daemon::start("mem"));
    let client = daemon.client();
    let status = async || client.admin().status(m::StatusRequest::default()).await.unwrap().engine;
    assert_eq!(first.block_on(status()), "mem");
    drop(first);
    assert_eq!(runtime().block_on(status()), "mem");
}

#[tokio::test]
async fn a_watch_goes_on() {
    let mut daemon = Daemon::start("rocks").await;
    let kv = KeyValues::new(&daemon.client(), "acme");
    kv.put("first", &1).await.unwrap();
    let mut watch = kv.watch("");
    assert!(matches!(watch.next().await.unwrap(), Event::Put(item) if item.key == "first"));
    assert!(matches!(watch.next().await.unwrap(), Event::Synced { .. }));
    daemon.stop();
    daemon.again().await;
    kv.put("last", &2).await.unwrap();
    kv.delete("last").await.unwrap();
    let mut told = Vec::new();
    loop {
        match watch.next().await.unwrap() {
            Event::Put(item) => told.push(item.key),
            Event::Delete { key, .. } => break told.push(format!("-{key}")),
            _ => {}
        }
    }
    assert_eq!(told, ["last", "-last"]);
}
