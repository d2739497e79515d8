package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// Digests are the digests of a store.
type Digests struct {
	State   string        `json:"state"`   // over the shared rows of all columns: equal on nodes with equal state; empty if not all can be read
	Columns []ColumnHash  `json:"columns"` // over their shared rows
	Apart   []PartialHash `json:"apart"`   // secrets, and what is of this node alone
	// Findings are what could not be read. Columns of which that is so have no digests.
	Findings []Finding `json:"findings,omitempty"`
}

// ColumnHash is the digest of the shared rows of a column.
type ColumnHash struct {
	Column string        `json:"column"`
	Rows   uint64        `json:"rows"`
	Digest string        `json:"digest"` // empty if there are none
	Parts  []PartialHash `json:"parts,omitempty"`
	// Unreadable says that not all of its rows can be read.
	Unreadable bool `json:"unreadable,omitempty"`
}

// PartialHash is the digest of the rows of one type or scope.
type PartialHash struct {
	Column string `json:"column"`
	Part   string `json:"part"`
	Class  Class  `json:"class"`
	Rows   uint64 `json:"rows"`
	Digest string `json:"digest"`
}

// Hash reads every row of s and returns digests, in hex. README.md says how they
// are made, so that another language can make them. Of a column that is damaged there
// are none.
func Hash(ctx context.Context, s *Source, progress func(rows uint64)) (*Digests, error) {
	w := &walker{ctx: ctx, progress: progress}
	out := &Digests{}
	state := sha256.New()
	for c := range column.All {
		parts := map[string]*digest{}
		var gaps []Finding
		err := w.walkAround(s, c, func(key, value []byte) error {
			class, name := Local, "unaccounted"
			info, err := keys.Identify(c, key)
			if err == nil {
				class, name, value = classOf(c, info, key, value)
			}
			p := parts[name]
			if p == nil {
				p = newDigest(PartialHash{Column: c.String(), Part: name, Class: class}, name == "GroupOpLog")
				parts[name] = p
			}
			p.add(key, value)
			return nil
		}, func(after, before []byte, err error) {
			gaps = append(gaps, NewFinding("unreadable", c, after, gap(after, before, err)))
		})
		if f, ok := tolerated(c, err); ok {
			gaps, err = append(gaps, f), nil
		}
		if err != nil {
			return nil, err
		}
		col := ColumnHash{Column: c.String()}
		if gaps != nil {
			out.Findings = append(out.Findings, gaps...)
			col.Unreadable = true
			out.Columns = append(out.Columns, col)
			continue
		}
		sum := sha256.New()
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			p := parts[name]
			done := p.done()
			if p.Class != Shared {
				out.Apart = append(out.Apart, done)
				continue
			}
			col.Parts = append(col.Parts, done)
			col.Rows += p.Rows
			writePart(sum, []byte(name))
			writePart(sum, p.sum[:])
		}
		if col.Rows > 0 {
			col.Digest = hex.EncodeToString(sum.Sum(nil))
		}
		writePart(state, []byte(col.Column))
		writePart(state, []byte(col.Digest))
		out.Columns = append(out.Columns, col)
	}
	if out.Findings == nil {
		out.State = hex.EncodeToString(state.Sum(nil))
	}
	return out, w.report()
}

// digest is the digest of a part under way: over its rows in the order of their
// keys, or, where that order differs between nodes, the sum of those of the rows.
type digest struct {
	PartialHash
	hash   hash.Hash
	summed bool
	sum    [sha256.Size]byte
	row    [sha256.Size]byte
}

func newDigest(p PartialHash, summed bool) *digest {
	return &digest{PartialHash: p, hash: sha256.New(), summed: summed}
}

func (d *digest) add(key, value []byte) {
	d.Rows++
	if !d.summed {
		writePart(d.hash, key)
		writePart(d.hash, value)
		return
	}
	d.hash.Reset()
	writePart(d.hash, key[:len(key)-8]) // without the sequence
	writePart(d.hash, value)
	d.hash.Sum(d.row[:0])
	carry := uint16(0)
	for i := len(d.sum) - 1; i >= 0; i-- {
		carry += uint16(d.sum[i]) + uint16(d.row[i])
		d.sum[i] = byte(carry)
		carry >>= 8
	}
}

func (d *digest) done() PartialHash {
	if !d.summed {
		d.hash.Sum(d.sum[:0])
	}
	d.Digest = hex.EncodeToString(d.sum[:])
	return d.PartialHash
}

// writePart writes the length of b, a u32 little-endian, and b.
func writePart(h hash.Hash, b []byte) {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(b)))
	_, _ = h.Write(n[:]) // a hash takes everything
	_, _ = h.Write(b)
}
