package dag

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// The versions of a key are the writes to it by deltas that are applied, the newest first: each is known by the
// number of its delta. A version that was the newest when it was applied is in a chain: the row of the order says which
// such version is before it, and the trie, or dag-gone where the key is deleted, which is the last of them, the newest of
// all. One that came when there was a newer one is late, and has a row of dag-late.

// version is one write to one key.
type version struct {
	stamp
	seq    uint64
	put    bool
	value  codec.Hash // of a put; zero for one of the base
	before uint64     // the version before it; 0: none
}

// pastDelta is what is needed of an applied delta.
type pastDelta struct {
	stamp
	root    codec.Hash // zero: not known
	parents []uint64
	before  []uint64 // of writes
	known   bool     // writes are
	writes  []pastWrite
}

// pastWrite is a write of such a delta. Values that are large are hashed when they are asked for.
type pastWrite struct {
	key    codec.Hash
	value  codec.Hash // of a put, if it is hashed
	put    bool
	hashed bool
}

// smallValue is how long a value is at most that is hashed with its key. Tests change it.
var smallValue = 1 << 10

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

func (r *recent) add(seq uint64, d *pastDelta) {
	if r.deltas == nil || len(r.deltas) >= maxRecent || r.keys >= maxRecentKeys {
		r.deltas, r.keys = make(map[uint64]*pastDelta), 0
	}
	r.deltas[seq] = d
	r.keys += len(d.parents) + len(d.writes)
}

// applied notes a delta that is applied, where there is concurrency. It keeps nothing of o and p.
func (r *recent) applied(seq uint64, o *orderRow, p *prepared) {
	if r.deltas == nil {
		return
	}
	d := &pastDelta{stamp: stamp{o.hlc, o.id}, root: p.d.ExpectedRoot, parents: slices.Clone(o.parents), before: slices.Clone(o.before),
		known: true, writes: make([]pastWrite, len(p.writes))}
	for i := range p.writes {
		w := &p.writes[i]
		d.writes[i] = pastWrite{key: w.Key, value: w.Value, put: !w.Delete, hashed: true}
	}
	r.add(seq, d)
}

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

// order returns a delta, of which the writes may not be known.
func (p *past) order(seq uint64) (*pastDelta, error) {
	if d := p.recent.deltas[seq]; d != nil {
		return d, nil
	}
	row, err := readOrder(p.v, &p.id, seq)
	if err != nil {
		return nil, err
	}
	d := &pastDelta{stamp: stamp{row.hlc, row.id}, parents: row.parents, before: row.before}
	p.recent.add(seq, d)
	return d, nil
}

