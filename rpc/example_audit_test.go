package rpc_test

import (
	"context"
	"fmt"
	"log"
)

// What was done is in a chain: each event has the hash of the one before, so that who has kept the
// newest hash elsewhere notices whatever was changed, left out or put between since.
func Example_auditLog() {
	ctx, c := context.Background(), dial()
	if _, err := c.Records("acme").Create(ctx, "intent", map[string]any{
		"intent_id": "int-20251130-mail01", "actor": "user:ann", "goal": "answer the post",
	}); err != nil {
		log.Fatal(err)
	}
	ledger := c.Policy("acme")
	for _, action := range []string{"read", "send"} {
		made, err := ledger.Append(ctx, map[string]any{
			"intent_id": "int-20251130-mail01", "agent_id": "agent:mailer", "tool": "mail", "action": action,
			"policy_decision": map[string]any{"result": "allowed"}, "inputs": map[string]any{"to": "bob"}, "outputs": map[string]any{},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(action, "is event", made.Revision)
	}
	head, err := ledger.Head(ctx) // its Hash is what to keep elsewhere
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(head.Events, "events in the chain")
	for finding, err := range ledger.Verify(ctx) {
		fmt.Println(finding, err) // nothing: it is whole
	}
	// Output:
	// read is event 1
	// send is event 2
	// 2 events in the chain
}
