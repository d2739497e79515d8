//! What was done is in a chain: each event has the hash of the one before, so that who has kept the
//! newest hash elsewhere notices whatever was changed, left out or put between since.
//!
//!     cargo run --example audit -- SOCKET

use serde_json::json;
use stoadb::{Client, messages as m};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let socket = std::env::args().nth(1).unwrap_or_else(|| "stoa-data/stoa.sock".into());
    let client = Client::new(socket);
    let tenant = b"audited".to_vec();
    let create = async |collection: &str, document: serde_json::Value| {
        let document = document.to_string().into_bytes();
        client.record().create(m::RecordCreateRequest { tenant: tenant.clone(), collection: collection.into(), document, ..Default::default() }).await
    };

    create("intent", json!({ "intent_id": "int-20251130-mail01", "actor": "user:ann", "goal": "answer the post" })).await?;
    for action in ["read", "send"] {
        create(
            "ledger",
            json!({
                "intent_id": "int-20251130-mail01", "agent_id": "agent:mailer", "tool": "mail", "action": action,
                "policy_decision": { "result": "allowed" }, "inputs": { "to": "bob" }, "outputs": {},
            }),
        )
        .await?;
    }

    let head = client.policy().head(m::PolicyHeadRequest { tenant: tenant.clone() }).await?;
    println!("{} events; to be kept elsewhere: {} {}", head.events, head.last, head.hash);
    let mut findings = client.policy().verify(m::PolicyVerifyRequest { tenant }).await?;
    while let Some(found) = findings.message().await? {
        for f in found.findings {
            return Err(format!("{}: {}", f.event, f.problem).into());
        }
    }
    println!("the chain is whole");
    Ok(())
}
