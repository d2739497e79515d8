package daemon

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
)

// statsDoc is what stats prints with --json. Sizes are in bytes.
type statsDoc struct {
	Sequence      uint64           `json:"sequence,string"`
	WALBytes      uint64           `json:"wal_bytes"`
	MemtableBytes uint64           `json:"memtable_bytes"`
	CacheBytes    uint64           `json:"cache_bytes"`
	CacheCapacity uint64           `json:"cache_capacity"`
	Snapshots     uint64           `json:"snapshots"`
	Stopped       bool             `json:"writes_stopped"`
	Columns       []columnStatsDoc `json:"columns"`
}

type columnStatsDoc struct {
	Column            string `json:"column"`
	Keys              uint64 `json:"keys"` // estimated
	Tables            uint64 `json:"tables"`
	TableBytes        uint64 `json:"table_bytes"`
	BlobBytes         uint64 `json:"blob_bytes"`
	MemtableBytes     uint64 `json:"memtable_bytes"`
	PendingCompaction uint64 `json:"pending_compaction_bytes"`
}

func newStats(p *cli.Process) *cobra.Command {
	return cli.Command[*cli.Call]{
		Name: "stats", Short: "Print counts and sizes per column", Long: "Print counts and sizes per column. Counts of keys are estimates.", Example: "\n--json",
		Run: func(c *cli.Call) error {
			s, err := c.Client.Stats(c.Ctx)
			if err != nil {
				return err
			}
			d := newStatsDoc(s)
			return c.Emit(d, d.write)
		},
	}.Cobra(p, "", cli.Plainly)
}

func newStatsDoc(s engine.Stats) statsDoc {
	d := statsDoc{
		Sequence: s.Sequence, WALBytes: s.WALBytes, MemtableBytes: s.MemtableBytes, CacheBytes: s.CacheBytes,
		CacheCapacity: s.CacheCapacity, Snapshots: s.Snapshots, Stopped: s.Stopped, Columns: []columnStatsDoc{},
	}
	for _, c := range s.Columns {
		d.Columns = append(d.Columns, columnStatsDoc{
			Column: c.Column.String(), Keys: c.Keys, Tables: c.Tables, TableBytes: c.TableBytes, BlobBytes: c.BlobBytes,
			MemtableBytes: c.MemtableBytes, PendingCompaction: c.PendingCompaction,
		})
	}
	return d
}

func (d statsDoc) write(w io.Writer) {
	t := cli.Table{Right: []bool{false, true, true, true, true, true, true}}
	t.Add("COLUMN", "KEYS", "TABLES", "ON DISK", "BLOB FILES", "IN MEMORY", "TO COMPACT")
	for _, c := range d.Columns {
		t.Add(c.Column, fmt.Sprint(c.Keys), fmt.Sprint(c.Tables), cli.SizeText(c.TableBytes), cli.SizeText(c.BlobBytes),
			cli.SizeText(c.MemtableBytes), cli.SizeText(c.PendingCompaction))
	}
	t.Write(w, "")
	fmt.Fprintln(w)
	var total cli.Table
	total.Add("changes", fmt.Sprint(d.Sequence))
	total.Add("write-ahead log", cli.SizeText(d.WALBytes))
	total.Add("in memory", cli.SizeText(d.MemtableBytes))
	total.Add("block cache", cli.SizeText(d.CacheBytes)+" of "+cli.SizeText(d.CacheCapacity))
	total.Add("snapshots", fmt.Sprint(d.Snapshots))
	if d.Stopped {
		total.Add("writes", "stopped until compaction has caught up")
	}
	total.Write(w, "")
}
