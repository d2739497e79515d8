//go:build cgo

package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// open opens the daemon and the stores beside it as peers, and fills them with the
// first of the keys, as many clients at once as are measured at most.
func (r *kvRun) open() error {
	if r.peers != nil {
		return nil
	}
	r.peers = []*KVPeer{stoaPeer(r.daemon)}
	for _, open := range []KVPeers{openRedisKV, r.options.KVPeers} {
		if open == nil {
			continue
		}
		more, err := open(r.options)
		r.peers = append(r.peers, more...)
		if err != nil {
			return err
		}
	}
	for _, p := range r.peers {
		r.options.Logger.Info("filling", "peer", p.Name, "rows", r.few())
		if err := r.fill(p); err != nil {
			return fmt.Errorf("filling %s: %w", p.Name, err)
		}
	}
	return nil
}

// few is how many keys the peers have.
func (r *kvRun) few() int { return min(r.data.Rows, 10_000) }

const kvClients = 64

func (r *kvRun) fill(p *KVPeer) error {
	errs := make([]error, kvClients)
	var group sync.WaitGroup
	for n := range kvClients {
		group.Go(func() {
			errs[n] = withClient(p, func(c KVClient) (err error) {
				for row := n; row < r.few() && err == nil; row += kvClients {
					err = c.Put(kvKey(row), kvValue(nil, r.data, row))
				}
				return err
			})
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// beside lets the peers take turns with n clients each, and notes how they compare
// with the daemon.
func (r *kvRun) beside(result Result, n int, do func(c KVClient, row int) error) (Result, error) {
	if err := r.open(); err != nil {
		return result, err
	}
	crews, err := crewsOf(r.peers, n, func(c KVClient, _ int, random *rand.Rand) func() error {
		return func() error { return do(c, random.IntN(r.few())) }
	})
	if err != nil {
		return result, err
	}
	result, err = takeTurns(r.options, result, crews)
	for _, p := range r.peers[1:] {
		result.rate(r.peers[0].Name, p.Name, demandedBeside(p.Name))
	}
	return result, err
}

// demandedBeside is what the rate of the daemon is to be to that of a peer.
func demandedBeside(peer string) string {
	if strings.HasPrefix(peer, "nats") {
		return "above 1"
	}
	return ""
}

func kvDurable(clients int) func(*kvRun, Result) (Result, error) {
	return func(r *kvRun, result Result) (Result, error) {
		return r.beside(result, clients, func(c KVClient, row int) error { return c.Put(kvKey(row), kvValue(nil, r.data, row)) })
	}
}

func (r *kvRun) mix(result Result) (Result, error) {
	const clients, readsOf10 = 16, 9
	return r.beside(result, clients, func(c KVClient, row int) error {
		if rand.IntN(10) < readsOf10 {
			return r.read(c, row)
		}
		return c.Put(kvKey(row), kvValue(nil, r.data, row))
	})
}

func (r *kvRun) reads(result Result) (Result, error) {
	return r.beside(result, 1, r.read)
}

func (r *kvRun) read(c KVClient, row int) error {
	size, found, err := c.Get(kvKey(row))
	return expect(found && size == ValueBytes, err)
}
