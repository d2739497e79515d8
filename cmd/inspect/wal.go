package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/keys"
)

// LogBatch is a batch of the write-ahead log.
type LogBatch struct {
	File     string  `json:"file"`
	Offset   int64   `json:"offset"`
	Sequence uint64  `json:"sequence,string"` // of the first change
	Changes  uint32  `json:"changes"`
	Bytes    int     `json:"bytes"`
	Ops      []LogOp `json:"ops"`
}

// LogOp is a change of the write-ahead log.
type LogOp struct {
	Op string `json:"op"` // put, delete, delete_range
	Record
	Start string `json:"start,omitempty"` // of a range, in hex
	End   string `json:"end,omitempty"`
	Name  string `json:"name,omitempty"` // the key of a row of the store as a whole
}

// LogSummary is what a dump has seen.
type LogSummary struct {
	Files    int       `json:"files"`
	Batches  uint64    `json:"batches"`
	Changes  uint64    `json:"changes"`
	First    uint64    `json:"first_sequence,string"`
	Last     uint64    `json:"last_sequence,string"`
	Cut      bool      `json:"cut"` // the last log ends in the middle of a record, as after a power loss
	Findings []Finding `json:"findings,omitempty"`
}

// DumpLog calls visit with every batch of the write-ahead logs of a directory, in
// order, or of the one file that path names, as a start after a power loss leaves one.
// It reads the files themselves: the directory may be in use, or too damaged to
// be opened. Damage is among the findings. Batches are valid until visit returns.
func DumpLog(ctx context.Context, path string, visit func(*LogBatch) error) (*LogSummary, error) {
	dir, logs := path, []diskfile.File{{Path: path}}
	st, err := os.Stat(path)
	if err == nil && st.Mode().IsRegular() && filepath.Ext(path) == ".log" {
		dir = filepath.Dir(path)
	} else if logs, err = storeLogs(path); err != nil {
		return nil, err
	}
	d := &logDump{visit: visit, printer: newLogPrinter()}
	m, err := diskfile.ReadManifest(dir)
	d.families = m.Names()
	if err != nil {
		if added := schemaNames(d.families); added != nil {
			d.damage("MANIFEST", m.End, "families are taken to have the numbers of the schema: "+err.Error())
		}
	}
	for i, log := range logs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := d.file(log.Path, i == len(logs)-1); err != nil {
			return nil, err
		}
	}
	return &d.out, nil
}

// storeLogs returns the logs of a store.
func storeLogs(dir string) ([]diskfile.File, error) {
	if err := rocks.CheckStore(dir); err != nil {
		return nil, err
	}
	logs, err := diskfile.Files(dir, ".log")
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return logs, nil
}

// logDump is a dump under way.
type logDump struct {
	visit    func(*LogBatch) error
	families map[uint32]string
	printer  *Printer
	out      LogSummary
}

func (d *logDump) damage(file string, at int64, reason string) {
	d.out.Findings = append(d.out.Findings, Finding{Code: "log-damage", Reason: fmt.Sprintf("%s at byte %d: %s", file, at, reason)})
}

func (d *logDump) file(path string, last bool) error {
	f, err := diskfile.Open(path)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	defer f.Close()
	d.out.Files++
	name := filepath.Base(path)
	for r, err := range diskfile.Log(f) {
		var damage *diskfile.Damage
		switch {
		case errors.As(err, &damage) && damage.Cut() && last:
			d.out.Cut = true
		case errors.As(err, &damage):
			d.damage(name, damage.Offset, damage.Reason)
		case err != nil:
			return fmt.Errorf("inspect: %s: %w", path, err)
		default:
			if err := d.record(name, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *logDump) record(file string, r diskfile.Record) error {
	b, err := diskfile.ParseBatch(r.Data)
	if err != nil {
		d.damage(file, r.Offset, err.Error())
		return nil
	}
	out := &LogBatch{File: file, Offset: r.Offset, Sequence: b.Sequence, Changes: b.Count, Bytes: len(r.Data), Ops: []LogOp{}}
	for c, err := range b.Changes {
		if err != nil {
			d.damage(file, r.Offset, err.Error())
			break
		}
		out.Ops = append(out.Ops, d.op(c))
		d.out.Last = max(d.out.Last, c.Sequence)
	}
	if d.out.Batches == 0 {
		d.out.First = b.Sequence
	}
	d.out.Batches++
	d.out.Changes += uint64(len(out.Ops))
	return d.visit(out)
}

// op returns a change with its record.
func (d *logDump) op(c diskfile.Change) LogOp {
	name, known := d.families[c.Family]
	if !known {
		name = fmt.Sprintf("family %d", c.Family)
	}
	op := LogOp{Op: c.Kind.String()}
	col, ok := column.Parse(name)
	switch {
	case !ok:
		op.Column, op.Name = name, fmt.Sprintf("%q", c.Key)
	case c.Kind == diskfile.Put:
		op.Record = d.printer.Record(col, c.Key, c.Value)
	case c.Kind == diskfile.Delete:
		op.Record = recordOf(col, c.Key)
	default:
		op.Column, op.Start, op.End = name, KeyText(c.Key), KeyText(c.Value)
		if info, err := keys.Identify(col, c.Key); err == nil {
			op.Type = info.Name
		}
	}
	return op
}
