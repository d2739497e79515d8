package rpc

import (
	"context"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The operations on rows are written by hand, on both ends: their messages are read where
// they lie, and rows are not copied on their way.
var (
	storeGet      = op.ByHand(op.Method{Number: 101, Name: "Store.Get", Role: access.Reader, Short: true, Large: true})
	storeMultiGet = op.ByHand(op.Method{Number: 102, Name: "Store.MultiGet", Role: access.Reader, Short: true, Large: true})
	storeApply    = op.ByHand(op.Method{Number: 103, Name: "Store.Apply", Role: access.Writer})
	storeScan     = op.ByHand(op.Method{Number: 104, Name: "Store.Scan", Role: access.Reader})
	_             = op.ByHand(op.Method{Number: 105, Name: "Store.ApproximateSize", Role: access.Reader, Short: true})
	_             = op.ByHand(op.Method{Number: 106, Name: "Store.Session", Role: access.Reader})
)

// Store is the rows of a daemon: an engine.Reader and engine.Writer whose store is
// elsewhere, so that engine.Get and its like work with it. It is a view of its client, and
// as safe for concurrent use; its calls, scans and snapshots end with its context.
type Store struct {
	c   *Client
	ctx context.Context

	guardTenant string
	guards      []*stoav1.LockGuard
}

var (
	_ engine.Reader = (*Store)(nil)
	_ engine.Writer = (*Store)(nil)
)

// Store returns the rows of the daemon. The interfaces of package engine have no contexts,
// so that this one is of all that is done by what it returns, which costs nothing to make.
func (c *Client) Store(ctx context.Context) *Store { return &Store{c: c, ctx: ctx} }

// Guarded returns the rows for writes that are made only if all of some locks of a tenant are
// held by the grants that their guards name, at most lock.MaxGuards: else Apply returns
// lock.ErrFenced, with the present token.
func (s *Store) Guarded(tenant string, guards ...LockGuard) *Store {
	g := &Store{c: s.c, ctx: s.ctx, guardTenant: tenant}
	for _, one := range guards {
		g.guards = append(g.guards, &stoav1.LockGuard{Name: one.Name, Token: one.Token})
	}
	return g
}

// Get appends the value of a row to dst, as [engine.Getter] has it.
func (s *Store) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return s.get(dst, col, key, 0)
}

// MultiGet reads rows at once as [engine.Reader] has it, MaxLookups keys, and values of
// engine.MaxBatch bytes at most.
func (s *Store) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return s.multiGet(buf, lookups, 0)
}

// Iterate reads a range as [engine.Reader] has it. The iterator is a stream: entries come
// ahead of being asked for. Its bounds are those of r; give a Limit where few entries are
// wanted.
func (s *Store) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	return s.iterate(col, r, nil)
}

// ApproximateSize returns about how many bytes the keys of col in r take on the
// daemon's disk, without reading them.
func (s *Store) ApproximateSize(col column.Column, r engine.Range) (uint64, error) {
	ctx, cancel := s.c.call(s.ctx)
	defer cancel()
	res, err := s.c.store.ApproximateSize(ctx, &stoav1.ApproximateSizeRequest{
		Column: stoav1.Column(col), Start: r.Start, End: r.End,
	})
	return res.GetBytes(), s.c.failed("size", err)
}

// Apply writes a batch as [engine.Writer] has it. The daemon checks every row against the
// schema: it returns *keys.Error or *codec.Error for one that may not be written, and
// writes nothing. After ErrUnavailable or the end of the context the batch may
// or may not have been written.
func (s *Store) Apply(b *engine.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	ask := &stoav1.ApplyRequest{Ops: b.Bytes(), Expectations: b.Expectations(), Durability: op.Durability(b.Durability), GuardTenant: []byte(s.guardTenant), Guards: s.guards}
	if len(s.guards) > 0 {
		if err := s.c.guards(s.ctx); err != nil {
			return err
		}
	}
	return s.c.unary(s.ctx, &storeApply.Method, ask, new(stoav1.ApplyResponse))
}

// readsShared reports whether shared rows may answer a read of a snapshot; 0 is the present.
func (s *Store) readsShared(snapshot uint64) bool {
	return s.c.rows != nil && snapshot == 0 && s.ctx.Err() == nil
}

func (s *Store) get(dst []byte, col column.Column, key []byte, snapshot uint64) ([]byte, error) {
	if s.readsShared(snapshot) {
		if value, ok := s.c.rows.Get(dst, col, key); ok {
			return value, nil
		}
	}
	g := wire.NewGet()
	defer g.Free()
	g.Column, g.Key, g.Snapshot, g.Answer.Data = col, key, snapshot, dst
	if err := s.c.unary(s.ctx, &storeGet.Method, g, &g.Answer); err != nil {
		return dst, err
	}
	if !g.Answer.Found {
		return dst, engine.ErrNotFound
	}
	return g.Answer.Data, nil
}

func (s *Store) multiGet(buf []byte, lookups []engine.Lookup, snapshot uint64) ([]byte, error) {
	if len(lookups) > wire.MaxLookups {
		return buf, fmt.Errorf("rpc: multiget: %w: %d keys, at most %d", engine.ErrTooLarge, len(lookups), wire.MaxLookups)
	}
	if s.readsShared(snapshot) {
		if values, ok := s.c.rows.MultiGet(buf, lookups); ok {
			return values, nil
		}
	}
	ask := &stoav1.MultiGetRequest{Lookups: wire.AppendLookups(nil, lookups), Snapshot: snapshot}
	answer := wire.Inbound{Data: buf}
	if err := s.c.unary(s.ctx, &storeMultiGet.Method, ask, &answer); err != nil {
		return buf, err
	}
	if err := wire.ParseValues(answer.Data[len(buf):], lookups); err != nil {
		return buf, err
	}
	return answer.Data, nil
}

// iterate opens a scan of a snapshot or, if it is nil, of the present state.
func (s *Store) iterate(col column.Column, r engine.Range, of *snapshot) (*engine.Iterator, error) {
	ask := &stoav1.ScanRequest{
		Column: stoav1.Column(col), Start: r.Start, End: r.End, Reverse: r.Reverse, Limit: uint64(max(r.Limit, 0)),
	}
	if of != nil {
		ask.Snapshot = of.id
	}
	opened, err := s.c.openScan(s.ctx, ask, of)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(opened, r.Limit), nil
}
