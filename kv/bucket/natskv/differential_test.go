package natskv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
)

var ctx = context.Background()

// embedded starts a NATS server in this process, which listens nowhere.
func embedded(t testing.TB) jetstream.JetStream {
	s, err := server.NewServer(&server.Options{ServerName: "peer", DontListen: true, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(time.Minute))
	c, err := nats.Connect("", nats.InProcessServer(s))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		s.Shutdown()
		s.WaitForShutdown()
	})
	js, err := jetstream.New(c)
	require.NoError(t, err)
	return js
}

// sequences is how many are run: 10,000, or as many times that as STOA_TEST_SCALE says.
func sequences() int {
	scale, err := strconv.ParseFloat(os.Getenv("STOA_TEST_SCALE"), 64)
	if err != nil {
		scale = 1
	}
	return max(int(10_000*scale), 20)
}

// The same sequences of verbs come to the same revisions, values, histories and refusals in NATS
// KV and here. Times to live, which differ on purpose, are not among them.
func TestT71SequencesEndAsInNATS(t *testing.T) {
	js := embedded(t)
	db := mem.New()
	store, err := kv.Open(db, kv.Options{})
	require.NoError(t, err)
	buckets, err := bucket.New(store, bucket.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()); require.NoError(t, db.Close()) })
	seed := uint64(20261125)
	if text := os.Getenv("STOA_NATSKV_SEED"); text != "" {
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	for n := range sequences() {
		p := pair{t: t, random: rand.New(rand.NewPCG(seed, uint64(n)))}
		name, history := fmt.Sprint("b", n), 1+p.random.IntN(5)
		_, err := buckets.Create(ctx, "t", bucket.Config{Name: name, History: history})
		require.NoError(t, err)
		p.ours, err = buckets.Open("t", name)
		require.NoError(t, err)
		p.nats, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, History: uint8(history), Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		for range 5 + p.random.IntN(20) {
			p.step()
		}
		p.compare()
		require.NoError(t, js.DeleteKeyValue(ctx, name))
		require.NoError(t, buckets.Drop(ctx, "t", name))
		require.False(t, t.Failed(), "sequence %d of STOA_NATSKV_SEED=%d, history %d: %v", n, seed, history, p.done)
	}
}

// pair is a bucket here and the same one there.
type pair struct {
	t      *testing.T
	random *rand.Rand
	ours   *bucket.Bucket
	nats   jetstream.KeyValue
	last   uint64
	done   []string
}

var keys = []string{"a", "a.b", "a.b.c", "b.b", "c"}

// verdict is what came of a verb.
type verdict struct {
	revision uint64
	refused  string
}

// step does one verb with both.
func (p *pair) step() {
	key, value := keys[p.random.IntN(len(keys))], []byte(fmt.Sprint(p.random.IntN(1000)))
	if p.random.IntN(10) == 0 {
		value = nil
	}
	at := []uint64{0, p.last, p.at(key), p.at(key)}[p.random.IntN(4)]
	var here, there uint64
	var ourErr, natsErr error
	verb := p.random.IntN(8)
	switch verb {
	case 0, 1:
		here, ourErr = p.ours.Put(ctx, key, value, bucket.PutOptions{})
		there, natsErr = p.nats.Put(ctx, key, value)
	case 2:
		here, ourErr = p.ours.Create(ctx, key, value, bucket.PutOptions{})
		there, natsErr = p.nats.Create(ctx, key, value)
	case 3:
		here, ourErr = p.ours.Update(ctx, key, value, at, bucket.PutOptions{})
		there, natsErr = p.nats.Update(ctx, key, value, at)
	case 4:
		here, ourErr = p.ours.Delete(ctx, key, bucket.DeleteOptions{})
		natsErr = p.nats.Delete(ctx, key)
		there = here // NATS does not say it; what follows shows it
	case 5:
		if at == 0 { // NATS takes that for no expectation
			return
		}
		here, ourErr = p.ours.Delete(ctx, key, bucket.DeleteOptions{Expect: true, Revision: at})
		natsErr = p.nats.Delete(ctx, key, jetstream.LastRevision(at))
		there = here
	case 6:
		here, ourErr = p.ours.Purge(ctx, key, bucket.DeleteOptions{})
		natsErr = p.nats.Purge(ctx, key)
		there = here
	case 7:
		if p.random.IntN(3) > 0 {
			return
		}
		_, ourErr = p.ours.PurgeDeletes(ctx, -1)
		natsErr = p.nats.PurgeDeletes(ctx, jetstream.DeleteMarkersOlderThan(-1))
	}
	p.done = append(p.done, fmt.Sprintf("%d %s %q at %d: %d %v", verb, key, value, at, here, ourErr))
	require.Equal(p.t, verdict{there, refusal(natsErr)}, verdict{here, refusal(ourErr)}, "%v: here %v, there %v", p.done, ourErr, natsErr)
	p.last = max(p.last, here)
}

