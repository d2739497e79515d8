//go:build cgo

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// policyWorkloads measure the services Record and Policy, each beside what of Kv or Store
// is next to it, on the same connection of the same daemon.
var policyWorkloads = []kvWorkload{
	{"record-create", "64 callers: delegations, which have four indexes, on disk when answered, beside puts to Kv", "record", (*kvRun).recordCreates},
	{"record-list", "100 of as many claims as there are rows, by an index, beside scans of 100 rows of as many", "page", (*kvRun).recordLists},
	{"policy-decide", "decisions by 200 policies of three rules and 1,000 delegations, beside gets from Kv", "decision", decisions(1)},
	{"policy-decide-16", "the same, 16 callers on one connection", "decision", decisions(16)},
	{"ledger-append", "64 callers: events, on disk when answered, beside puts to Kv", "event", (*kvRun).ledgerAppends},
}

// policyClients is how many callers there are of what is on disk when it is answered.
const policyClients = 64

// syncedPuts are puts to Kv, on disk when answered.
func (r *kvRun) syncedPuts(c *rpc.Client) *crew {
	return r.crew("kv", policyClients, func(random *rand.Rand) func() error {
		k, value := c.KV(kvTenant), make([]byte, 0, ValueBytes)
		return func() error {
			row := r.data.any(random)
			_, err := k.PutJSON(context.Background(), r.keys[row], json.RawMessage(kvValue(value, r.data, row)))
			return err
		}
	})
}

func (r *kvRun) recordCreates(result Result) (Result, error) {
	return r.compare(result, "at least 0.4", func(c *rpc.Client) (*crew, *crew) {
		return r.syncedPuts(c), r.crew("record", policyClients, func(random *rand.Rand) func() error {
			records := c.Records("creates")
			return func() error {
				doc := delegation(fmt.Sprintf("agent:a%d", random.IntN(1000)), fmt.Sprintf("mail.a%d", random.IntN(1000)))
				_, err := records.Create(context.Background(), "delegation", json.RawMessage(doc))
				return err
			}
		})
	})
}

func delegation(delegate, scope string) string {
	return fmt.Sprintf(`{"delegator":"user:ann","delegate":%q,"scope":[%q]}`, delegate, scope)
}

func (r *kvRun) recordLists(result Result) (Result, error) {
	const about = 100 // claims about each object
	rows := &Dataset{Rows: r.options.Rows}
	objects := rows.Rows / about
	claims := func(c *rpc.Client) error {
		ctx := context.Background()
		if err := rows.load(c.Store(ctx)); err != nil {
			return err
		}
		lines, w := io.Pipe()
		defer lines.Close()
		go func() {
			defer w.Close()
			out := bufio.NewWriter(w)
			defer out.Flush()
			for n := range objects * about {
				fmt.Fprintf(out, `{"claim_id":"clm-20260101-%06d","subject":"user:ann","claim_type":"ownership","object":"org:o%d","assertion":"user:ann owns it","issued_by":"user:bob","issued_at":"2026-01-01T00:00:00Z","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","revoked":false}`+"\n", n, n%objects)
			}
		}()
		r.options.Logger.Info("filling claims", "records", objects*about)
		if _, err := c.Records("lists").Import(ctx, "claim", lines); err != nil {
			return err
		}
		for _, col := range []column.Column{column.State, column.Generic} { // else that goes on beside what is measured
			if err := c.Compact(ctx, col, engine.Range{}); err != nil {
				return err
			}
		}
		return c.Flush(ctx)
	}
	list := func(c *rpc.Client, object int) error {
		q := rpc.RecordQuery{Limit: about, Filters: []rpc.RecordFilter{record.Equal("by_object", fmt.Sprintf("org:o%d", object))}}
		page, err := c.Records("lists").List(context.Background(), "claim", q)
		return expect(len(page.Docs) == about, err)
	}
	warm := func(c *rpc.Client) error { // compaction has left the caches empty
		for n := range objects {
			if err := list(c, n); err != nil {
				return err
			}
		}
		return nil
	}
	if err := errors.Join(r.daemon.with(claims), r.daemon.with(warm)); err != nil {
		return result, err
	}
	return r.compare(result, "at least 0.333", func(c *rpc.Client) (*crew, *crew) {
		return r.crew("scan", 1, func(random *rand.Rand) func() error {
				a := &raw{db: c.Store(context.Background()), data: rows}
				return func() error {
					_, err := a.Scan(rows.any(random), about)
					return err
				}
			}), r.crew("list", 1, func(random *rand.Rand) func() error {
				return func() error { return list(c, random.IntN(objects)) }
			})
	})
}

