//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/rpc"
)

// limitChecks compares checks with increments, of as many names.
func (r *kvRun) limitChecks(result Result) (Result, error) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("user-%d", i)
	}
	return r.quickly(result, "limit", "at most 1.3", func(c *rpc.Client) (*crew, *crew) {
		return r.crew("increment", 1, func(random *rand.Rand) func() error {
				k := c.KV(kvTenant)
				return func() error {
					_, err := k.Increment(context.Background(), names[random.IntN(len(names))], 1, rpc.WithDurability(engine.WAL))
					return err
				}
			}), r.crew("limit", 1, func(random *rand.Rand) func() error {
				l := c.Limits("limits")
				return func() error {
					v, err := l.Check(context.Background(), limit.Name{Endpoint: "bench", User: names[random.IntN(len(names))]}, limit.Rule{Max: limit.MaxMax, Window: time.Second}, engine.WAL)
					if err == nil && !v.Allowed {
						err = errors.New("a check that did not pass")
					}
					return err
				}
			})
	})
}

// quickly is compare of how quick a call is.
func (r *kvRun) quickly(result Result, name, demanded string, crews func(c *rpc.Client) (a, b *crew)) (Result, error) {
	result, err := r.compare(result, "", crews)
	if err == nil && len(result.Measures) == 2 && result.Measures[0].P50 > 0 {
		a, b := &result.Measures[0], &result.Measures[1]
		result.figure(fmt.Sprintf("p50 of %s / of %s", b.Subject, a.Subject), b.P50/a.P50, "", demanded)
	}
	return result, err
}
