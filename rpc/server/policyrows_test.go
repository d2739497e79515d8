package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/policy/policytest"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// The rows of policies hold over the socket as they do in process.
func TestPolicyRows(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		inFullOnce(t, f)
		policytest.Run(t, func(t testing.TB, db engine.Engine, s *policy.Store) (policytest.Records, policytest.Policies, func()) {
			d := start(t, keptOpen{db}, Options{Records: s.Records(), Policies: s})
			c := d.dialAs(t, f)
			return remoteRecords{c}, remotePolicies{c}, d.stop
		})
	})
}

// keptOpen is an engine that outlives a daemon.
type keptOpen struct{ engine.Engine }

// Close leaves the engine open.
func (keptOpen) Close() error { return nil }

// notOverTheSocket are the rows that are tested in process only, and why.
var notOverTheSocket = map[string]string{
	"B87": "random worlds are held to a reference that decides; what hands records to decisions is B88",
}

// Each row that kv/policy lists has a test that runs over the socket.
func TestEveryRowOfPoliciesIsTestedOverTheSocket(t *testing.T) {
	readme, err := os.ReadFile("../../kv/policy/README.md")
	require.NoError(t, err)
	var tested []string
	for _, name := range policytest.Rows() {
		tested = append(tested, regexp.MustCompile(`B\d+`).FindAllString(regexp.MustCompile(`^(B\d+)+`).FindString(name), -1)...)
	}
	rows := regexp.MustCompile(`(?m)^\| (B\d+) \|`).FindAllStringSubmatch(string(readme), -1)
	require.Len(t, rows, 93)
	for _, row := range rows {
		if notOverTheSocket[row[1]] == "" {
			require.Contains(t, tested, row[1])
		} else {
			require.NotContains(t, tested, row[1])
		}
	}
}

// remoteRecords are the verbs of a client as those of a store.
type remoteRecords struct{ c *rpc.Client }

func written(o record.WriteOptions) rpc.RecordOption { return rpc.RecordDurability(o.Durability) }

func with(o record.UpdateOptions) []rpc.RecordOption {
	return []rpc.RecordOption{rpc.RecordDurability(o.Durability), rpc.AtRevision(o.Revision)}
}

func (r remoteRecords) Create(ctx context.Context, tenant, collection string, doc []byte, o record.WriteOptions) (record.Doc, error) {
	return r.c.Records(tenant).Create(ctx, collection, json.RawMessage(doc), written(o))
}

func (r remoteRecords) Get(ctx context.Context, tenant, collection, id string) (record.Doc, error) {
	return r.c.Records(tenant).Get(ctx, collection, id)
}

func (r remoteRecords) Update(ctx context.Context, tenant, collection, id string, patch []byte, o record.UpdateOptions) (record.Doc, error) {
	return r.c.Records(tenant).Update(ctx, collection, id, json.RawMessage(patch), with(o)...)
}

func (r remoteRecords) Transition(ctx context.Context, tenant, collection, id, to string, patch []byte, o record.UpdateOptions) (record.Doc, error) {
	return r.c.Records(tenant).Transition(ctx, collection, id, to, json.RawMessage(patch), with(o)...)
}

func (r remoteRecords) Delete(ctx context.Context, tenant, collection, id string, o record.UpdateOptions) (record.Doc, error) {
	return r.c.Records(tenant).Delete(ctx, collection, id, with(o)...)
}

func (r remoteRecords) List(ctx context.Context, tenant, collection string, q record.Query) (record.Page, error) {
	return r.c.Records(tenant).List(ctx, collection, q)
}

func (r remoteRecords) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	return r.c.Records(tenant).Lookup(ctx, key)
}

func (r remoteRecords) History(ctx context.Context, tenant, collection, id string) ([]record.Doc, error) {
	return collected(r.c.Records(tenant).History(ctx, collection, id))
}

func (r remoteRecords) PutAside(ctx context.Context, tenant, collection string) (int, error) {
	return r.c.Records(tenant).PutAside(ctx, collection)
}

func (r remoteRecords) Export(ctx context.Context, tenant, collection string, w io.Writer) error {
	for line, err := range r.c.Records(tenant).Export(ctx, collection) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func (r remoteRecords) Import(ctx context.Context, tenant, collection string, lines io.Reader) (int, error) {
	return r.c.Records(tenant).Import(ctx, collection, lines)
}

// collected is what is yielded, up to the first error.
func collected[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for one, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, one)
	}
	return list, nil
}

// remotePolicies are the calls of a client as those of a store.
type remotePolicies struct{ c *rpc.Client }

func asked(q policy.Question) rpc.Question {
	a := rpc.Question{Agent: q.Agent, Action: q.Action}
	if q.Context != nil {
		a.Context = q.Context
	}
	return a
}

func (p remotePolicies) Decide(ctx context.Context, tenant string, q policy.Question) (policy.Decision, error) {
	return p.c.Policy(tenant).Decide(ctx, asked(q))
}

func (p remotePolicies) Use(ctx context.Context, tenant string, q policy.Question, o policy.UseOptions) (policy.Used, error) {
	return p.c.Policy(tenant).Use(ctx, asked(q), o)
}

func (p remotePolicies) Explain(ctx context.Context, tenant string, q policy.Question) (policy.Explanation, error) {
	return p.c.Policy(tenant).Explain(ctx, asked(q))
}

func (p remotePolicies) WhatCan(ctx context.Context, tenant, delegate string) ([]policy.Grant, error) {
	return collected(p.c.Policy(tenant).WhatCan(ctx, delegate))
}

func (p remotePolicies) WhoCan(ctx context.Context, tenant, action string) ([]policy.Grant, error) {
	return collected(p.c.Policy(tenant).WhoCan(ctx, action))
}