// delta returns a delta with its writes.
func (p *past) delta(seq uint64) (*pastDelta, error) {
	d, err := p.order(seq)
	if err != nil || d.known {
		return d, err
	}
	d.writes = d.writes[:0] // of an attempt that failed
	if err := p.readDelta(&d.id, func(appKey, value []byte, put bool) {
		w := pastWrite{key: merkle.HashKey(appKey), put: put}
		if w.hashed = len(value) <= smallValue; w.hashed && put {
			w.value = merkle.HashValue(value)
		}
		d.writes = append(d.writes, w)
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(d.writes, func(a, b pastWrite) int { return bytes.Compare(a.key[:], b.key[:]) })
	if d.id == p.base.id {
		d.writes = nil // which were before it
	}
	if len(d.writes) != len(d.before) {
		return nil, damagedRow(column.Generic, orderKey(nil, &p.id, seq), fmt.Sprintf("versions before %d keys of a delta that writes %d", len(d.before), len(d.writes)))
	}
	d.known = true
	p.recent.keys += len(d.writes)
	return d, nil
}

// readDelta calls fn with the actions of a delta, which are valid during the call.
func (p *past) readDelta(id *codec.DeltaID, fn func(appKey, value []byte, put bool)) (err error) {
	key := deltaKey(nil, &p.id, id)
	p.v.buf, err = p.v.Get(p.v.buf[:0], column.Delta, key)
	if errors.Is(err, engine.ErrNotFound) {
		return damagedRow(column.Delta, key, "an applied delta is missing")
	}
	if err != nil {
		return err
	}
	if err := rowActions(p.v.buf, fn); err != nil {
		return fmt.Errorf("%w: %w", damagedRow(column.Delta, key, "not a delta"), err)
	}
	return nil
}

// rowActions calls fn with the actions of the delta of a row, which are parts of it.
func rowActions(row []byte, fn func(appKey, value []byte, put bool)) error {
	c := cutter.New("ContextDagDeltaValue", row)
	c.Take("delta_id", 32)
	c.Take("parents", 32*c.Count("parents", 32))
	for n := c.Count("actions", 5); n > 0; n-- {
		put := c.U8("actions") == byte(codec.ActionPut)
		key := c.Take("actions.key", c.Count("actions.key", 1))
		var value []byte
		if put {
			value = c.Take("actions.value", c.Count("actions.value", 1))
		}
		if c.Err != nil {
			return c.Err
		}
		fn(key, value, put)
	}
	if c.Err != nil {
		return c.Err
	}
	return nil
}

// hashValues hashes all values of a delta that are not hashed yet: to look each up would take as many walks through its row.
func (p *past) hashValues(d *pastDelta) error {
	return p.readDelta(&d.id, func(appKey, value []byte, _ bool) {
		if len(value) <= smallValue {
			return
		}
		key := merkle.HashKey(appKey)
		if i, ok := place(d.writes, &key); ok {
			d.writes[i].value, d.writes[i].hashed = merkle.HashValue(value), true
		}
	})
}

// place returns where among the writes of a delta that of a key is.
func place(writes []pastWrite, key *codec.Hash) (int, bool) {
	return slices.BinarySearchFunc(writes, key, func(w pastWrite, key *codec.Hash) int { return bytes.Compare(w.key[:], key[:]) })
}

// last returns the number of the newest version of a key, 0 if it was never written.
func (p *past) last(key *codec.Hash) (uint64, error) {
	if seq, ok := p.lasts[*key]; ok {
		return seq, nil
	}
	seq, found, err := p.trie.Mark(*key)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return p.gone(key)
	case seq == 0:
		return 0, damagedRow(column.Generic, merkle.KeyPrefix(nil, &p.id), fmt.Sprintf("the trie does not say which version of the key %s is the newest", key))
	}
	return seq, nil
}

// gone returns the number of the newest version of a key that the trie has not, 0 if it was never written.
func (p *past) gone(key *codec.Hash) (uint64, error) {
	if p.noneGone {
		return 0, nil
	}
	var array [contextPrefixLen + 32]byte
	var value [8]byte
	row := goneKey(array[:0], &p.id, key)
	b, err := p.v.Get(value[:0], column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	seq, ok := parseU64(b)
	if !ok || seq == 0 {
		return 0, damagedRow(column.Generic, row, "not the number of a version")
	}
	return seq, nil
}

// version returns the version of a key that number seq has made.
func (p *past) version(seq uint64, key *codec.Hash) (v version, err error) {
	d, err := p.order(seq)
	if err != nil {
		return v, err
	}
	if d.id == p.base.id {
		return version{stamp: d.stamp, seq: seq, put: true}, nil
	}
	if d, err = p.delta(seq); err != nil {
		return v, err
	}
	i, ok := place(d.writes, key)
	if !ok {
		return v, damagedRow(column.Generic, orderKey(nil, &p.id, seq), fmt.Sprintf("it is said to have written the key %s, and has not", key))
	}
	w := &d.writes[i]
	if !w.hashed {
		if err := p.hashValues(d); err != nil {
			return v, err
		}
	}
	return version{stamp: d.stamp, seq: seq, put: w.put, value: w.value, before: d.before[i]}, nil
}

// chain reads the versions of a key that are in its chain, the newest first.
type chain struct {
	p     *past
	key   *codec.Hash
	at    uint64 // the next; 0: none
	newer stamp  // the one before
}

func (p *past) chain(key *codec.Hash) (c chain, err error) {
	c = chain{p: p, key: key}
	c.at, err = p.last(key)
	return c, err
}

// next returns the next version that is after limit, nil: any. Without one its seq is 0.
func (c *chain) next(limit *stamp) (v version, err error) {
	if c.at == 0 {
		return v, nil
	}
	d, err := c.p.order(c.at)
	if err != nil {
		return v, err
	}
	if !c.newer.id.IsZero() && !c.newer.after(&d.stamp) {
		return v, damagedRow(column.Generic, orderKey(nil, &c.p.id, c.at), "versions of a key are out of order")
	}
	if limit != nil && !d.after(limit) {
		return v, nil
	}
	if v, err = c.p.version(c.at, c.key); err == nil {
		c.at, c.newer = v.before, v.stamp
	}
	return v, err
}

// versions calls fn with the versions of a key, the newest first, until it returns false.
func (p *past) versions(key *codec.Hash, fn func(*version) bool) error {
	c, err := p.chain(key)
	if err != nil || c.at == 0 {
		return err
	}
	// chained goes on with the chain, down to what is not after limit. It returns errStop where fn has had enough.
	chained := func(limit *stamp) error {
		for {
			v, err := c.next(limit)
			if err != nil || v.seq == 0 {
				return err
			}
			if !fn(&v) {
				return errStop
			}
		}
	}
	err = p.late(key, func(by *stamp, seq uint64) error {
		if err := chained(by); err != nil {
			return err
		}
		v, err := p.version(seq, key)
		if err == nil && v.stamp != *by {
			err = damagedRow(column.Generic, lateKey(nil, &p.id, key, by), fmt.Sprintf("number %d has another stamp", seq))
		}
		if err == nil && !fn(&v) {
			err = errStop
		}
		return err
	})
	if err == nil {
		err = chained(nil)
	}
	if err == errStop {
		return nil
	}
	return err
}

// lateVersion is what a row of dag-late says.
type lateVersion struct {
	by  stamp
	seq uint64
}

// parseLateRow returns what a row says, and of which key.
func parseLateRow(row, value []byte) (of codec.Hash, v lateVersion, err error) {
	of, by, ok := parseLate(row)
	seq, is := parseU64(value)
	if !ok || !is {
		return of, v, damagedRow(column.Generic, row, "not a late version")
	}
	return of, lateVersion{by, seq}, nil
}

// late calls fn with the late versions of a key, the newest first, until it returns an error.
func (p *past) late(key *codec.Hash, fn func(by *stamp, seq uint64) error) error {
	if p.noneLate {
		return nil
	}
	if p.lates != nil {
		for _, v := range p.lates[*key] {
			if err := fn(&v.by, v.seq); err != nil {
				return err
			}
		}
		return nil
	}
	prefix := append(contextPrefix(nil, lateScope, &p.id), key[:]...)
	// fn reads, and may change, what is looked through: a page at a time.
	for start, most := prefix, 1; ; most = min(4*most, latePage) {
		var page []lateVersion
		rg := engine.Prefixed(prefix)
		rg.Start, rg.Limit = start, most
		err := each(p.v, rg, func(row, value []byte) error {
			_, v, err := parseLateRow(row, value)
			if err != nil {
				return err
			}
			page = append(page, v)
			start = append(bytes.Clone(row), 0)
			return nil
		})
		for i := range page {
			if err != nil {
				break
			}
			err = fn(&page[i].by, page[i].seq)
		}
		if err != nil || len(page) < most {
			return err
		}
	}
}

// latePage is how many late versions of a key are looked at together, after the first few.
const latePage = 64

// From manyKeys on the late versions of all keys are read at once, if there are not more than latesPerKey for each of those
// that are asked for. Tests change manyKeys.
var manyKeys = 64

const latesPerKey = 8

// readLates prepares for so many calls of late, between which nothing is changed.
func (p *past) readLates(calls int) error {
	if p.noneLate || calls < manyKeys {
		return nil
	}
	rg := engine.Prefixed(contextPrefix(nil, lateScope, &p.id))
	rg.Limit = latesPerKey*calls + 1
	lates, n := make(map[codec.Hash][]lateVersion), 0
	err := each(p.v, rg, func(row, value []byte) error {
		of, v, err := parseLateRow(row, value)
		lates[of] = append(lates[of], v)
		n++
		return err
	})
	if err == nil && n < rg.Limit {
		p.lates = lates
	}
	return err
}
