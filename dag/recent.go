package dag

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// pastDelta is what a cut needs to know of an applied delta.
type pastDelta struct {
	id      codec.DeltaID
	parents []uint64
	known   bool // keys are
	keys    []codec.Hash
}

// recent keeps what cuts have looked at, for the next cut of the context is likely
// to look at it again. A context without concurrency has nothing in it. It is kept
// up with what is applied.
type recent struct {
	deltas map[uint64]*pastDelta
	keys   int // of deltas, and parents

	known map[codec.Hash]*versions
	count int // of known
}

// versions are the newest versions of a key, the newest first; at least one.
type versions struct {
	newest []version
	whole  bool // there are no others
}

// What recent holds at most; when there is more, it begins again.
const (
	maxRecent         = 2048
	maxRecentKeys     = 32 << 10
	maxRecentVersions = 16 << 10
)

func (r *recent) keep(key codec.Hash, h *versions) {
	if old := r.known[key]; old != nil {
		r.count -= len(old.newest)
	}
	if r.known == nil || r.count >= maxRecentVersions {
		r.known, r.count = make(map[codec.Hash]*versions), 0
	}
	r.known[key] = h
	r.count += len(h.newest)
}

// wrote notes a version that is applied.
func (r *recent) wrote(key *codec.Hash, v version) {
	h := r.known[*key]
	if h == nil {
		return
	}
	at := slices.IndexFunc(h.newest, func(o version) bool { return v.after(&o.stamp) })
	if at < 0 && !h.whole {
		return // it is older than what is known
	}
	if at < 0 {
		at = len(h.newest)
	}
	h.newest = slices.Insert(h.newest, at, v)
	r.count++
}

// order returns a delta, of which the keys may not be known.
func (p *past) order(seq uint64) (*pastDelta, error) {
	if d := p.recent.deltas[seq]; d != nil {
		return d, nil
	}
	row, err := readOrder(p.v, &p.id, seq)
	if err != nil {
		return nil, err
	}
	if p.recent.deltas == nil || len(p.recent.deltas) >= maxRecent || p.recent.keys >= maxRecentKeys {
		p.recent.deltas, p.recent.keys = make(map[uint64]*pastDelta), 0
	}
	d := &pastDelta{id: row.id, parents: row.parents}
	p.recent.deltas[seq] = d
	p.recent.keys += len(d.parents)
	return d, nil
}

// delta returns a delta with its keys.
func (p *past) delta(seq uint64) (*pastDelta, error) {
	d, err := p.order(seq)
	if err != nil || d.known {
		return d, err
	}
	key := deltaKey(nil, &p.id, &d.id)
	p.v.buf, err = p.v.Get(p.v.buf[:0], column.Delta, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, damagedRow(column.Delta, key, "an applied delta is missing")
	}
	if err != nil {
		return nil, err
	}
	appKeys, err := rowKeys(p.v.buf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", damagedRow(column.Delta, key, "not a delta"), err)
	}
	d.keys = make([]codec.Hash, len(appKeys))
	for i, appKey := range appKeys {
		d.keys[i] = merkle.HashKey(appKey)
	}
	d.known = true
	p.recent.keys += len(d.keys)
	return d, nil
}

// rowKeys returns the app_keys that the delta of a row writes, which are parts of the row, without
// looking at what comes after its actions.
func rowKeys(row []byte) ([][]byte, error) {
	c := cutter.New("ContextDagDeltaValue", row)
	c.Take("delta_id", 32)
	c.Take("parents", 32*c.Count("parents", 32))
	keys := make([][]byte, c.Count("actions", 5))
	for i := range keys {
		put := c.U8("actions") == byte(codec.ActionPut)
		keys[i] = c.Take("actions.key", c.Count("actions.key", 1))
		if put {
			c.Take("actions.value", c.Count("actions.value", 1))
		}
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return keys, nil
}
