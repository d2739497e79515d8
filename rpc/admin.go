package rpc

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Status returns what the daemon is, and how it is.
func (c *Client) Status() (*stoav1.StatusResponse, error) {
	ctx, cancel := c.call()
	defer cancel()
	res, err := c.admin.Status(ctx, &stoav1.StatusRequest{})
	return res, c.failed("status", err)
}

// Stats returns counts and sizes of the daemon's engine.
func (c *Client) Stats() (engine.Stats, error) {
	ctx, cancel := c.call()
	defer cancel()
	res, err := c.admin.Stats(ctx, &stoav1.StatsRequest{})
	if err != nil {
		return engine.Stats{}, c.failed("stats", err)
	}
	s := engine.Stats{
		Sequence: res.Sequence, WALBytes: res.WalBytes, MemtableBytes: res.MemtableBytes,
		CacheBytes: res.CacheBytes, CacheCapacity: res.CacheCapacity, Snapshots: res.Snapshots, Stopped: res.Stopped,
	}
	for _, c := range res.Columns {
		s.Columns = append(s.Columns, engine.ColumnStats{
			Column: column.Column(c.Column), Keys: c.Keys, TableBytes: c.TableBytes, BlobBytes: c.BlobBytes,
			MemtableBytes: c.MemtableBytes, PendingCompaction: c.PendingCompactionBytes, Tables: c.Tables,
		})
	}
	return s, nil
}

// Checkpoint makes a copy of the daemon's store in dir, an absolute path on the
// daemon's machine that must not exist. Like Compact, Flush and Reopen it takes
// as long as it takes, unless the context of c ends.
func (c *Client) Checkpoint(dir string) error {
	_, err := c.admin.Checkpoint(c.ctx, &stoav1.CheckpointRequest{Dir: dir})
	return c.failed("checkpoint", err)
}

// Compact rewrites the tables of the keys of col in r and waits for it. A col of
// 0 is all columns, whole.
func (c *Client) Compact(col column.Column, r engine.Range) error {
	_, err := c.admin.Compact(c.ctx, &stoav1.CompactRequest{Column: stoav1.Column(col), Start: r.Start, End: r.End})
	return c.failed("compact", err)
}

// Flush writes what is in the daemon's memory to tables and waits for it.
func (c *Client) Flush() error {
	_, err := c.admin.Flush(c.ctx, &stoav1.FlushRequest{})
	return c.failed("flush", err)
}

// Reopen closes and opens the daemon's storage after a fault that made it
// read-only, and returns how it is then.
func (c *Client) Reopen() (engine.Health, error) {
	res, err := c.admin.Reopen(c.ctx, &stoav1.ReopenRequest{})
	return engine.Health{Writable: res.GetHealth().GetWritable(), Reason: res.GetHealth().GetReason()}, c.failed("reopen", err)
}
