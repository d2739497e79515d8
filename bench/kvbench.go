//go:build cgo

package bench

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

// kvWorkload measures the services of a daemon that tenants use.
type kvWorkload struct {
	name  string
	about string
	unit  string
	run   func(*kvRun, Result) (Result, error)
}

var kvWorkloads = slices.Concat(serviceWorkloads, policyWorkloads, sessionWorkloads, agentWorkloads, eventWorkloads, bucketWorkloads)

var serviceWorkloads = []kvWorkload{
	{"kv-put", "values of 256 bytes, not synced, through Kv, beside rows of as many bytes through Store", "put", kvPuts(1)},
	{"kv-put-16", "the same, 16 callers on one connection", "put", kvPuts(16)},
	{"kv-get", "values of 256 bytes through Kv, beside rows through Store", "get", kvGets(1)},
	{"kv-get-16", "the same, 16 callers on one connection", "get", kvGets(16)},
	{"kv-incr", "16 clients, not synced: increments of one key, beside puts to keys of their own", "change", (*kvRun).increments},
	{"kv-durable-1", "values of 256 bytes, on disk when answered, beside other stores", "put", kvDurable(1)},
	{"kv-durable-16", "the same, 16 clients", "put", kvDurable(16)},
	{"kv-durable-64", "the same, 64 clients", "put", kvDurable(64)},
	{"kv-read", "values of 256 bytes, beside other stores", "get", (*kvRun).reads},
	{"kv-mix", "16 clients, nine gets to a put that is on disk when answered, beside other stores", "call", (*kvRun).mix},
	{"kv-list", "a list of six tenths as many keys as there are rows, as a stream", "key", (*kvRun).list},
	{"kv-expire", "a tenth as many values as there are rows, whose time ends in one second", "value", (*kvRun).expire},
	{"kv-ttl", "how late after its time a value is gone, and is told to be", "value", (*kvRun).lateness},
}

// kvNames returns the names of the workloads of tenants' services.
func kvNames() (names []string) {
	for _, w := range kvWorkloads {
		names = append(names, w.name)
	}
	return names
}

// kvRun is the workloads of tenants' services at work, on one daemon.
type kvRun struct {
	options Options
	daemon  *daemon
	data    *Dataset
	keys    []string    // of the rows: to make one takes a part of what a get does
	peers   []*KVPeer   // the daemon is the first; nil: not opened yet
	lockers []*LockPeer // the same
	// buckets are those beside the daemon's, by whether what is put is synced; filled are those
	// that have the first of the keys.
	buckets map[bool][]*BucketPeer
	filled  map[string]bool
}

