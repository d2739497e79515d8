package rpc

import (
	"context"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Get is engine.Getter's.
func (c *Client) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return c.get(dst, col, key, 0)
}

// MultiGet is engine.Reader's, for MaxLookups keys, and values of engine.MaxBatch bytes at most.
func (c *Client) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return c.multiGet(buf, lookups, 0)
}

// Iterate is engine.Reader's. The iterator is a stream: entries come ahead of
// being asked for. Its bounds are those of r; give a Limit where few entries are
// wanted.
func (c *Client) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	return c.iterate(c.ctx, col, r, nil)
}

// ApproximateSize returns about how many bytes the keys of col in r take on the
// daemon's disk, without reading them.
func (c *Client) ApproximateSize(col column.Column, r engine.Range) (uint64, error) {
	ctx, cancel := c.call()
	defer cancel()
	res, err := c.store.ApproximateSize(ctx, &stoav1.ApproximateSizeRequest{
		Column: stoav1.Column(col), Start: r.Start, End: r.End,
	})
	return res.GetBytes(), c.failed("size", err)
}

func (c *Client) get(dst []byte, col column.Column, key []byte, snapshot uint64) ([]byte, error) {
	g := wire.NewGet()
	defer g.Free()
	g.Column, g.Key, g.Snapshot, g.Answer.Data = col, key, snapshot, dst
	if err := c.unary(c.ctx, &storeGet.Method, g, &g.Answer); err != nil {
		return dst, err
	}
	if !g.Answer.Found {
		return dst, engine.ErrNotFound
	}
	return g.Answer.Data, nil
}

func (c *Client) multiGet(buf []byte, lookups []engine.Lookup, snapshot uint64) ([]byte, error) {
	if len(lookups) > wire.MaxLookups {
		return buf, fmt.Errorf("rpc: multiget: %w: %d keys, at most %d", engine.ErrTooLarge, len(lookups), wire.MaxLookups)
	}
	ask := &stoav1.MultiGetRequest{Lookups: wire.AppendLookups(nil, lookups), Snapshot: snapshot}
	answer := wire.Inbound{Data: buf}
	if err := c.unary(c.ctx, &storeMultiGet.Method, ask, &answer); err != nil {
		return buf, err
	}
	if err := wire.ParseValues(answer.Data[len(buf):], lookups); err != nil {
		return buf, err
	}
	return answer.Data, nil
}

// iterate opens a scan that ends with ctx, of a snapshot or, if it is nil, the
// present state.
func (c *Client) iterate(ctx context.Context, col column.Column, r engine.Range, of *Snapshot) (*engine.Iterator, error) {
	ask := &stoav1.ScanRequest{
		Column: stoav1.Column(col), Start: r.Start, End: r.End, Reverse: r.Reverse, Limit: uint64(max(r.Limit, 0)),
	}
	if of != nil {
		ask.Snapshot = of.id
	}
	s, err := c.openScan(ctx, ask, of)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(s, r.Limit), nil
}
