package bucket_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

const entrySchema = `{"type":"object","required":["who"],"properties":{"who":{"type":"string"}}}`

// declared is a contract of a service, whose aliases are given as JSON without their schema and
// purpose, all of a schema.
func declared(service, schema string, aliases map[string]string) []byte {
	kvs := map[string]json.RawMessage{}
	for alias, rest := range aliases {
		kvs[alias] = json.RawMessage(`{"purpose":"p","schema":{"schema":"E"}` + rest + `}`)
	}
	text, _ := json.Marshal(map[string]any{"service": service, "schemas": map[string]json.RawMessage{"E": json.RawMessage(schema)}, "resources": map[string]any{"kv": kvs}})
	return text
}

// propose proposes a contract, and returns its plan.
func (h *host) propose(text []byte) *Proposal {
	h.t.Helper()
	a, err := h.Propose(ctx, "t", text)
	require.NoError(h.t, err)
	p, err := h.Plan(ctx, "t", a.Service)
	require.NoError(h.t, err)
	return p
}

// agree accepts a contract, whatever its plan, and reconciles.
func (h *host) agree(text []byte) Reconciled {
	h.t.Helper()
	p := h.propose(text)
	_, err := h.Accept(ctx, "t", p.Service, p.Digest, p.Class == contract.ClassMigration)
	require.NoError(h.t, err)
	r, err := h.Reconcile(ctx, "t", p.Service)
	require.NoError(h.t, err)
	return r
}

func (h *host) names() (list []string) {
	h.t.Helper()
	all, err := h.List(ctx, "t")
	require.NoError(h.t, err)
	for _, i := range all {
		list = append(list, i.Name)
	}
	return list
}

func TestT1T9T11WhatIsAcceptedIsMadeByReconciliation(t *testing.T) {
	h := open(t)
	p := h.propose(declared("activity", entrySchema, map[string]string{"activity": `,"history":3,"ttlMs":60000,"maxValueBytes":100`}))
	require.Len(t, p.Changes, 1)
	require.Equal(t, contract.ClassUpdate, p.Class)
	_, err := h.Reconcile(ctx, "t", "activity")
	h.refused(err, CodeNotFound)
	_, err = h.Accept(ctx, "t", "activity", "another digest", false)
	h.refused(err, CodeInvalidArgument)
	a, err := h.Accept(ctx, "t", "activity", p.Digest, false)
	require.NoError(t, err)
	require.EqualValues(t, 1, a.Version)
	require.False(t, a.Bound())
	require.Empty(t, h.names())
	_, err = h.Bound("t", "activity", "activity")
	h.refused(err, CodeNotFound)
	r, err := h.Reconcile(ctx, "t", "activity")
	require.NoError(t, err)
	require.True(t, r.Bound())
	require.Equal(t, []Binding{{"activity", "svc_activity_activity", true, 3, 60000, 100}}, r.Bindings)
	b, err := h.Bound("t", "activity", "activity")
	require.NoError(t, err)
	require.Equal(t, 3, b.Config.History)
	require.Equal(t, time.Minute, b.TTL)
	require.EqualValues(t, 100, b.MaxValue)
	h.put(b, "a", `{"who":"ann"}`)
	_, err = b.Put(ctx, "a", []byte(`{}`), PutOptions{})
	h.refused(err, CodeValidation)
}