// What the decisions of a tenant are made by.
const (
	decisionPolicies    = 200
	decisionDelegations = 1000
)

// govern makes what the decisions of a tenant are made by.
func govern(c *rpc.Client, tenant string) error {
	ctx, r := context.Background(), c.Records(tenant)
	for n := range decisionPolicies {
		policy := fmt.Sprintf(`{"policy_id":"pol-20260101-p%05d","scope":"mail.a%d","name":"p","created_by":"user:ann","rules":[`+
			`{"rule_id":"r1","condition":"to NOT IN friends","action":"deny","priority":30},`+
			`{"rule_id":"r2","condition":"size > 1000","action":"require_human_approval","priority":20},`+
			`{"rule_id":"r3","condition":"true","action":"allow","priority":10}]}`, n, n)
		if _, err := r.Create(ctx, "policy", json.RawMessage(policy), rpc.RecordDurability(engine.WAL)); err != nil {
			return err
		}
	}
	for n := range decisionDelegations {
		doc := delegation(fmt.Sprintf("agent:a%d", n), fmt.Sprintf("mail.a%d", n%decisionPolicies))
		if _, err := r.Create(ctx, "delegation", json.RawMessage(doc), rpc.RecordDurability(engine.WAL)); err != nil {
			return err
		}
	}
	return nil
}

// decisions compares decisions with gets.
func decisions(callers int) func(*kvRun, Result) (Result, error) {
	return func(r *kvRun, result Result) (Result, error) {
		tenant := fmt.Sprintf("decisions-%d", callers)
		if err := r.daemon.with(func(c *rpc.Client) error { return govern(c, tenant) }); err != nil {
			return result, err
		}
		result, err := r.compare(result, "", func(c *rpc.Client) (*crew, *crew) {
			return r.crew("kv", callers, func(random *rand.Rand) func() error {
					k := c.KV(kvTenant)
					return func() error {
						i, err := k.Get(context.Background(), r.keys[r.data.any(random)])
						return expect(len(i.Value) == ValueBytes, err)
					}
				}), r.crew("policy", callers, func(random *rand.Rand) func() error {
					p, letter := c.Policy(tenant), json.RawMessage(`{"to":"bob","friends":["ann","bob"],"size":10}`)
					return func() error {
						n := random.IntN(decisionDelegations)
						d, err := p.Decide(context.Background(), rpc.Question{Agent: fmt.Sprintf("agent:a%d", n), Action: fmt.Sprintf("mail.a%d", n%decisionPolicies), Context: letter})
						return expect(d.Allowed, err)
					}
				})
		})
		if get, decide := result.measure("kv"), result.measure("policy"); err == nil && get.P50 > 0 {
			if callers == 1 {
				result.figure("p50 of policy / of kv", decide.P50/get.P50, "", "at most 1.3")
			}
			result.figure("p99 of policy", decide.P99/1e6, "ms", "below 1")
		}
		return result, err
	}
}

func (r *kvRun) ledgerAppends(result Result) (Result, error) {
	const tenant = "ledger"
	intent := func(c *rpc.Client) error {
		_, err := c.Records(tenant).Create(context.Background(), "intent", json.RawMessage(`{"intent_id":"int-20260101-bench1","actor":"user:ann","goal":"to be measured"}`))
		return err
	}
	if err := r.daemon.with(intent); err != nil {
		return result, err
	}
	return r.compare(result, "at least 0.6", func(c *rpc.Client) (*crew, *crew) {
		return r.syncedPuts(c), r.crew("ledger", policyClients, func(random *rand.Rand) func() error {
			p := c.Policy(tenant)
			return func() error {
				event := fmt.Sprintf(`{"intent_id":"int-20260101-bench1","agent_id":"mailer","tool":"mail","action":"send","policy_decision":{"result":"allowed"},"metadata":{"size":%d}}`, random.IntN(1000))
				_, err := p.Append(context.Background(), json.RawMessage(event))
				return err
			}
		})
	})
}
