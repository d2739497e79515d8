package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

// terms gives values a time to live through the Kv service: by puts, increments,
// swaps and batches, and changes it by touches. No value may be there after its time,
// none gone before, and a watch is told of each once.
type terms struct {
	tenant string
	rand   *rand.Rand
	time   *reckoning
	keys   map[string][]term // what a key may have; none: nothing
	watch  *watch
	// patience is how long a watch may be told of nothing that has expired.
	patience time.Duration
	left     int // values that nobody touches, so that only a sweep removes them
	spent    int // values that were seen to be gone after their time
}

// term is what a key may have.
type term struct {
	there bool
	value int64
	// from and to are the times between which it expires; the same ones once an answer
	// has said when, zeros if it does not.
	from, to time.Duration
	revision uint64 // 0: not known
}

// living is a value that is stored at times.
func living(value int64, ttl *int64, t times) term {
	from, to := t.until(ttl)
	return term{there: true, value: value, from: from, to: to}
}

func newTerms(r *rand.Rand, id byte, t *reckoning) *terms {
	return &terms{tenant: fmt.Sprint("terms", id), rand: r, time: t, keys: map[string][]term{}, patience: time.Minute}
}

// lifetime is a time to live, from seconds to hours.
func (w *terms) lifetime() int64 {
	return 1 + w.rand.Int64N([]int64{20, 600, 4 * 3600}[w.rand.IntN(3)])
}

const termKeys = 40

// leftAlone is what the keys of values begin with that are put once, and left alone.
const leftAlone = "left"

