//go:build cgo

package bench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// bucketWorkloads measure the Bucket service, beside what a program would have its buckets in
// instead.
var bucketWorkloads = []kvWorkload{
	{"bucket-put-1", "values of 256 bytes in a bucket, on disk when answered, beside other buckets", "put", bucketPuts(1, "at least 1")},
	{"bucket-put-16", "the same, 16 clients", "put", bucketPuts(16, "at least 3")},
	{"bucket-put-64", "the same, 64 clients", "put", bucketPuts(64, "at least 5")},
	{"bucket-get", "values of 256 bytes of a bucket, beside other buckets", "get", (*kvRun).bucketGets},
	{"bucket-history", "values of 256 bytes, not synced, in a bucket that keeps 64 of each key, beside one that keeps 1", "put", (*kvRun).bucketHistory},
	{"bucket-watch", "1,000 values a second, on disk when answered, that 100 clients watch: from the call until a watcher has it", "event", (*kvRun).bucketWatch},
	{"bucket-keys", "a list of six tenths as many keys as there are rows, beside other buckets", "key", (*kvRun).bucketKeys},
	{"bucket-suffix", "the keys *.*.ID out of a tenth as many as there are rows", "list", (*kvRun).bucketSuffix},
}

// openBuckets opens the daemon and the buckets beside it, which are closed at the end of the run.
func (r *kvRun) openBuckets(synced bool) ([]*BucketPeer, error) {
	peers := []*BucketPeer{stoaBuckets(r.daemon)}
	if r.options.BucketPeers == nil {
		return peers, nil
	}
	if r.buckets[synced] == nil {
		more, err := r.options.BucketPeers(r.options, synced)
		r.buckets[synced] = more
		if err != nil {
			return nil, err
		}
	}
	return append(peers, r.buckets[synced]...), nil
}

// inBuckets lets the peers take turns with n clients each, and notes how they compare with the
// daemon. Each bucket has the first of the keys.
func (r *kvRun) inBuckets(result Result, n int, demanded string, do func(c BucketClient, row int) error) (Result, error) {
	peers, err := r.openBuckets(true)
	if err != nil {
		return result, err
	}
	for _, p := range peers {
		if r.filled[p.Name] {
			continue
		}
		r.options.Logger.Info("filling a bucket", "peer", p.Name, "rows", r.few())
		if err := withClient(p, func(c BucketClient) error {
			return c.Fill(r.few(), func(row int) string { return r.keys[row] }, func(row int) []byte { return kvValue(nil, r.data, row) })
		}); err != nil {
			return result, err
		}
		r.filled[p.Name] = true
	}
	crews, err := crewsOf(peers, n, func(c BucketClient, _ int, random *rand.Rand) func() error {
		return func() error { return do(c, random.IntN(r.few())) }
	})
	if err != nil {
		return result, err
	}
	if result, err = takeTurns(r.options, result, crews); err != nil {
		return result, err
	}
	r.besideBuckets(&result, peers, demanded)
	return result, nil
}

// besideBuckets notes how the rate and the cost of the daemon compare with those of its peers.
func (r *kvRun) besideBuckets(result *Result, peers []*BucketPeer, demanded string) {
	for _, p := range peers[1:] {
		result.rate(peers[0].Name, p.Name, demanded)
		result.figure(fmt.Sprintf("cpu of %s / of %s", peers[0].Name, p.Name), ratio(result.measure(peers[0].Name), result.measure(p.Name), cpuOf), "", "")
	}
}

func bucketPuts(clients int, demanded string) func(*kvRun, Result) (Result, error) {
	return func(r *kvRun, result Result) (Result, error) {
		return r.inBuckets(result, clients, demanded, func(c BucketClient, row int) error {
			return c.Put(r.keys[row], kvValue(nil, r.data, row))
		})
	}
}

func (r *kvRun) bucketGets(result Result) (Result, error) {
	return r.inBuckets(result, 1, "at least 2", func(c BucketClient, row int) error {
		size, found, err := c.Get(r.keys[row])
		return expect(found && size == ValueBytes, err)
	})
}

