package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

// registers changes a few integers through the Kv service: puts, increments,
// compare-and-swaps, deletes, batches, and values that expire.
type registers struct {
	tenant  string
	rand    *rand.Rand
	has     map[string]int64
	under   map[string]int64 // what there is after the call under way
	called  bool
	leases  map[string]lease
	renewed string // the lease that is being put
	// seconds is the time to live of values that must not expire before they are
	// recounted.
	seconds int64
	// byClock says that the daemon's clock is another: then there are no leases here.
	byClock bool
}

// lease is a value with a time to live. From put to until it is there, after gone
// it is not; between, either.
type lease struct{ until, gone time.Time }

func newRegisters(r *rand.Rand, id byte) worker {
	return &registers{tenant: fmt.Sprint("torture", id), rand: r, has: map[string]int64{}, leases: map[string]lease{}, seconds: 3600}
}

const leaseSeconds = 1

// longSeconds is longer than a simulated clock is run.
const longSeconds = 2000 * 3600

func (w *registers) keepTime(*reckoning) { w.seconds, w.byClock = longSeconds, true }

func digits(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

func (w *registers) use(c *rpc.Client) error {
	k := c.KV(w.tenant)
	o := kvstorage.WriteOptions{}
	key := fmt.Sprint("k", w.rand.IntN(12))
	was, there := w.has[key]
	to := w.rand.Int64N(1000)
	w.under, w.called, w.renewed = maps.Clone(w.has), true, ""
	if there && w.rand.IntN(3) == 0 {
		r, err := k.CompareAndSwapJSON(context.Background(), key, kvstorage.Expect{Value: digits(was + 1)}, json.RawMessage(digits(to)), given(o)...)
		if err == nil && r.Swapped {
			return wrongf("%s was swapped, which does not have what was expected", key)
		}
		if err != nil {
			return err
		}
	}
	var err error
	kinds := 7
	if w.byClock {
		kinds = 6
	}
	switch w.rand.IntN(kinds) {
	case 0:
		if w.rand.IntN(2) == 0 {
			o.TTLSeconds = &w.seconds
		}
		w.under[key] = to
		_, err = k.PutJSON(context.Background(), key, json.RawMessage(digits(to)), given(o)...)
	case 1, 2:
		w.under[key] = was + to
		var i kvstorage.Item
		if i, err = k.Increment(context.Background(), key, to, given(o)...); err == nil && string(i.Value) != string(digits(was+to)) {
			return wrongf("%s is %s after an increment of %d by %d", key, i.Value, was, to)
		}
	case 3:
		w.under[key] = to
		expect := kvstorage.Expect{Value: digits(was)}
		if !there {
			expect = kvstorage.Expect{Absent: true}
		}
		var r kvstorage.Result
		if r, err = k.CompareAndSwapJSON(context.Background(), key, expect, json.RawMessage(digits(to)), given(o)...); err == nil && !r.Swapped {
			return wrongf("%s was not swapped, which has what was expected", key)
		}
	case 4:
		delete(w.under, key)
		var d kvstorage.Deleted
		if d, err = k.Delete(context.Background(), key, given(o)...); err == nil && d.Existed != there {
			return wrongf("%s: a delete found something: %t", key, d.Existed)
		}
	case 5:
		var changes []kvstorage.Change
		for i := range 4 {
			key := fmt.Sprint("k", 12+i)
			w.under[key] += to
			changes = append(changes, kvstorage.Change{Op: kvstorage.OpIncrement, Key: key, Delta: to})
		}
		_, err = k.Batch(context.Background(), changes, 0)
	case 6:
		w.renewed = fmt.Sprint("lease", w.rand.IntN(20))
		put := time.Now()
		if _, err = k.PutJSON(context.Background(), w.renewed, json.RawMessage("1"), rpc.TTL(leaseSeconds*time.Second)); err == nil {
			ttl := leaseSeconds * time.Second
			w.leases[w.renewed] = lease{until: put.Add(ttl), gone: time.Now().Add(ttl)}
			w.renewed = ""
		}
	}
	if err != nil {
		return err
	}
	w.has, w.called = w.under, false
	return nil
}

func (w *registers) recount(c *rpc.Client) error {
	k := c.KV(w.tenant)
	found := map[string]int64{}
	for i := range 16 {
		key := fmt.Sprint("k", i)
		item, err := maybe(k.Get(context.Background(), key))
		if err != nil {
			return err
		}
		if item.Found {
			if found[key], err = strconv.ParseInt(string(item.Value), 10, 64); err != nil {
				return wrongf("%s is %s", key, item.Value)
			}
		}
	}
	if !maps.Equal(found, w.has) && !(w.called && maps.Equal(found, w.under)) {
		return wrongf("there is %v; acknowledged was %v, and under way what makes it %v", found, w.has, w.under)
	}
	w.has, w.called = found, false
	return w.recountLeases(k)
}

func (w *registers) recountLeases(k *rpc.KV) error {
	if w.renewed != "" {
		delete(w.leases, w.renewed) // nobody knows when it ends
		w.renewed = ""
	}
	for key, l := range w.leases {
		before := time.Now()
		item, err := maybe(k.Get(context.Background(), key))
		if err != nil {
			return err
		}
		const slack = 20 * time.Millisecond // what the clocks may read apart
		switch {
		case !item.Found && time.Now().Before(l.until.Add(-slack)):
			return wrongf("%s is gone %s before its time", key, l.until.Sub(before))
		case item.Found && before.After(l.gone.Add(slack)):
			return wrongf("%s is there %s after its time", key, before.Sub(l.gone))
		}
	}
	return nil
}