func TestT12ReconciledAgainNothingChanges(t *testing.T) {
	h := open(t)
	h.agree(declared("s", entrySchema, map[string]string{"a": "", "b": ""}))
	before, err := h.List(ctx, "t")
	require.NoError(t, err)
	h.clock.Pass(time.Hour)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r, err := h.Reconcile(ctx, "t", "s")
			require.NoError(t, err)
			require.Empty(t, r.Created)
			require.Empty(t, r.Altered)
		})
	}
	all.Wait()
	after, err := h.List(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestT13T14T15AdoptionAndWhatIsInTheWay(t *testing.T) {
	h := open(t)
	mine := h.bucket(Config{Name: "svc_s_a"})
	h.put(mine, "k", `{"who":"x"}`)
	r := h.agree(declared("s", entrySchema, map[string]string{"a": "", "b": ""}))
	require.Equal(t, []string{"a"}, r.Adopted)
	require.Equal(t, []string{"b"}, r.Created)
	b, err := h.Bound("t", "s", "a")
	require.NoError(t, err)
	require.Equal(t, []string{"1 put " + `{"who":"x"}`}, h.history(b, "k"))

	h.bucket(Config{Name: "svc_s_d", History: 5})
	h.bucket(Config{Name: "svc_s_e", Service: "other", Alias: "x"})
	for _, alias := range []string{"d", "e"} { // another shape, another service's
		p := h.propose(declared("s", entrySchema, map[string]string{"a": "", "b": "", "c": "", alias: ""}))
		_, err = h.Accept(ctx, "t", "s", p.Digest, false)
		require.NoError(t, err)
		before := h.names()
		_, err = h.Reconcile(ctx, "t", "s")
		require.Equal(t, "svc_s_"+alias, h.refused(err, CodeBlocked).Bucket)
		require.Equal(t, before, h.names(), "nothing was made")
		_, err = h.Bound("t", "s", "a")
		h.refused(err, CodeNotFound)
		p = h.propose(declared("s", entrySchema, map[string]string{"a": "", "b": ""}))
		_, err = h.Accept(ctx, "t", "s", p.Digest, true)
		require.NoError(t, err)
		_, err = h.Reconcile(ctx, "t", "s")
		require.NoError(t, err)
	}
	r = h.agree(declared("s", entrySchema, map[string]string{"c": ""}))
	require.ElementsMatch(t, []string{"a", "b"}, r.Removed)
	require.Equal(t, []string{"svc_s_a", "svc_s_c", "svc_s_d", "svc_s_e"}, h.names(), "what was adopted stays")
	require.Empty(t, h.open("svc_s_a").Service)
}

func TestT16OptionalBucketsAreMadeToo(t *testing.T) {
	h := open(t)
	r := h.agree(declared("s", entrySchema, map[string]string{"a": `,"required":false`}))
	require.Equal(t, []Binding{{Alias: "a", Bucket: "svc_s_a", History: 1}}, r.Bindings)
}

func TestT17RevokedEachBucketIsGoneOnce(t *testing.T) {
	h := open(t)
	h.bucket(Config{Name: "svc_s_a"})
	h.agree(declared("s", entrySchema, map[string]string{"a": "", "b": "", "c": ""}))
	h.agree(declared("other", entrySchema, map[string]string{"a": ""}))
	gone, err := h.Revoke(ctx, "t", "s")
	require.NoError(t, err)
	require.Equal(t, []string{"svc_s_b", "svc_s_c"}, gone)
	require.Equal(t, []string{"svc_other_a", "svc_s_a"}, h.names())
	_, err = h.Authority("t", "s")
	h.refused(err, CodeNotFound)
	_, err = h.Revoke(ctx, "t", "s")
	h.refused(err, CodeNotFound)
	_, err = h.Revoke(ctx, "nobody", "s")
	h.refused(err, CodeNotFound)
}

func TestT18T19PairsOfOneNameHaveBucketsOfTheirOwn(t *testing.T) {
	h := open(t)
	h.agree(declared("a_b", entrySchema, map[string]string{"c": ""}))
	h.agree(declared("a", entrySchema, map[string]string{"b_c": ""}))
	h.agree(declared("billing", entrySchema, map[string]string{"job_cache": ""}))
	require.Equal(t, []string{"svc_a_b_c", "svc_a_b_c_2", "svc_billing_job_cache"}, h.names())
	one, err := h.Bound("t", "a_b", "c")
	require.NoError(t, err)
	two, err := h.Bound("t", "a", "b_c")
	require.NoError(t, err)
	require.NotEqual(t, one.Name, two.Name)
	_, err = h.OpenFor("t", "a", one.Name)
	h.refused(err, CodeForbidden)
	h.agree(declared("a", entrySchema, map[string]string{"b_c": `,"history":2`}))
	require.Equal(t, two.Name, func() string { b, _ := h.Bound("t", "a", "b_c"); return b.Name }())
}

func TestT20ACompatibleUpdateKeepsWhatThereIs(t *testing.T) {
	h := open(t)
	h.agree(declared("s", entrySchema, map[string]string{"a": ""}))
	b, _ := h.Bound("t", "s", "a")
	for n := range 100 {
		h.put(b, fmt.Sprint("k", n), `{"who":"x"}`)
	}
	r := h.agree(declared("s", entrySchema, map[string]string{"a": `,"history":5`}))
	require.Equal(t, []string{"a"}, r.Altered)
	require.EqualValues(t, 2, r.Version)
	b, _ = h.Bound("t", "s", "a")
	require.Equal(t, 5, b.Config.History)
	require.Equal(t, []string{`42 put {"who":"x"}`}, h.history(b, "k41"))
	h.put(b, "k41", `{"who":"y"}`)
	require.Equal(t, []string{`42 put {"who":"x"}`, `101 put {"who":"y"}`}, h.history(b, "k41"))
}

func TestT30AMigrationIsAcknowledged(t *testing.T) {
	h := open(t)
	h.agree(declared("s", entrySchema, map[string]string{"a": `,"history":5`}))
	p := h.propose(declared("s", entrySchema, map[string]string{"a": `,"history":1`}))
	require.Equal(t, contract.ClassMigration, p.Class)
	_, err := h.Accept(ctx, "t", "s", p.Digest, false)
	h.refused(err, CodeConflict)
	a, err := h.Reject(ctx, "t", "s", p.Digest)
	require.NoError(t, err)
	require.Equal(t, 5, a.Desired.Alias("a").History)
	require.True(t, a.Bound())
	_, err = h.Reject(ctx, "t", "s", p.Digest)
	h.refused(err, CodeNotFound)
	p = h.propose(declared("s", entrySchema, map[string]string{"a": `,"history":6`}))
	_, err = h.Accept(ctx, "t", "s", p.Digest, true)
	h.refused(err, CodeConflict)
	_, err = h.Accept(ctx, "t", "s", p.Digest, false)
	require.NoError(t, err)
	_, err = h.Plan(ctx, "t", "s")
	h.refused(err, CodeNotFound)
}

func TestT31ThePlanCountsWhatANewSchemaWouldRefuse(t *testing.T) {
	h := open(t)
	h.agree(declared("s", entrySchema, map[string]string{"a": "", "b": ""}))
	b, _ := h.Bound("t", "s", "a")
	for n := range 10 {
		h.put(b, fmt.Sprint("k", n), fmt.Sprintf(`{"who":%q}`, "12345"[:1+n%5]))
	}
	h.put(b, "gone", `{"who":"123456789"}`)
	_, err := b.Delete(ctx, "gone", DeleteOptions{})
	require.NoError(t, err)
	p := h.propose(declared("s", `{"type":"object","required":["who"],"properties":{"who":{"type":"string","maxLength":3}}}`, map[string]string{"a": "", "b": ""}))
	require.Equal(t, contract.ClassMigration, p.Class)
	require.Len(t, p.Refused, 2)
	require.Equal(t, Refused{Alias: "a", Bucket: "svc_s_a", Values: 10, Count: 4, Key: "k3", Reason: p.Refused[0].Reason}, p.Refused[0])
	require.Contains(t, p.Refused[0].Reason, "/who")
	require.NotContains(t, p.Refused[0].Reason, "1234")
	require.Zero(t, p.Refused[1].Count)
}

func TestT65ABindingLeadsToTheServicesBucketAlone(t *testing.T) {
	h := open(t)
	h.agree(declared("s", entrySchema, map[string]string{"a": ""}))
	_, err := h.Bound("t", "s", "b")
	h.refused(err, CodeNotFound)
	_, err = h.Bound("t", "other", "a")
	h.refused(err, CodeNotFound)
	_, err = h.OpenFor("t", "other", "svc_s_a")
	h.refused(err, CodeForbidden)
	h.stop()
	h.start()
	_, err = h.Bound("t", "s", "a")
	require.NoError(t, err)
	list, err := h.Authorities(ctx, "t")
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestWhatIsNoContractIsRefused(t *testing.T) {
	h := open(t)
	_, err := h.Propose(ctx, "t", []byte(`{"service":"s","resources":{"kv":{"a":{}}}}`))
	require.ErrorIs(t, err, contract.ErrContract)
	_, err = h.Propose(ctx, "", declared("s", entrySchema, nil))
	h.refused(err, CodeInvalidArgument)
	_, err = h.Authority("t", "s")
	h.refused(err, CodeNotFound)
}
