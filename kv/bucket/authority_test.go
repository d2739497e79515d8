package bucket_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

func TestWhatIsNoContractIsRefused(t *testing.T) {
	h := open(t)
	_, err := h.Propose(ctx, []byte(`{"service":"s","resources":{"kv":{"a":{}}}}`))
	require.ErrorIs(t, err, contract.ErrContract)
	_, err = h.Store.Propose(ctx, "", buckettest.Declared("s", buckettest.EntrySchema, nil))
	h.Refused(err, CodeInvalidArgument)
	_, err = h.Store.Revoke(ctx, "nobody", "s")
	h.Refused(err, CodeNotFound)
	_, err = h.Authority(ctx, "s")
	h.Refused(err, CodeNotFound)
}

func declared(aliases map[string]string) []byte {
	return buckettest.Declared("s", buckettest.EntrySchema, aliases)
}

// What has the name of a service's bucket comes and goes, and the service keeps the one that it has.
func TestAServiceKeepsTheBucketThatItHas(t *testing.T) {
	h := open(t)
	h.Agree(buckettest.Declared("s_a", buckettest.EntrySchema, map[string]string{"b": ""}))
	h.Agree(declared(map[string]string{"a_b": ""}))
	b := h.Alias("s", "a_b")
	h.Write(b, "k", `{"who":"x"}`)
	require.Equal(t, "svc_s_a_b_2", h.Info(b).Name)
	_, err := h.Revoke(ctx, "s_a")
	require.NoError(t, err)
	for range 2 {
		r, err := h.Reconcile(ctx, "s")
		require.NoError(t, err)
		require.Empty(t, r.Created)
		require.Equal(t, []string{"1 put " + `{"who":"x"}`}, h.Told(b, "k"))
	}
	r := h.Agree(declared(map[string]string{"a_b": `,"history":2`}))
	require.Equal(t, []string{"a_b"}, r.Altered)
	require.Equal(t, []string{"svc_s_a_b_2"}, h.Names())
	require.NoError(t, h.Drop(ctx, "svc_s_a_b_2"))
	r, err = h.Reconcile(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []string{"a_b"}, r.Created)
	require.Equal(t, []string{"svc_s_a_b"}, h.Names())
}

// What was altered by hand to keep more is not taken away by a plan that is no migration.
func TestWhatWasAlteredByHandIsNotLostUnseen(t *testing.T) {
	h := open(t)
	h.Agree(declared(map[string]string{"a": `,"history":3,"ttlMs":60000`}))
	b := h.Alias("s", "a")
	c := h.Info(b).Config
	for _, by := range []struct {
		field string
		alter func(*Config)
	}{
		{"history", func(c *Config) { c.History = 5 }},
		{"ttl", func(c *Config) { c.TTL = time.Hour }},
		{"ttl", func(c *Config) { c.TTL = 0 }},
	} {
		more := c
		by.alter(&more)
		_, err := h.Alter(ctx, more)
		require.NoError(t, err)
		_, err = h.Reconcile(ctx, "s")
		require.Equal(t, by.field, h.Refused(err, CodeBlocked).Field)
		require.Equal(t, more, h.Info(b).Config)
		_, err = h.Alter(ctx, c)
		require.NoError(t, err)
	}
	less := c
	less.History, less.TTL = 2, time.Second
	_, err := h.Alter(ctx, less)
	require.NoError(t, err)
	r, err := h.Reconcile(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, r.Altered)
	require.Equal(t, c, h.Info(b).Config)
	h.Agree(declared(map[string]string{"a": `,"history":1,"ttlMs":10`}))
	require.Equal(t, 1, h.Info(b).History, "what the acceptance was about is altered")
}

// A bucket that was made by hand for a service is neither altered unseen nor dropped.
func TestWhatWasMadeByHandForAServiceIsAdopted(t *testing.T) {
	h := open(t)
	_, err := h.Create(ctx, Config{Name: "svc_s_a", Service: "s", Alias: "a", History: 5})
	require.NoError(t, err)
	mine := h.Bucket("svc_s_a")
	_, err = mine.Put(ctx, "k", []byte(`{}`), PutOptions{})
	require.NoError(t, err)
	p := h.Proposed(declared(map[string]string{"a": "", "b": ""}))
	_, err = h.Accept(ctx, "s", p.Digest, false)
	require.NoError(t, err)
	for _, c := range []Config{
		{History: 5},
		{History: 5, Schema: []byte(buckettest.EntrySchema)},
		{MaxValue: 7, Schema: []byte(buckettest.EntrySchema)},
		{Schema: []byte(buckettest.NamedSchema)},
	} {
		c.Name, c.Service, c.Alias = "svc_s_a", "s", "a"
		_, err = h.Alter(ctx, c)
		require.NoError(t, err)
		_, err = h.Reconcile(ctx, "s")
		h.Refused(err, CodeBlocked)
	}
	_, err = h.Alter(ctx, Config{Name: "svc_s_a", Service: "s", Alias: "a", MaxValue: MaxValue, Schema: []byte(buckettest.EntrySchema)})
	require.NoError(t, err)
	r, err := h.Reconcile(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, r.Adopted)
	_, err = h.Create(ctx, Config{Name: "other", Service: "s", Alias: "none"})
	require.NoError(t, err)
	gone, err := h.Revoke(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []string{"svc_s_b"}, gone)
	require.Equal(t, []string{"other", "svc_s_a"}, h.Names())
}

// Whatever contract is accepted can be reconciled.
func TestContractsThatSayAsMuchAsTheyMayAreReconciled(t *testing.T) {
	h := open(t)
	long := strings.Repeat("x", contract.MaxName)
	h.Agree(buckettest.Declared(long, buckettest.EntrySchema, map[string]string{long: fmt.Sprintf(`,"history":%d,"ttlMs":%d,"maxValueBytes":%d`, contract.MaxHistory, int64(contract.MaxTTL), contract.MaxValue)}))
	other := strings.ToUpper(long)
	h.Agree(buckettest.Declared(other, buckettest.EntrySchema, map[string]string{long: ""}))
	require.Equal(t, []string{"svc_" + long + "_" + long, "svc_" + long + "_" + long + "_2"}, h.Names())
	_, err := h.Propose(ctx, declared(map[string]string{"a": fmt.Sprintf(`,"maxValueBytes":%d`, contract.MaxValue+1)}))
	require.ErrorIs(t, err, contract.ErrContract)
}

// A write of a bucket that was opened before it was given another schema holds to that one.
func TestWritesHoldToTheSchemaThatTheBucketHas(t *testing.T) {
	h := open(t)
	h.Made(Config{})
	before, err := h.Store.Open("t", "b")
	require.NoError(t, err)
	schemas := []string{buckettest.EntrySchema, buckettest.NamedSchema, "", buckettest.EntrySchema}
	values := map[string]string{buckettest.EntrySchema: `{"who":"x"}`, buckettest.NamedSchema: `{"name":"x"}`, "": `1`}
	for _, schema := range schemas {
		c := Config{Name: "b"}
		if schema != "" {
			c.Schema = []byte(schema)
		}
		_, err := h.Alter(ctx, c)
		require.NoError(t, err)
		for of, value := range values {
			if _, err := before.Put(ctx, "k", []byte(value), PutOptions{}); schema == "" || of == schema {
				require.NoError(t, err)
			} else {
				h.Refused(err, CodeValidation)
			}
		}
	}
}
