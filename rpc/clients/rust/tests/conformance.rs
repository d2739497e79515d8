//! What all clients answer alike: ../../conformance.json.

mod common;

use common::Daemon;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use serde_json::{Value, json};
use stoadb::{Client, Error};

type Answers = Vec<Vec<u8>>;

fn read<M: Message + Default>(bytes: &[u8]) -> M {
    M::decode(bytes).unwrap()
}

/// Makes a call, of requests that are bytes; what was answered before an error is left out.
async fn call(client: &Client, name: &str, requests: &[Vec<u8>]) -> Result<Answers, Error> {
    macro_rules! calls {
        ($($kind:ident $name:literal $service:ident $method:ident;)*) => {
            match name { $($name => { let service = client.$service(); calls!(@$kind service $method) })* _ => panic!("no call {name}: add it") }
        };
        (@unary $service:ident $method:ident) => { Ok(vec![$service.$method(read(&requests[0])).await?.encode_to_vec()]) };
        (@server $service:ident $method:ident) => {{
            let mut stream = $service.$method(read(&requests[0])).await?;
            let mut answers = Vec::new();
            while let Some(answer) = stream.message().await? { answers.push(answer.encode_to_vec()); }
            Ok(answers)
        }};
        (@client $service:ident $method:ident) => {{
            let mut stream = $service.$method().await?;
            for request in requests { stream.send(read(request)).await?; }
            Ok(vec![stream.finish().await?.encode_to_vec()])
        }};
        (@both $service:ident $method:ident) => {{
            let mut stream = $service.$method().await?;
            for request in requests { stream.send(read(request)).await?; }
            stream.end()?;
            let mut answers = Vec::new();
            while let Some(answer) = stream.message().await? { answers.push(answer.encode_to_vec()); }
            Ok(answers)
        }};
    }
    calls! {
        unary "Admin.Status" admin status;
        server "Blob.Get" blob get;
        client "Blob.Put" blob put;
        unary "Blob.Stat" blob stat;
        unary "Dag.GetContext" dag get_context;
        unary "Kv.Batch" kv batch;
        unary "Kv.CompareAndSwap" kv compare_and_swap;
        unary "Kv.Delete" kv delete;
        unary "Kv.DropTenant" kv drop_tenant;
        unary "Kv.Get" kv get;
        unary "Kv.Increment" kv increment;
        unary "Kv.List" kv list;
        unary "Kv.Put" kv put;
        server "Kv.Scan" kv scan;
        unary "Lock.TryAcquire" lock try_acquire;
        unary "Namespace.Get" namespace get;
        unary "Store.Apply" store apply;
        unary "Store.ApproximateSize" store approximate_size;
        unary "Store.Get" store get;
        unary "Store.MultiGet" store multi_get;
        server "Store.Scan" store scan;
        both "Store.Session" store session;
    }
}

/// Whether an answer has all that is wanted; * is anything.
fn same(want: &Value, got: Option<&Value>) -> bool {
    match (want, got) {
        (Value::String(any), Some(_)) if any == "*" => true,
        (Value::Object(want), Some(Value::Object(got))) => want.iter().all(|(k, w)| same(w, got.get(k))),
        (Value::Array(want), Some(Value::Array(got))) => want.len() == got.len() && want.iter().zip(got).all(|(w, g)| same(w, Some(g))),
        (want, got) => Some(want) == got,
    }
}

fn to_bytes(of: MessageDescriptor, json: &Value) -> Vec<u8> {
    DynamicMessage::deserialize(of, json).unwrap().encode_to_vec()
}

fn to_json(of: MessageDescriptor, bytes: &[u8]) -> Value {
    serde_json::to_value(DynamicMessage::decode(of, bytes).unwrap()).unwrap()
}

#[tokio::test]
async fn conformance() {
    let daemon = Daemon::start("mem").await;
    let client = daemon.client();
    let pool = DescriptorPool::from_file_descriptor_set(common::descriptors()).unwrap();
    for case in common::read_json("rpc/clients/conformance.json")["calls"].as_array().unwrap() {
        let name = case["call"].as_str().unwrap();
        let (service, method) = name.split_once('.').unwrap();
        let service = pool.get_service_by_name(&format!("stoa.v1.{service}")).unwrap();
        let method = service.methods().find(|m| m.name() == method).unwrap();
        let one = json!([case.get("request").unwrap_or(&json!({}))]);
        let requests = case.get("requests").unwrap_or(&one).as_array().unwrap();
        let requests: Vec<_> = requests.iter().map(|r| to_bytes(method.input(), r)).collect();
        let answered = call(&client, name, &requests).await;
        if let Some(want) = case.get("error") {
            let e = answered.expect_err(&case["name"].to_string());
            let got = json!({ "code": e.code() as i32, "kind": e.kind(), "fields": e.fields() });
            assert!(same(want, Some(&got)), "{}: {got}", case["name"]);
            continue;
        }
        let told: Vec<_> = answered.unwrap_or_else(|e| panic!("{}: {e}", case["name"])).iter().map(|a| to_json(method.output(), a)).collect();
        let one = json!([case.get("answer")]);
        let got = json!(told);
        assert!(same(case.get("answers").unwrap_or(&one), Some(&got)), "{}: {got}", case["name"]);
        for field in case.get("absent").and_then(Value::as_array).into_iter().flatten() {
            assert!(told[0].get(field.as_str().unwrap()).is_none(), "{}: {field}", case["name"]);
        }
    }
}
