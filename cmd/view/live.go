package view

import (
	"net/http"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
)

// liveDoc is what a daemon does at a time. Rates are the differences of two.
type liveDoc struct {
	At        time.Time `json:"at"`
	Sequence  uint64    `json:"sequence,string"` // changes since the store was made
	Refuses   string    `json:"refuses,omitempty"`
	Stopped   bool      `json:"stopped,omitempty"` // writes wait for compaction
	Log       uint64    `json:"wal_bytes"`
	Memory    uint64    `json:"memory_bytes"` // tables that are not on disk yet, and the cache
	Disk      uint64    `json:"disk_bytes"`
	Compact   uint64    `json:"pending_compaction_bytes"`
	Keys      uint64    `json:"keys"` // about
	Snapshots uint64    `json:"snapshots"`
}

// live answers what the daemon does now; a directory does nothing.
func (s *Server) live(*http.Request) (any, error) {
	doc := liveDoc{At: time.Now().UTC()}
	err := s.store.with(func(src *inspect.Source) error {
		if src.Facts.How != inspect.Daemon {
			return bad("this is a directory, which nobody changes while it is read: stoa view --socket shows a daemon")
		}
		health, stats, err := src.Now()
		if err != nil {
			return err
		}
		doc.Sequence, doc.Stopped, doc.Log, doc.Snapshots, doc.Refuses = stats.Sequence, stats.Stopped, stats.WALBytes, stats.Snapshots, health.Reason
		doc.Memory = stats.MemtableBytes + stats.CacheBytes
		for _, c := range stats.Columns {
			doc.Keys, doc.Disk, doc.Compact = doc.Keys+c.Keys, doc.Disk+c.TableBytes+c.BlobBytes, doc.Compact+c.PendingCompaction
		}
		return nil
	})
	return doc, err
}
