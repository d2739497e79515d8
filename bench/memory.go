//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

// ScanMemory says how the memory of a daemon grew while one client read all of
// its rows. Sizes are in bytes.
type ScanMemory struct {
	Scanned uint64        `json:"scanned"` // keys and values
	Entries int           `json:"entries"`
	Took    time.Duration `json:"took_ns"`
	Before  int64         `json:"before"` // memory that no file backs
	Peak    int64         `json:"peak"`   // the most of it during the scan
	Cache   int64         `json:"cache"`  // by how much the block cache grew
	Growth  int64         `json:"growth"` // Peak - Before - Cache
}

// MeasureScanMemory fills a store with about size bytes, serves it with
// o.Stoa, and scans it over the socket.
func MeasureScanMemory(o Options, size uint64) (m ScanMemory, err error) {
	if o, err = o.withDefaults(); err != nil {
		return m, err
	}
	if o.Stoa == "" {
		return m, errors.New("bench: the memory of a daemon needs the path of a stoa binary")
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "stoa-bench"); err != nil {
			return m, fmt.Errorf("bench: %w", err)
		}
		defer os.RemoveAll(o.Dir)
	}
	data := &Dataset{Rows: int(size / (KeyBytes + ValueBytes))}
	o.Logger.Info("filling", "rows", data.Rows)
	if err := fillFor(o.path("memory"), data); err != nil {
		return m, err
	}
	d, err := serve(o, o.path("memory"), 64<<20)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, d.process.stop()) }()
	err = d.with(func(c *rpc.Client) error {
		o.Logger.Info("scanning", "rows", data.Rows)
		return m.scan(c, d.process)
	})
	return m, err
}

func fillFor(dir string, data *Dataset) error {
	e, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		return err
	}
	return errors.Join(data.load(e), e.Compact(column.State, engine.Range{}), e.Close())
}

// scan reads everything, and looks at the daemon's memory every few thousand
// entries.
func (m *ScanMemory) scan(c *rpc.Client, p *process) error {
	before, err := c.Stats(context.Background())
	if err != nil {
		return err
	}
	if m.Before, err = p.resident(); err != nil {
		return err
	}
	begun := time.Now()
	it, err := c.Store(context.Background()).Iterate(column.State, engine.Range{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		m.Scanned += uint64(len(it.Key()) + len(it.Value()))
		if m.Entries++; m.Entries%4096 != 0 {
			continue
		}
		now, err := p.resident()
		if err != nil {
			return err
		}
		m.Peak = max(m.Peak, now)
	}
	m.Took = time.Since(begun)
	after, err := c.Stats(context.Background())
	m.Cache = int64(after.CacheBytes) - int64(before.CacheBytes)
	m.Growth = m.Peak - m.Before - m.Cache
	return errors.Join(it.Err(), err)
}

// WriteText writes the figures for people.
func (m ScanMemory) WriteText(w io.Writer) error {
	const mib = 1 << 20
	_, err := fmt.Fprintf(w, "scanned %d entries, %d MiB, in %.1f s\nthe daemon's memory: %d MiB before, %d MiB at most; its cache grew by %d MiB\ngrowth beyond the cache: %.1f MiB\n",
		m.Entries, m.Scanned/mib, m.Took.Seconds(), m.Before/mib, m.Peak/mib, m.Cache/mib, float64(m.Growth)/mib)
	return err
}