func (p remotePolicies) Append(ctx context.Context, tenant string, event []byte, o record.WriteOptions) (record.Doc, error) {
	return p.c.Policy(tenant).Append(ctx, json.RawMessage(event), written(o))
}

func (p remotePolicies) Events(ctx context.Context, tenant string, from, to time.Time) iter.Seq2[record.Doc, error] {
	return p.c.Policy(tenant).Events(ctx, from, to)
}

func (p remotePolicies) Head(ctx context.Context, tenant string) (policy.Head, error) {
	return p.c.Policy(tenant).Head(ctx)
}

func (p remotePolicies) Verify(ctx context.Context, tenant string) iter.Seq2[policy.Finding, error] {
	return p.c.Policy(tenant).Verify(ctx)
}

func (p remotePolicies) Answer(ctx context.Context, tenant, id string, approve bool, by, reason string, o record.WriteOptions) (record.Doc, error) {
	return p.c.Policy(tenant).Answer(ctx, id, approve, by, reason, written(o))
}

func (p remotePolicies) Approval(ctx context.Context, tenant, id string) (record.Doc, error) {
	return p.c.Policy(tenant).Approval(ctx, id)
}

func (p remotePolicies) Bootstrap(ctx context.Context, tenant string, d engine.Durability) ([]record.Doc, error) {
	return p.c.Policy(tenant).Bootstrap(ctx, rpc.RecordDurability(d))
}

func (p remotePolicies) Heartbeat(ctx context.Context, tenant, agent string, d engine.Durability) (record.Doc, error) {
	return p.c.Policy(tenant).Heartbeat(ctx, agent, rpc.RecordDurability(d))
}

func (p remotePolicies) Step(ctx context.Context, tenant, intent string, step int, patch []byte, d engine.Durability) (record.Doc, error) {
	return p.c.Policy(tenant).Step(ctx, intent, step, json.RawMessage(patch), rpc.RecordDurability(d))
}

func (p remotePolicies) Revoke(ctx context.Context, tenant, collection, id, reason string, o record.UpdateOptions) (record.Doc, error) {
	return p.c.Policy(tenant).Revoke(ctx, collection, id, reason, with(o)...)
}

func (p remotePolicies) Settings(ctx context.Context, tenant string) (policy.Settings, error) {
	return p.c.Policy(tenant).Settings(ctx)
}

func (p remotePolicies) SetSettings(ctx context.Context, tenant string, s policy.Settings, o record.WriteOptions) error {
	return p.c.Policy(tenant).SetSettings(ctx, s, written(o))
}

func (p remotePolicies) Rows(ctx context.Context, tenant, collection string) iter.Seq2[[]json.RawMessage, error] {
	return p.c.Policy(tenant).Rows(ctx, collection)
}

func (p remotePolicies) Commands(ctx context.Context, tenant, collection string) iter.Seq2[[]string, error] {
	return p.c.Policy(tenant).Commands(ctx, collection)
}

func (p remotePolicies) Migrate(ctx context.Context, tenant, collection string, from, to int) (int, error) {
	return p.c.Policy(tenant).Migrate(ctx, collection, from, to)
}

func (p remotePolicies) Drop(ctx context.Context, tenant, collection string, version int, d engine.Durability) (int, error) {
	return p.c.Policy(tenant).Drop(ctx, collection, version, rpc.RecordDurability(d))
}

func (p remotePolicies) PoliciesFor(ctx context.Context, tenant, scope string) ([]record.Doc, error) {
	return collected(p.c.Policy(tenant).PoliciesFor(ctx, scope))
}

func (p remotePolicies) ClaimsAbout(ctx context.Context, tenant, object, claimType string, q record.Query) (record.Page, error) {
	docs, err := collected(p.c.Policy(tenant).ClaimsAbout(ctx, object, claimType, q))
	return record.Page{Docs: docs}, err
}

func (p remotePolicies) WorkOf(ctx context.Context, tenant, agent, status string, q record.Query) (record.Page, error) {
	docs, err := collected(p.c.Policy(tenant).WorkOf(ctx, agent, status, q))
	return record.Page{Docs: docs}, err
}

func (p remotePolicies) Day(ctx context.Context, tenant string, day time.Time, q record.Query) (record.Page, error) {
	docs, err := collected(p.c.Policy(tenant).Day(ctx, day, q))
	return record.Page{Docs: docs}, err
}

// B38: nor does the store of rows change an event.
func TestB38RawWritesOfTheLedgerAreRefused(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		intent := made(t, c, policy.Intents, anIntent)
		event := made(t, c, policy.Ledger, anEvent.with(doc{"intent_id": intent.ID}))
		it, err := d.engine.Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		rows := map[string]string{}
		for it.Next() {
			if bytes.Contains(it.Key(), []byte("evt-")) || bytes.Contains(it.Value(), []byte("evt-")) {
				rows[string(it.Key())] = string(it.Value())
			}
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
		require.Greater(t, len(rows), 2, "the event, its change, the head")
		for key, value := range rows {
			var put, remove engine.Batch
			put.Put(column.Generic, []byte(key), []byte(strings.Replace(value, "read", "rEad", 1)))
			require.Error(t, c.Store(t.Context()).Apply(&put), "%q", key)
			remove.Delete(column.Generic, []byte(key))
			require.Error(t, c.Store(t.Context()).Apply(&remove), "%q", key)
			now, err := d.engine.Get(nil, column.Generic, []byte(key))
			require.NoError(t, err)
			require.Equal(t, value, string(now))
		}
		stored, err := c.Records("acme").Get(t.Context(), policy.Ledger, event.ID)
		require.NoError(t, err)
		require.Equal(t, event, stored)
	})
}
