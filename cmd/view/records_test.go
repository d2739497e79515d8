package view

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// addRecords adds a tenant with an agent that may send mail, unless it is too much at once.
func (s *sample) addRecords(t *testing.T) {
	store, err := kv.Open(s.store, kv.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	rules, err := policy.New(store, policy.Options{})
	require.NoError(t, err)
	for _, r := range []struct{ collection, doc string }{
		{policy.Agents, `{"agent_id":"cece.governor.v1","name":"Cece <i>Governor</i>","description":"answers mail","class":"lucidia",
			"capabilities":["email"],"policies_required":[],"owner":"user:ann","status":"active"}`},
		{policy.Delegations, `{"delegation_id":"del-20251130-abc123","delegator":"user:ann","delegate":"agent:cece.governor.v1","scope":["email.*"],"active":true}`},
		{policy.Policies, `{"policy_id":"pol-20251130-abc123","name":"Mail","scope":"email.send","active":true,"created_by":"user:ann","rules":[
			{"rule_id":"many","condition":"recipients > 10","action":"deny","reason":"too many at once","priority":10}]}`},
	} {
		_, err := rules.Records().Create(t.Context(), "acme", r.collection, json.RawMessage(r.doc), record.WriteOptions{})
		require.NoError(t, err, r.collection)
	}
	_, err = rules.Records().Update(t.Context(), "acme", policy.Policies, "pol-20251130-abc123", json.RawMessage(`{"name":"Mail, sent"}`), record.UpdateOptions{})
	require.NoError(t, err)
}

func TestRecordsOfATenantAPageAtATime(t *testing.T) {
	sample := newSample(t, 1)
	sample.addRecords(t)
	s := sample.served(t)
	all := ask[tenantsDoc](t, s, "tenants")
	require.Equal(t, []string{"acme"}, all.Tenants)
	require.Equal(t, "policy", all.Collections[0].Name)
	require.NotEmpty(t, all.Collections[0].About)

	page := ask[recordsDoc](t, s, "records", "tenant", "acme", "collection", "agent", "limit", "1")
	require.Len(t, page.Records, 1)
	require.Equal(t, "cece.governor.v1", page.Records[0].ID)
	require.Empty(t, page.Next)
	require.Empty(t, ask[recordsDoc](t, s, "records", "tenant", "acme", "collection", "claim").Records)
	require.Empty(t, ask[recordsDoc](t, s, "records", "tenant", "nobody", "collection", "agent").Records)

	one := ask[historyDoc](t, s, "record", "tenant", "acme", "collection", "policy", "id", "pol-20251130-abc123")
	require.Contains(t, string(one.Document), `"name":"Mail, sent"`)
	require.Len(t, one.History, 2)
	require.Contains(t, string(one.History[0].Document), `"name":"Mail"`)

	for path, status := range map[string]int{
		"record?tenant=acme&collection=policy&id=pol-20251130-nobody": http.StatusNotFound,
		"records?tenant=acme&collection=nothing":                      http.StatusBadRequest,
		"records?tenant=acme&collection=agent&cursor=x":               http.StatusBadRequest,
		"decision?tenant=acme&agent=a&action=b&context=%7B":           http.StatusBadRequest,
		"decision?agent=a&action=b":                                   http.StatusBadRequest,
	} {
		got, body := get(s, "api/"+path)
		require.Equal(t, status, got, "%s: %s", path, body)
	}
}

func TestRecordsComePageByPageBothWays(t *testing.T) {
	sample := newSample(t, 1)
	sample.addRecords(t)
	store, err := kv.Open(sample.store, kv.Options{})
	require.NoError(t, err)
	rules, err := policy.New(store, policy.Options{})
	require.NoError(t, err)
	for _, id := range []string{"b", "a", "c"} {
		_, err := rules.Records().Create(t.Context(), "acme", policy.Intents, json.RawMessage(`{"intent_id":"int-20251130-aaa`+id+`","actor":"user:ann","goal":"g"}`), record.WriteOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, store.Close())
	s := sample.served(t)
	for reverse, want := range map[string]string{"": "b a c", "1": "c a b"} {
		var got []string
		for cursor := ""; ; {
			page := ask[recordsDoc](t, s, "records", "tenant", "acme", "collection", "intent", "limit", "2", "reverse", reverse, "cursor", cursor)
			for _, r := range page.Records {
				got = append(got, r.ID[len(r.ID)-1:])
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		require.Equal(t, want, strings.Join(got, " "))
	}
}

func TestADecisionIsExplainedAsATree(t *testing.T) {
	sample := newSample(t, 1)
	sample.addRecords(t)
	s := sample.served(t)
	for context, want := range map[string]struct {
		result, decided string
	}{
		`{"recipients": 3}`:  {"allowed", "default"},
		`{"recipients": 30}`: {"denied", "policies"},
	} {
		e := ask[struct {
			Decision struct{ Result, Reason string }
			Steps    []policy.Node
		}](t, s, "decision", "tenant", "acme", "agent", "cece.governor.v1", "action", "email.send", "context", context)
		require.Equal(t, want.result, e.Decision.Result)
		require.Len(t, e.Steps, 5)
		for _, step := range e.Steps {
			require.Equal(t, step.Kind == want.decided, step.Decides, step.Kind)
		}
	}
}

// A row of a record that does not parse is left out and told of, the others are shown.
func TestADamagedRecordIsLeftOut(t *testing.T) {
	sample := newSample(t, 1)
	sample.addRecords(t)
	damaged := false
	it, err := sample.store.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	var b engine.Batch
	for it.Next() {
		if row, err := kv.ParseRow(it.Key()); err == nil && row.Shape == kv.ShapeRecord && string(row.Key) == "cece.governor.v1" {
			b.Put(column.Generic, it.Key(), []byte{9})
			damaged = true
		}
	}
	require.NoError(t, it.Close())
	require.True(t, damaged)
	require.NoError(t, sample.store.Apply(&b))
	s := sample.served(t)
	page := ask[recordsDoc](t, s, "records", "tenant", "acme", "collection", "agent")
	require.Empty(t, page.Records)
	require.Equal(t, 1, page.Left)
	status, _ := get(s, "api/record?"+url.Values{"tenant": {"acme"}, "collection": {"agent"}, "id": {"cece.governor.v1"}}.Encode())
	require.Equal(t, http.StatusNotFound, status)
}
