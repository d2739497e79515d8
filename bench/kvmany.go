//go:build cgo

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

// putMany stores values in batches, each with the time to live that ttl returns; 0:
// for ever. It returns the latest moment that one is due.
func putMany(k *rpc.KV, n int, ttl func() int64) (last time.Time, err error) {
	for first := 0; first < n; first += batchLarge {
		var changes []kvstorage.Change
		seconds := ttl()
		for row := first; row < min(first+batchLarge, n); row++ {
			c := kvstorage.Change{Op: kvstorage.OpPut, Key: kvKey(row), Value: []byte("1")}
			if seconds > 0 {
				c.TTLSeconds = &seconds
			}
			changes = append(changes, c)
		}
		results, err := k.Batch(context.Background(), changes, engine.WAL)
		if err != nil {
			return last, err
		}
		last = results[len(results)-1].Item.Expires
	}
	return last, nil
}

// lookEvery is how many keys are listed between two looks at the daemon's memory.
const lookEvery = 4096

// list lists many keys, and looks at the daemon's memory meanwhile.
func (r *kvRun) list(result Result) (Result, error) {
	n := r.options.Rows / 10 * 6
	err := r.daemon.with(func(c *rpc.Client) error {
		k := c.KV("list")
		if _, err := putMany(k, n, func() int64 { return 0 }); err != nil {
			return err
		}
		if err := c.Flush(context.Background()); err != nil {
			return err
		}
		return r.listMemory(&result, n, func(now func() error) (listed int, err error) {
			begun := time.Now()
			for _, err := range k.All(context.Background(), "") {
				if err != nil {
					return listed, err
				}
				if listed++; listed%lookEvery == 0 {
					if err := now(); err != nil {
						return listed, err
					}
				}
			}
			took := time.Since(begun)
			m := Measure{Subject: "kv", turns: []turn{{Units: n, Wall: took, WallNanos: float64(took) / float64(n)}}}
			m.sum()
			result.Measures = []Measure{m}
			return listed, nil
		})
	})
	return result, err
}

// listMemory notes by how much the daemon's memory grows, beside its cache, while n keys are
// listed by something that calls now every few thousand of them.
func (r *kvRun) listMemory(result *Result, n int, list func(now func() error) (listed int, err error)) error {
	return r.daemon.with(func(c *rpc.Client) error {
		before, err := c.Stats(context.Background())
		if err != nil {
			return err
		}
		resident, err := r.daemon.process.resident()
		if err != nil {
			return err
		}
		peak := resident
		listed, err := list(func() error {
			now, err := r.daemon.process.resident()
			peak = max(peak, now)
			return err
		})
		if err != nil {
			return err
		}
		if listed != n {
			return fmt.Errorf("of %d keys %d were listed", n, listed)
		}
		after, err := c.Stats(context.Background())
		if err != nil {
			return err
		}
		grown := peak - resident - (int64(after.CacheBytes) - int64(before.CacheBytes))
		result.figure(fmt.Sprintf("memory that %d keys took", n), float64(max(grown, 0))/(1<<20), "MiB", "under 64 MiB")
		return nil
	})
}

// expire waits until many values are gone.
func (r *kvRun) expire(result Result) (Result, error) {
	n := r.data.Rows
	err := r.daemon.with(func(c *rpc.Client) error {
		k := c.KV("expire")
		if _, err := k.PutJSON(context.Background(), "stays", json.RawMessage("1")); err != nil {
			return err
		}
		due := time.Now().Add(2*time.Second + time.Duration(n)*100*time.Microsecond)
		last, err := putMany(k, n, func() int64 { return max(int64(time.Until(due)/time.Second), 1) })
		if err != nil {
			return err
		}
		time.Sleep(time.Until(last))
		t := turn{Units: n}
		for keys := uint64(0); keys != 1; {
			if t.Wall = time.Since(last); t.Wall > time.Minute {
				return errors.New("values stay after their time")
			}
			begun := time.Now()
			if _, err := k.Get(context.Background(), "stays"); err != nil {
				return errors.Join(errors.New("a value that stays is not there"), err)
			}
			t.latencies = append(t.latencies, time.Since(begun))
			stats, err := k.Stats(context.Background())
			if err != nil {
				return err
			}
			keys = stats.Keys
		}
		t.WallNanos = float64(t.Wall) / float64(n)
		m := Measure{Subject: "kv", turns: []turn{t}}
		m.sum()
		result.Measures = []Measure{m}
		result.figure(fmt.Sprintf("until the rows of %d values were gone", n), t.Wall.Seconds(), "s", "at most 5 s")
		result.figure("a get meanwhile, p99", m.P99/1e6, "ms", "")
		return nil
	})
	return result, err
}