// bucketHistory compares puts to buckets that keep one revision of each key with puts to such as
// keep 64, of a few keys, so that each has all of them soon.
func (r *kvRun) bucketHistory(result Result) (Result, error) {
	const callers, keys = 16, 1000
	err := r.daemon.with(func(c *rpc.Client) (err error) {
		var crews []*crew
		for _, history := range []int{1, 64} {
			name := fmt.Sprint("history-", history)
			b, err := stoaBucket(c, name, history)
			if err != nil {
				return err
			}
			crews = append(crews, r.crew(name, callers, func(random *rand.Rand) func() error {
				return func() error {
					row := random.IntN(keys)
					_, err := b.Put(context.Background(), r.keys[row], kvValue(nil, r.data, row), rpc.BucketPutOptions{Durability: rpc.WAL})
					return err
				}
			}))
		}
		if result, err = takeTurns(r.options, result, crews); err != nil {
			return err
		}
		one, all := result.measure("history-1"), result.measure("history-64")
		result.figure("time of a put with a history of 64 / of 1", all.Wall.Median/one.Wall.Median, "", "at most 1.5")
		result.figure("cpu of a put with a history of 64 / of 1", ratio(all, one, cpuOf), "", "")
		return nil
	})
	return result, err
}

// bucketWatch compares how soon 100 watchers have what is put, 1,000 times a second.
func (r *kvRun) bucketWatch(result Result) (Result, error) {
	const watchers = 100
	peers, err := r.openBuckets(true)
	if err != nil {
		return result, err
	}
	var crews []*crew
	for _, p := range peers {
		c, err := r.fanOut(p, watchers)
		crews = append(crews, c)
		if err != nil {
			releaseAll(crews)
			return result, err
		}
	}
	if result, err = takeTurns(r.options, result, crews); err != nil {
		return result, err
	}
	own := result.measure(peers[0].Name)
	for _, p := range peers[1:] {
		result.figure(fmt.Sprintf("p99 of %s / of %s", peers[0].Name, p.Name), own.P99/result.measure(p.Name).P99, "", "at most 0.5")
		result.figure(fmt.Sprintf("p50 of %s / of %s", peers[0].Name, p.Name), own.P50/result.measure(p.Name).P50, "", "")
		result.figure(fmt.Sprintf("cpu of %s / of %s", peers[0].Name, p.Name), ratio(own, result.measure(p.Name), cpuOf), "", "")
	}
	return result, nil
}

// fanOut is a crew whose clients watch a bucket, while others put values that say when.
func (r *kvRun) fanOut(p *BucketPeer, watchers int) (*crew, error) {
	const writers, every = 16, time.Millisecond
	var clients []BucketClient
	ctx, stop := context.WithCancel(context.Background())
	done := &crew{name: p.Name, elsewhere: p.Elsewhere, release: func() {
		stop()
		for _, c := range clients {
			c.Release()
		}
	}}
	var told atomic.Int64
	delays := make([][]time.Duration, watchers) // each is its watcher's
	for n := range watchers + writers {
		c, err := p.Client()
		if err != nil {
			return done, err
		}
		clients = append(clients, c)
		if n >= watchers {
			continue
		}
		if err := c.Watch(ctx, func(value []byte) {
			if at, err := strconv.ParseInt(string(value[1:20]), 10, 64); err == nil && value[0] == '"' {
				delays[n] = append(delays[n], time.Duration(time.Now().UnixNano()-at))
				told.Add(1)
			}
		}); err != nil {
			return done, err
		}
	}
	done.whole = func(d time.Duration) (s share) {
		for n := range delays {
			delays[n] = delays[n][:0]
		}
		told.Store(0)
		due := make(chan int, writers)
		errs := make([]error, writers)
		var group sync.WaitGroup
		for n, c := range clients[watchers:] {
			group.Go(func() {
				for row := range due {
					value := kvValue(nil, r.data, row)
					copy(value[1:], fmt.Sprintf("%019d", time.Now().UnixNano()))
					errs[n] = errors.Join(errs[n], c.Put(r.keys[row], value))
				}
			})
		}
		tick := time.NewTicker(every)
		defer tick.Stop()
		puts := 0
		for end := time.Now().Add(d); time.Now().Before(end); puts++ {
			<-tick.C
			due <- puts % r.few()
		}
		close(due)
		group.Wait()
		s.units = puts * watchers
		for late := time.Now().Add(startTimeout); told.Load() < int64(s.units); time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				s.err = fmt.Errorf("of %d events %d were told", s.units, told.Load())
				return s
			}
		}
		s.err = errors.Join(errs...)
		s.latencies = slices.Concat(delays...)
		return s
	}
	return done, nil
}