// at is the revision that a key is at.
func (p *pair) at(key string) uint64 {
	list, err := p.ours.History(key)
	require.NoError(p.t, err)
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].Revision
}

// refusal is an error by what kind of one it is.
func refusal(err error) string {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, bucket.ErrExists), errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, bucket.ErrRevisionMismatch):
		return "refused"
	case errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		return "refused"
	case errors.Is(err, bucket.ErrNotFound), errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return "not found"
	}
	return err.Error()
}

// entry is a revision of a key, of either.
type entry struct {
	value    string
	revision uint64
	op       string
}

func ours(e bucket.Entry) entry { return entry{string(e.Value), e.Revision, e.Op.String()} }

func theirs(e jetstream.KeyValueEntry) entry {
	op := map[jetstream.KeyValueOp]string{jetstream.KeyValuePut: "put", jetstream.KeyValueDelete: "delete", jetstream.KeyValuePurge: "purge"}[e.Operation()]
	return entry{string(e.Value()), e.Revision(), op}
}

// compare compares all that both say.
func (p *pair) compare() {
	for _, key := range keys {
		here, ourErr := p.ours.Get(key)
		there, natsErr := p.nats.Get(ctx, key)
		require.Equal(p.t, refusal(natsErr), refusal(ourErr), "%v", p.done)
		if ourErr == nil {
			require.Equal(p.t, theirs(there), ours(here), "%v", p.done)
		}
		var mine, others []entry
		list, err := p.ours.History(key)
		require.NoError(p.t, err)
		for _, e := range list {
			mine = append(mine, ours(e))
			at, err := p.nats.GetRevision(ctx, key, e.Revision)
			if e.Op == bucket.OpPut {
				require.NoError(p.t, err)
				require.Equal(p.t, theirs(at), ours(e))
			}
		}
		history, err := p.nats.History(ctx, key)
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			require.NoError(p.t, err)
		}
		for _, e := range history {
			others = append(others, theirs(e))
		}
		require.Equal(p.t, others, mine, "%s: %v", key, p.done)
	}
	for _, filters := range [][]string{{">"}, {"a.>"}, {"*.b"}, {"*"}, {"*.*.c", "a"}} {
		var mine, others []string
		for key, err := range p.ours.Keys(ctx, filters...) {
			require.NoError(p.t, err)
			mine = append(mine, key)
		}
		lister, err := p.nats.ListKeysFiltered(ctx, filters...)
		require.NoError(p.t, err)
		for key := range lister.Keys() {
			others = append(others, key)
		}
		slices.Sort(others)
		slices.Sort(mine)
		require.Equal(p.t, others, mine, "%v: %v", filters, p.done)
	}
	here, err := p.ours.Status()
	require.NoError(p.t, err)
	there, err := p.nats.Status(ctx)
	require.NoError(p.t, err)
	require.Equal(p.t, there.Values(), here.Values, "%v", p.done)
	p.watched()
}

// watched compares what watches begin with.
func (p *pair) watched() {
	history := p.random.IntN(2) == 0
	var mine, others []entry
	for e, err := range p.ours.Watch(ctx, bucket.WatchOptions{History: history}) {
		require.NoError(p.t, err)
		if e.Kind == bucket.EventInitDone {
			break
		}
		mine = append(mine, ours(e.Entry))
	}
	var o []jetstream.WatchOpt
	if history {
		o = append(o, jetstream.IncludeHistory())
	}
	w, err := p.nats.WatchAll(ctx, o...)
	require.NoError(p.t, err)
	for e := range w.Updates() {
		if e == nil {
			break
		}
		others = append(others, theirs(e))
	}
	require.NoError(p.t, w.Stop())
	require.Equal(p.t, others, mine, "history %t: %v", history, p.done)
}
