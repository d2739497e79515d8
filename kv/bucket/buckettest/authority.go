package buckettest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

func t1T9T11WhatIsAcceptedIsMadeByReconciliation(t *testing.T, h *Host) {
	p := h.Proposed(Declared("activity", EntrySchema, map[string]string{"activity": `,"history":3,"ttlMs":60000,"maxValueBytes":100`}))
	require.Len(t, p.Changes, 1)
	require.Equal(t, contract.ClassUpdate, p.Class)
	_, err := h.Reconcile(ctx, "activity")
	h.Refused(err, bucket.CodeNotFound)
	_, err = h.Accept(ctx, "activity", "another digest", false)
	h.Refused(err, bucket.CodeInvalidArgument)
	a, err := h.Accept(ctx, "activity", p.Digest, false)
	require.NoError(t, err)
	require.EqualValues(t, 1, a.Version)
	require.False(t, a.Bound())
	require.Empty(t, h.Names())
	b := h.Alias("activity", "activity")
	_, err = b.Status(ctx)
	h.Refused(err, bucket.CodeNotFound)
	r, err := h.Reconcile(ctx, "activity")
	require.NoError(t, err)
	require.True(t, r.Bound())
	require.Equal(t, []bucket.Binding{{Alias: "activity", Bucket: "svc_activity_activity", Required: true, History: 3, TTLMs: 60000, MaxValueBytes: 100}}, r.Bindings)
	is := h.Info(b)
	require.Equal(t, 3, is.History)
	require.Equal(t, time.Minute, is.TTL)
	require.EqualValues(t, 100, is.MaxValue)
	h.Write(b, "a", `{"who":"ann"}`)
	_, err = b.Put(ctx, "a", []byte(`{}`), bucket.PutOptions{})
	h.Refused(err, bucket.CodeValidation)
}

func t12ReconciledAgainNothingChanges(t *testing.T, h *Host) {
	h.Agree(Declared("s", EntrySchema, map[string]string{"a": "", "b": ""}))
	before, err := h.List(ctx)
	require.NoError(t, err)
	h.Clock.Pass(time.Hour)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r, err := h.Reconcile(ctx, "s")
			require.NoError(t, err)
			require.Empty(t, r.Created)
			require.Empty(t, r.Altered)
		})
	}
	all.Wait()
	after, err := h.List(ctx)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func t13T14T15AdoptionAndWhatIsInTheWay(t *testing.T, h *Host) {
	mine := h.Made(bucket.Config{Name: "svc_s_a", Schema: []byte(" " + EntrySchema)})
	h.Write(mine, "k", `{"who":"x"}`)
	r := h.Agree(Declared("s", EntrySchema, map[string]string{"a": "", "b": ""}))
	require.Equal(t, []string{"a"}, r.Adopted)
	require.Equal(t, []string{"b"}, r.Created)
	b := h.Alias("s", "a")
	require.Equal(t, []string{"1 put " + `{"who":"x"}`}, h.Told(b, "k"))

	h.Made(bucket.Config{Name: "svc_s_d", History: 5, Schema: []byte(EntrySchema)})
	h.Made(bucket.Config{Name: "svc_s_e", Service: "other", Alias: "x", Schema: []byte(EntrySchema)})
	h.Made(bucket.Config{Name: "svc_s_f"})
	h.Made(bucket.Config{Name: "svc_s_g", Service: "s", Alias: "g", TTL: time.Hour, Schema: []byte(EntrySchema)})
	for _, alias := range []string{"d", "e", "f", "g"} { // another shape, another service's, no schema, another time to live
		p := h.Proposed(Declared("s", EntrySchema, map[string]string{"a": "", "b": "", "c": "", alias: ""}))
		_, err := h.Accept(ctx, "s", p.Digest, false)
		require.NoError(t, err)
		before := h.Names()
		_, err = h.Reconcile(ctx, "s")
		require.Equal(t, "svc_s_"+alias, h.Refused(err, bucket.CodeBlocked).Bucket)
		require.Equal(t, before, h.Names(), "nothing was made")
		_, err = b.Status(ctx)
		h.Refused(err, bucket.CodeNotFound)
		p = h.Proposed(Declared("s", EntrySchema, map[string]string{"a": "", "b": ""}))
		_, err = h.Accept(ctx, "s", p.Digest, true)
		require.NoError(t, err)
		_, err = h.Reconcile(ctx, "s")
		require.NoError(t, err)
	}
	r = h.Agree(Declared("s", EntrySchema, map[string]string{"c": ""}))
	require.ElementsMatch(t, []string{"a", "b"}, r.Removed)
	require.Equal(t, []string{"svc_s_a", "svc_s_c", "svc_s_d", "svc_s_e", "svc_s_f", "svc_s_g"}, h.Names(), "what was adopted stays")
	require.Empty(t, h.Info(h.Bucket("svc_s_a")).Service)
}

func t16OptionalBucketsAreMadeToo(t *testing.T, h *Host) {
	r := h.Agree(Declared("s", EntrySchema, map[string]string{"a": `,"required":false`}))
	require.Equal(t, []bucket.Binding{{Alias: "a", Bucket: "svc_s_a", History: 1}}, r.Bindings)
}