// bucketKeys lists many keys, beside other buckets, and looks at the daemon's memory meanwhile.
func (r *kvRun) bucketKeys(result Result) (Result, error) {
	n := r.options.Rows / 10 * 6
	peers, err := r.openBuckets(false)
	if err != nil {
		return result, err
	}
	var crews []*crew
	var own BucketClient
	for _, p := range peers {
		r.options.Logger.Info("filling a bucket", "peer", p.Name, "rows", n)
		c, err := p.Client()
		if err != nil {
			return result, err
		}
		defer c.Release()
		if c, err = c.Other("keys"); err != nil {
			return result, err
		}
		if own == nil {
			own = c
		}
		if err := c.Fill(n, kvKey, func(int) []byte { return []byte(`"v"`) }); err != nil {
			return result, fmt.Errorf("filling %s: %w", p.Name, err)
		}
		crews = append(crews, &crew{name: p.Name, elsewhere: p.Elsewhere, release: func() {}, hands: []func() (int, error){func() (int, error) {
			listed, err := c.Keys(func() error { return nil })
			if err == nil && listed != n {
				err = fmt.Errorf("of %d keys %d were listed", n, listed)
			}
			return listed, err
		}}})
	}
	if result, err = takeTurns(r.options, result, crews); err != nil {
		return result, err
	}
	r.besideBuckets(&result, peers, "at least 3")
	err = r.listMemory(&result, n, own.Keys)
	return result, err
}

// bucketSuffix asks for the keys that end with a token, which are found by an index.
func (r *kvRun) bucketSuffix(result Result) (Result, error) {
	n := r.data.Rows
	key := func(row int) string {
		var id [8]byte
		for i := range id {
			id[i] = byte(row >> (8 * i))
		}
		return fmt.Sprintf("owner%d.kind%d.%s", row%1000, row%7, hex.EncodeToString(id[:]))
	}
	err := withClient(stoaBuckets(r.daemon), func(of BucketClient) error {
		c, err := of.Other("suffix")
		if err != nil {
			return err
		}
		if err := c.Fill(n, key, func(int) []byte { return []byte(`"v"`) }); err != nil {
			return err
		}
		b := c.(*stoaBucketClient).bucket
		random := rand.New(rand.NewPCG(23, 23))
		lists := &crew{name: "bucket", elsewhere: r.daemon.process.cpu, release: func() {}, hands: []func() (int, error){func() (int, error) {
			row := random.IntN(n)
			id := key(row)
			listed := 0
			for found, err := range b.Keys(context.Background(), "*.*."+id[len(id)-16:]) {
				if err != nil || found != id {
					return 0, errors.Join(err, fmt.Errorf("%s is found in place of %s", found, id))
				}
				listed++
			}
			return 1, expect(listed == 1, nil)
		}}}
		if result, err = takeTurns(r.options, result, []*crew{lists}); err != nil {
			return err
		}
		result.figure(fmt.Sprintf("p99 of *.*.ID out of %d keys", n), result.measure("bucket").P99/1e6, "ms", "under 50")
		return nil
	})
	return result, err
}

// withClient calls fn with a client, which it releases.
func withClient[C Client](p *Peer[C], fn func(C) error) error {
	c, err := p.Client()
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.Release())
}
