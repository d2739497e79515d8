package bucket_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
)

// naive is a bucket as a map of what its keys have been.
type naive struct {
	config   Config
	revision uint64
	keys     map[string][]Entry // oldest first
}

func (n *naive) last(key string) Entry {
	if list := n.keys[key]; len(list) > 0 {
		return list[len(list)-1]
	}
	return Entry{}
}

func (n *naive) add(e Entry, now time.Time) {
	n.revision++
	e.Revision, e.Created = n.revision, now
	list := append(n.keys[e.Key], e)
	if e.Op == OpPurge {
		list = list[len(list)-1:]
	}
	n.keys[e.Key] = list[max(len(list)-n.config.History, 0):]
}

// expire takes out whose time is over.
func (n *naive) expire(now time.Time) (gone int) {
	for key := range n.keys {
		if e := n.last(key); !e.Expires.IsZero() && !now.Before(e.Expires) {
			delete(n.keys, key)
			gone++
		}
	}
	return gone
}

func TestABucketAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 200, func(rt *rapid.T) {
		h := open(t)
		n := &naive{config: Config{Name: "b", History: rapid.IntRange(1, 4).Draw(rt, "history")}, keys: map[string][]Entry{}}
		b := h.Made(n.config)
		key := rapid.SampledFrom([]string{"a", "a.b", "b.b", "a.b.c", "c"})
		expect := func(rt *rapid.T, key string) (uint64, bool) {
			last := n.last(key).Revision
			given := rapid.SampledFrom([]uint64{0, last, last + 1, n.revision}).Draw(rt, "expected")
			return given, given == last
		}
		put := func(rt *rapid.T, write func(key string, value []byte, o PutOptions) (uint64, error), key string, keep bool, want Code) {
			e := Entry{Key: key, Op: OpPut, Value: []byte(rapid.SampledFrom([]string{"", "x", "yz"}).Draw(rt, "value"))}
			o := PutOptions{TTL: rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute}).Draw(rt, "ttl")}
			if o.TTL > 0 {
				e.Expires = h.KV.Now().Add(o.TTL + time.Millisecond)
			} else if keep && n.last(key).Op == OpPut {
				e.Expires = n.last(key).Expires
			}
			revision, err := write(key, e.Value, o)
			if want != "" {
				h.Refused(err, want)
				return
			}
			require.NoError(t, err)
			n.add(e, h.KV.Now())
			require.Equal(t, n.revision, revision)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				put(rt, func(key string, value []byte, o PutOptions) (uint64, error) { return b.Put(ctx, key, value, o) }, key.Draw(rt, "key"), false, "")
			},
			"create": func(rt *rapid.T) {
				key, want := key.Draw(rt, "key"), Code("")
				if n.last(key).Op == OpPut {
					want = CodeExists
				}
				put(rt, func(key string, value []byte, o PutOptions) (uint64, error) { return b.Create(ctx, key, value, o) }, key, false, want)
			},
			"update": func(rt *rapid.T) {
				key, want := key.Draw(rt, "key"), Code("")
				given, ok := expect(rt, key)
				if !ok {
					want = CodeRevisionMismatch
				}
				put(rt, func(key string, value []byte, o PutOptions) (uint64, error) {
					return b.Update(ctx, key, value, given, o)
				}, key, true, want)
			},
			"delete or purge": func(rt *rapid.T) {
				key, op, o, ok := key.Draw(rt, "key"), OpDelete, DeleteOptions{Expect: rapid.Bool().Draw(rt, "expect")}, true
				if o.Expect {
					o.Revision, ok = expect(rt, key)
				}
				do := b.Delete
				if rapid.Bool().Draw(rt, "purge") {
					do, op = b.Purge, OpPurge
				}
				revision, err := do(ctx, key, o)
				if !ok {
					h.Refused(err, CodeRevisionMismatch)
					return
				}
				require.NoError(t, err)
				n.add(Entry{Key: key, Op: op}, h.KV.Now())
				require.Equal(t, n.revision, revision)
			},
			"purge deletes": func(rt *rapid.T) {
				older := rapid.SampledFrom([]time.Duration{-1, time.Second, time.Minute}).Draw(rt, "older")
				before, gone := h.KV.Now().Add(-max(older, 0)), 0
				for key, list := range n.keys {
					last := n.last(key)
					switch {
					case last.Op == OpPut || len(list) == 0:
					case older < 0 || last.Created.Before(before):
						delete(n.keys, key)
						gone++
					default:
						n.keys[key] = []Entry{last}
					}
				}
				got, err := b.PurgeDeletes(ctx, older)
				require.NoError(t, err)
				require.Equal(t, gone, got)
			},
			"time passes": func(rt *rapid.T) {
				h.Clock.Pass(time.Duration(rapid.IntRange(1, 90_000).Draw(rt, "ms")) * time.Millisecond)
				n.revision += uint64(n.expire(h.KV.Now()))
				require.True(t, h.Clock.Until(func() bool { s, err := b.Status(ctx); return err == nil && s.Revision == n.revision }))
				n.revision += uint64(n.expire(h.KV.Now())) // what has expired while that was waited for
				require.True(t, h.Clock.Until(func() bool { s, err := b.Status(ctx); return err == nil && s.Revision == n.revision }))
			},
			"": func(rt *rapid.T) {
				var live []string
				values := uint64(0)
				for _, key := range []string{"a", "a.b", "b.b", "a.b.c", "c"} {
					var want []string
					for _, e := range n.keys[key] {
						want, values = append(want, buckettest.Said(e)), values+1
						got, err := b.At(ctx, key, e.Revision)
						require.NoError(t, err)
						require.Equal(t, buckettest.Said(e), buckettest.Said(got))
					}
					require.Equal(t, want, h.Told(b, key), key)
					e, err := b.Get(ctx, key)
					if last := n.last(key); last.Op == OpPut {
						require.NoError(t, err)
						require.Equal(t, buckettest.Said(last), buckettest.Said(e))
						require.Equal(t, last.Expires, e.Expires)
						live = append(live, key)
					} else {
						require.Equal(t, last.Revision, h.Refused(err, CodeNotFound).Revision)
					}
				}
				slices.Sort(live)
				require.Equal(t, live, h.Listed(b))
				s, err := b.Status(ctx)
				require.NoError(t, err)
				require.Equal(t, values, s.Values)
				var order []uint64
				for e, err := range b.Watch(ctx, WatchOptions{History: true}) {
					require.NoError(t, err)
					if e.Kind == EventInitDone {
						break
					}
					order = append(order, e.Revision)
				}
				require.Len(t, order, int(values))
				require.True(t, slices.IsSorted(order))
			},
		})
		h.Sound()
	})
}