// measureKV runs the workloads of tenants' services that are wanted.
func measureKV(o Options) (results []Result, err error) {
	r := &kvRun{options: o, data: &Dataset{Rows: max(o.Rows/10, 2*batchLarge)}, buckets: map[bool][]*BucketPeer{}, filled: map[string]bool{}}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, w := range kvWorkloads {
		if !wanted(o.Workloads, w.name) {
			continue
		}
		if o.Stoa == "" {
			o.Logger.Warn("no path of a stoa binary: the services of tenants are not measured")
			return nil, nil
		}
		if err := r.start(); err != nil {
			return results, fmt.Errorf("bench: %s: %w", w.name, err)
		}
		o.Logger.Info("measuring", "workload", w.name)
		result, err := w.run(r, Result{Workload: w.name, About: w.about, Unit: w.unit})
		if err != nil {
			return results, fmt.Errorf("bench: %s: %w", w.name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// start starts the daemon, unless it runs, and fills it.
func (r *kvRun) start() (err error) {
	if r.daemon != nil {
		return nil
	}
	if r.daemon, err = serve(r.options, r.options.path("kv"), cacheBytes); err != nil {
		return err
	}
	r.keys = make([]string, r.data.Rows)
	for row := range r.keys {
		r.keys[row] = kvKey(row)
	}
	r.options.Logger.Info("filling kv", "rows", r.data.Rows)
	return r.daemon.with(func(c *rpc.Client) error {
		if err := r.data.load(c.Store(context.Background())); err != nil {
			return err
		}
		k, changes := c.KV(kvTenant), make([]kvstorage.Change, 0, batchLarge)
		for row := range r.data.Rows {
			changes = append(changes, kvstorage.Change{Op: kvstorage.OpPut, Key: r.keys[row], Value: kvValue(nil, r.data, row)})
			if len(changes) < batchLarge && row < r.data.Rows-1 {
				continue
			}
			if _, err := k.Batch(context.Background(), changes, engine.WAL); err != nil {
				return err
			}
			changes = changes[:0]
		}
		if err := c.Flush(context.Background()); err != nil {
			return err
		}
		return r.warm(c)
	})
}

// warm reads every row and every key once.
func (r *kvRun) warm(c *rpc.Client) error {
	errs := make([]error, 16)
	var readers sync.WaitGroup
	for first := range errs {
		readers.Go(func() {
			a, k := &raw{db: c.Store(context.Background()), data: r.data}, c.KV(kvTenant)
			for row := first; row < r.data.Rows && errs[first] == nil; row += len(errs) {
				if errs[first] = a.Get(row); errs[first] == nil {
					i, err := k.Get(context.Background(), r.keys[row])
					errs[first] = expect(len(i.Value) == ValueBytes, err)
				}
			}
		})
	}
	readers.Wait()
	return errors.Join(errs...)
}

func (r *kvRun) close() (err error) {
	for _, p := range r.peers {
		err = errors.Join(err, p.Close())
	}
	for _, p := range r.lockers {
		err = errors.Join(err, p.Close())
	}
	for _, peers := range r.buckets {
		for _, p := range peers {
			err = errors.Join(err, p.Close())
		}
	}
	if r.daemon != nil && r.daemon.process != nil {
		err = errors.Join(err, r.daemon.process.stop())
	}
	return err
}

// What values are under: keys and values are as long as those of rows.
const kvTenant = "bench"

func kvKey(row int) string {
	var b [(KeyBytes - 1) / 2]byte
	x := spread(uint64(row))
	for i := range b {
		if b[i] = byte(x >> (8 * (i % 8))); i%8 == 7 {
			x = spread(x)
		}
	}
	return hex.EncodeToString(b[:]) + "k"
}

// kvValue appends a JSON string to dst.
func kvValue(dst []byte, data *Dataset, row int) []byte {
	var raw [ValueBytes]byte
	data.Fill(raw[:], row)
	return append(hex.AppendEncode(append(dst, '"'), raw[:(ValueBytes-2)/2]), '"')
}

// crew returns n goroutines that work, each with a source of randomness.
func (r *kvRun) crew(name string, n int, hand func(random *rand.Rand) func() error) *crew {
	c := &crew{name: name, elsewhere: r.daemon.process.cpu, release: func() {}}
	c.settle = func() error { return r.daemon.with(flush) }
	for i := range n {
		do := hand(rand.New(rand.NewPCG(uint64(i), 21)))
		c.hands = append(c.hands, func() (int, error) { return 1, do() })
	}
	return c
}

// compare lets crews that share a connection take turns, and notes how their rates
// compare.
func (r *kvRun) compare(result Result, demanded string, crews func(c *rpc.Client) (a, b *crew)) (Result, error) {
	err := r.daemon.with(func(c *rpc.Client) (err error) {
		a, b := crews(c)
		if result, err = takeTurns(r.options, result, []*crew{a, b}); err != nil {
			return err
		}
		result.rate(b.name, a.name, demanded)
		result.figure(fmt.Sprintf("cpu of %s / of %s", a.name, b.name), ratio(result.measure(a.name), result.measure(b.name), cpuOf), "", "")
		return nil
	})
	return result, err
}

// rate notes how the rate of a subject compares with that of another.
func (r *Result) rate(of, beside, demanded string) {
	r.figure(fmt.Sprintf("rate of %s / of %s", of, beside), ratio(r.measure(beside), r.measure(of), wallOf), "", demanded)
}

func (r *Result) figure(name string, value float64, unit, demanded string) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value, Unit: unit, Demanded: demanded})
}

func kvPuts(callers int) func(*kvRun, Result) (Result, error) {
	return func(r *kvRun, result Result) (Result, error) {
		return r.compare(result, "at least 0.6", func(c *rpc.Client) (*crew, *crew) {
			return r.crew("store", callers, func(random *rand.Rand) func() error {
					a := &raw{db: c.Store(context.Background()), data: r.data}
					return func() error { return a.Put(r.data.any(random)) }
				}), r.crew("kv", callers, func(random *rand.Rand) func() error {
					return r.put(c, random)
				})
		})
	}
}

// put returns what puts a value to one of the keys.
func (r *kvRun) put(c *rpc.Client, random *rand.Rand) func() error {
	k, value := c.KV(kvTenant), make([]byte, 0, ValueBytes)
	return func() error {
		row := r.data.any(random)
		_, err := k.PutJSON(context.Background(), r.keys[row], json.RawMessage(kvValue(value, r.data, row)), rpc.WithDurability(engine.WAL))
		return err
	}
}

func kvGets(callers int) func(*kvRun, Result) (Result, error) {
	return func(r *kvRun, result Result) (Result, error) {
		return r.compare(result, "at least 0.8", func(c *rpc.Client) (*crew, *crew) {
			return r.crew("store", callers, func(random *rand.Rand) func() error {
					a := &raw{db: c.Store(context.Background()), data: r.data}
					return func() error { return a.Get(r.data.any(random)) }
				}), r.crew("kv", callers, func(random *rand.Rand) func() error {
					k := c.KV(kvTenant)
					return func() error {
						i, err := k.Get(context.Background(), r.keys[r.data.any(random)])
						return expect(len(i.Value) == ValueBytes, err)
					}
				})
		})
	}
}

// increments compares increments of one key with puts to many.
func (r *kvRun) increments(result Result) (Result, error) {
	const callers = 16
	return r.compare(result, "at least 0.5", func(c *rpc.Client) (*crew, *crew) {
		return r.crew("put", callers, func(random *rand.Rand) func() error {
				return r.put(c, random)
			}), r.crew("increment", callers, func(*rand.Rand) func() error {
				k := c.KV(kvTenant)
				return func() error {
					_, err := k.Increment(context.Background(), "hot", 1, rpc.WithDurability(engine.WAL))
					return err
				}
			})
	})
}