// named returns the keys that may have something.
func (w *terms) named() []string {
	list := slices.Collect(maps.Keys(w.keys))
	for n := range termKeys {
		list = append(list, fmt.Sprint("k", n))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func sinceEpoch(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return time.Duration(t.UnixNano())
}

// until returns when a value of a time to live expires that is stored at times; zeros
// for no such time.
func (t times) until(ttl *int64) (from, to time.Duration) {
	if ttl == nil {
		return 0, 0
	}
	d := time.Duration(*ttl) * time.Second
	return t.first + d, t.last + d + 2*time.Millisecond
}

// mayBe reports whether a term may be what is there, and whether it may be why nothing
// is.
func (x term) mayBe(t times) (there, gone bool) {
	if !x.there {
		return false, true
	}
	if x.to == 0 {
		return true, false
	}
	return t.first < x.to, t.last >= x.from
}

// saw takes note of what a key was seen to have, and returns an error if it can't.
func (w *terms) saw(key string, i kvstorage.Item, t times) error {
	list := w.known(key)
	var fit []term
	for _, x := range list {
		there, gone := x.mayBe(t)
		switch {
		case !i.Found && gone:
			fit = append(fit, x)
		case i.Found && there && string(i.Value) == strconv.FormatInt(x.value, 10):
			if at := sinceEpoch(i.Expires); at >= x.from && at <= x.to && (at == 0 || t.first < at) {
				x.from, x.to, x.revision = at, at, i.Revision
				fit = append(fit, x)
			}
		}
	}
	if len(fit) == 0 {
		return wrongf("%s of %s: there is %t %s until %s, at %s to %s; acknowledged was %s", key, w.tenant,
			i.Found, i.Value, moments(sinceEpoch(i.Expires)), moments(t.first), moments(t.last), list)
	}
	if !i.Found && len(fit) == 1 && fit[0].there {
		w.spent++
		w.time.was(fit[0].from, moment{steps: -1}) // or later
	}
	w.keys[key] = fit
	return nil
}

func moments(d time.Duration) string {
	if d == 0 {
		return "ever"
	}
	return time.Unix(0, int64(d)).UTC().Format("15:04:05.000")
}

func (x term) String() string {
	if !x.there {
		return "nothing"
	}
	return fmt.Sprintf("%d until %s (%s)", x.value, moments(x.from), moments(x.to))
}

// stored takes note of an answer to a write of key, which made it value.
func (w *terms) stored(key string, value int64, ttl *int64, i kvstorage.Item, m moment, t times) error {
	from, to := t.until(ttl)
	at := sinceEpoch(i.Expires)
	if at < from || at > to {
		return wrongf("%s of %s expires at %s; it was stored between %s and %s, which would be %s to %s", key, w.tenant,
			moments(at), moments(t.first), moments(t.last), moments(from), moments(to))
	}
	w.keys[key] = []term{{there: true, value: value, from: at, to: at, revision: i.Revision}}
	if ttl != nil {
		w.time.was(at-time.Duration(*ttl)*time.Second-time.Millisecond, m)
	}
	return nil
}

// perhaps takes note of a call whose answer has not come: a key may have what it had, or
// what the call makes of it.
func (w *terms) perhaps(key string, m moment, made func(x term, t times) term) {
	t := w.time.after(m)
	list := w.known(key)
	fit := list
	for _, x := range list {
		there, gone := x.mayBe(t)
		if there && x.there {
			fit = append(fit, made(x, t))
		}
		if gone {
			fit = append(fit, made(term{}, t))
		}
	}
	w.keys[key] = fit
}

// known returns what a key may have; the caller may append to it.
func (w *terms) known(key string) []term {
	if list := w.keys[key]; list != nil {
		return slices.Clip(list)
	}
	return []term{{}}
}

func (w *terms) use(c *rpc.Client) error {
	k, ctx := c.KV(w.tenant), context.Background()
	key, seconds := fmt.Sprint("k", w.rand.IntN(termKeys)), w.lifetime()
	o, value := kvstorage.WriteOptions{}, w.rand.Int64N(1_000_000)
	if w.rand.IntN(5) > 0 {
		o.TTLSeconds = &seconds
	}
	m := w.time.before()
	put := func(_ term, t times) term { return living(value, o.TTLSeconds, t) }
	switch w.rand.IntN(8) {
	case 0:
		w.left++
		key, o.TTLSeconds = fmt.Sprint(leftAlone, w.left), &seconds
		fallthrough
	case 1:
		i, err := k.PutJSON(ctx, key, json.RawMessage(digits(value)), given(o)...)
		if err != nil {
			w.perhaps(key, m, put)
			return err
		}
		return w.stored(key, value, o.TTLSeconds, i, m, w.time.after(m))
	case 2:
		i, err := maybe(k.Touch(ctx, key, given(o)...))
		if err != nil {
			w.perhaps(key, m, func(x term, t times) term {
				if !x.there {
					return x
				}
				return living(x.value, o.TTLSeconds, t)
			})
			return err
		}
		return w.touched(key, o.TTLSeconds, i, m)
	case 3:
		i, err := k.Increment(ctx, key, value, given(o)...)
		if err != nil {
			w.perhaps(key, m, func(x term, t times) term {
				if x.there && o.TTLSeconds == nil {
					return term{there: true, value: x.value + value, from: x.from, to: x.to}
				}
				return living(x.value+value, o.TTLSeconds, t)
			})
			return err
		}
		return w.incremented(key, value, o.TTLSeconds, i, m)
	case 4:
		r, err := k.CompareAndSwapJSON(ctx, key, kvstorage.Expect{Absent: true}, json.RawMessage(digits(value)), given(o)...)
		if err != nil {
			w.perhaps(key, m, func(x term, t times) term {
				if x.there {
					return x
				}
				return put(x, t)
			})
			return err
		}
		if !r.Swapped {
			return w.saw(key, r.Item, w.time.after(m))
		}
		if err := w.saw(key, kvstorage.Item{}, w.time.after(m)); err != nil {
			return fmt.Errorf("swapped: %w", err)
		}
		return w.stored(key, value, o.TTLSeconds, r.Item, m, w.time.after(m))
	case 5:
		d, err := k.Delete(ctx, key)
		if err != nil {
			w.perhaps(key, m, func(term, times) term { return term{} })
			return err
		}
		return w.deleted(key, d.Existed, m)
	case 6:
		return w.many(k, value, &seconds, m)
	}
	for i, err := range k.All(ctx, key) { // its namesakes too: k1, k10, k11
		if err != nil {
			return err
		}
		if err := w.saw(i.Key, i, w.time.after(m)); err != nil {
			return fmt.Errorf("listed: %w", err)
		}
	}
	return nil
}

// touched takes note of an answer to a touch.
func (w *terms) touched(key string, ttl *int64, i kvstorage.Item, m moment) error {
	t := w.time.after(m)
	if !i.Found {
		return w.saw(key, i, t)
	}
	for _, x := range w.keys[key] {
		if there, _ := x.mayBe(t); there && string(i.Value) == strconv.FormatInt(x.value, 10) {
			return w.stored(key, x.value, ttl, i, m, t)
		}
	}
	return wrongf("%s of %s: %s was touched at %s to %s; acknowledged was %s", key, w.tenant, i.Value, moments(t.first), moments(t.last), w.keys[key])
}

// incremented takes note of an answer to an increment: what was there keeps its time
// unless it is given another.
func (w *terms) incremented(key string, by int64, ttl *int64, i kvstorage.Item, m moment) error {
	t := w.time.after(m)
	list := w.known(key)
	for _, x := range list {
		there, gone := x.mayBe(t)
		at := sinceEpoch(i.Expires)
		switch {
		case there && x.there && string(i.Value) == strconv.FormatInt(x.value+by, 10):
			if ttl == nil && at >= x.from && at <= x.to {
				w.keys[key] = []term{{there: true, value: x.value + by, from: at, to: at, revision: i.Revision}}
				return nil
			}
			if ttl != nil {
				return w.stored(key, x.value+by, ttl, i, m, t)
			}
		case gone && string(i.Value) == strconv.FormatInt(by, 10):
			return w.stored(key, by, ttl, i, m, t)
		}
	}
	return wrongf("%s of %s is %s until %s after an increment by %d at %s to %s; acknowledged was %s", key, w.tenant,
		i.Value, moments(sinceEpoch(i.Expires)), by, moments(t.first), moments(t.last), list)
}

// many stores some values in one batch, which expire at once.
func (w *terms) many(k *rpc.KV, value int64, seconds *int64, m moment) error {
	var changes []kvstorage.Change
	for i, n := range w.rand.Perm(termKeys)[:4] {
		changes = append(changes, kvstorage.Change{Op: kvstorage.OpPut, Key: fmt.Sprint("k", n), Value: digits(value + int64(i)), TTLSeconds: seconds})
	}
	results, err := k.Batch(context.Background(), changes, 0)
	t := w.time.after(m)
	for i, c := range changes {
		if err != nil {
			w.perhaps(c.Key, m, func(_ term, t times) term { return living(value+int64(i), seconds, t) })
		} else if bad := w.stored(c.Key, value+int64(i), seconds, results[i].Item, m, t); bad != nil {
			return bad
		}
		if err == nil && !results[i].Item.Expires.Equal(results[0].Item.Expires) {
			return wrongf("values of one batch expire at %s and %s", results[0].Item.Expires, results[i].Item.Expires)
		}
	}
	return err
}

// deleted takes note of an answer to a delete, which found something or not.
func (w *terms) deleted(key string, existed bool, m moment) error {
	t, list := w.time.after(m), w.known(key)
	delete(w.keys, key)
	for _, x := range list {
		there, gone := x.mayBe(t)
		if existed && there && x.there || !existed && gone {
			return nil
		}
	}
	return wrongf("%s of %s: a delete found something: %t, at %s to %s; acknowledged was %s", key, w.tenant, existed, moments(t.first), moments(t.last), list)
}

// given are options as the client takes them.
func given(o kvstorage.WriteOptions) []rpc.WriteOption {
	with := []rpc.WriteOption{rpc.WithDurability(o.Durability)}
	if o.TTLSeconds != nil {
		with = append(with, rpc.TTL(time.Duration(*o.TTLSeconds)*time.Second))
	}
	return with
}

// maybe returns what a key has, where nothing is no error.
func maybe(i rpc.Item, err error) (rpc.Item, error) {
	if errors.Is(err, rpc.ErrNotFound) {
		err = nil
	}
	return i, err
}

func (w *terms) recount(c *rpc.Client) error {
	k := c.KV(w.tenant)
	w.forget()
	for _, key := range w.named() {
		m := w.time.before()
		i, err := maybe(k.Get(context.Background(), key))
		if err != nil {
			return err
		}
		if err := w.saw(key, i, w.time.after(m)); err != nil {
			return err
		}
	}
	if w.watch == nil {
		w.watch = &watch{tenant: w.tenant, time: w.time, patience: w.patience, has: map[string]time.Duration{}}
	}
	return w.watch.follow(c)
}

// settle waits until everything has expired whose time has come, and compares what a
// watch was told with what there is. Nobody uses the tenant meanwhile.
func (w *terms) settle(c *rpc.Client) error {
	if err := w.watch.settle(); err != nil {
		return err
	}
	m := w.time.before()
	there := map[string]time.Duration{}
	for i, err := range c.KV(w.tenant).All(context.Background(), "") {
		if err != nil {
			return err
		}
		there[i.Key] = sinceEpoch(i.Expires)
		if err := w.saw(i.Key, i, w.time.after(m)); err != nil {
			return err
		}
	}
	for _, key := range w.named() {
		if _, ok := there[key]; !ok {
			if err := w.saw(key, kvstorage.Item{}, w.time.after(m)); err != nil {
				return err
			}
		}
	}
	return w.watch.agrees(there, w.time.after(m))
}

// forget drops what a watch was told has expired: it does not come back, whatever the
// time is when the next daemon begins.
func (w *terms) forget() {
	if w.watch == nil {
		return
	}
	for key, list := range w.keys {
		if len(list) == 1 && list[0].revision != 0 && w.watch.gone(key, list[0].revision) {
			delete(w.keys, key)
		}
	}
}

// Close ends the watch.
func (w *terms) Close() error {
	if w.watch == nil {
		return nil
	}
	w.watch.end()
	return w.watch.failed()
}