func t17RevokedEachBucketIsGoneOnce(t *testing.T, h *Host) {
	h.Made(bucket.Config{Name: "svc_s_a", Schema: []byte(EntrySchema)})
	h.Agree(Declared("s", EntrySchema, map[string]string{"a": "", "b": "", "c": ""}))
	h.Agree(Declared("other", EntrySchema, map[string]string{"a": ""}))
	gone, err := h.Revoke(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []string{"svc_s_b", "svc_s_c"}, gone)
	require.Equal(t, []string{"svc_other_a", "svc_s_a"}, h.Names())
	_, err = h.Authority(ctx, "s")
	h.Refused(err, bucket.CodeNotFound)
	_, err = h.Revoke(ctx, "s")
	h.Refused(err, bucket.CodeNotFound)
}

func t18T19PairsOfOneNameHaveBucketsOfTheirOwn(t *testing.T, h *Host) {
	h.Agree(Declared("a_b", EntrySchema, map[string]string{"c": ""}))
	h.Agree(Declared("a", EntrySchema, map[string]string{"b_c": ""}))
	h.Agree(Declared("billing", EntrySchema, map[string]string{"job_cache": ""}))
	require.Equal(t, []string{"svc_a_b_c", "svc_a_b_c_2", "svc_billing_job_cache"}, h.Names())
	one, two := h.Info(h.Alias("a_b", "c")), h.Info(h.Alias("a", "b_c"))
	require.NotEqual(t, one.Name, two.Name)
	_, err := h.Named(bucket.Name{Service: "a", Bucket: one.Name}).Status(ctx)
	h.Refused(err, bucket.CodeForbidden)
	h.Agree(Declared("a", EntrySchema, map[string]string{"b_c": `,"history":2`}))
	require.Equal(t, two.Name, h.Info(h.Alias("a", "b_c")).Name)
}

func t20ACompatibleUpdateKeepsWhatThereIs(t *testing.T, h *Host) {
	h.Agree(Declared("s", EntrySchema, map[string]string{"a": ""}))
	b := h.Alias("s", "a")
	for n := range 100 {
		h.Write(b, fmt.Sprint("k", n), `{"who":"x"}`)
	}
	r := h.Agree(Declared("s", EntrySchema, map[string]string{"a": `,"history":5`}))
	require.Equal(t, []string{"a"}, r.Altered)
	require.EqualValues(t, 2, r.Version)
	require.Equal(t, 5, h.Info(b).History)
	require.Equal(t, []string{`42 put {"who":"x"}`}, h.Told(b, "k41"))
	h.Write(b, "k41", `{"who":"y"}`)
	require.Equal(t, []string{`42 put {"who":"x"}`, `101 put {"who":"y"}`}, h.Told(b, "k41"))
}

func t30AMigrationIsAcknowledged(t *testing.T, h *Host) {
	h.Agree(Declared("s", EntrySchema, map[string]string{"a": `,"history":5`}))
	p := h.Proposed(Declared("s", EntrySchema, map[string]string{"a": `,"history":1`}))
	require.Equal(t, contract.ClassMigration, p.Class)
	_, err := h.Accept(ctx, "s", p.Digest, false)
	h.Refused(err, bucket.CodeConflict)
	a, err := h.Reject(ctx, "s", p.Digest)
	require.NoError(t, err)
	require.Equal(t, 5, a.Desired.Alias("a").History)
	require.True(t, a.Bound())
	_, err = h.Reject(ctx, "s", p.Digest)
	h.Refused(err, bucket.CodeNotFound)
	p = h.Proposed(Declared("s", EntrySchema, map[string]string{"a": `,"history":6`}))
	_, err = h.Accept(ctx, "s", p.Digest, true)
	h.Refused(err, bucket.CodeConflict)
	_, err = h.Accept(ctx, "s", p.Digest, false)
	require.NoError(t, err)
	_, err = h.Plan(ctx, "s")
	h.Refused(err, bucket.CodeNotFound)
}

func t31ThePlanCountsWhatANewSchemaWouldRefuse(t *testing.T, h *Host) {
	h.Agree(Declared("s", EntrySchema, map[string]string{"a": "", "b": ""}))
	b := h.Alias("s", "a")
	for n := range 10 {
		h.Write(b, fmt.Sprint("k", n), fmt.Sprintf(`{"who":%q}`, "12345"[:1+n%5]))
	}
	h.Write(b, "gone", `{"who":"123456789"}`)
	_, err := b.Delete(ctx, "gone", bucket.DeleteOptions{})
	require.NoError(t, err)
	p := h.Proposed(Declared("s", `{"type":"object","required":["who"],"properties":{"who":{"type":"string","maxLength":3}}}`, map[string]string{"a": "", "b": ""}))
	require.Equal(t, contract.ClassMigration, p.Class)
	require.Len(t, p.Refused, 2)
	require.Equal(t, bucket.Refused{Alias: "a", Bucket: "svc_s_a", Values: 10, Count: 4, Key: "k3", Reason: p.Refused[0].Reason}, p.Refused[0])
	require.Contains(t, p.Refused[0].Reason, "/who")
	require.NotContains(t, p.Refused[0].Reason, "1234")
	require.Zero(t, p.Refused[1].Count)
}

func t65ABindingLeadsToTheServicesBucketAlone(t *testing.T, h *Host) {
	h.Agree(Declared("s", EntrySchema, map[string]string{"a": ""}))
	_, err := h.Alias("s", "b").Status(ctx)
	h.Refused(err, bucket.CodeNotFound)
	_, err = h.Alias("other", "a").Status(ctx)
	h.Refused(err, bucket.CodeNotFound)
	_, err = h.Named(bucket.Name{Service: "other", Bucket: "svc_s_a"}).Status(ctx)
	h.Refused(err, bucket.CodeForbidden)
	h.Restart()
	_, err = h.Alias("s", "a").Status(ctx)
	require.NoError(t, err)
	list, err := h.Authorities(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
}
