package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/keys"
)

// Salvaged is what Salvage has saved, and what not.
type Salvaged struct {
	Tables  int       `json:"tables"` // files that were read
	Logs    int       `json:"logs"`
	Rows    uint64    `json:"rows"`    // written
	Refused uint64    `json:"refused"` // read, and no row of the schema
	Losses  []Finding `json:"losses"`
	Notes   []string  `json:"notes,omitempty"` // what of it may be older than it was
	// SealRow is the row stoa.seal, without which sealed secrets are lost; nil if
	// there is none. The copy wants it.
	SealRow []byte `json:"-"`
}

// Salvage copies every row that can be read in the files of dir to w, which is an
// empty store. It reads tables, blob files and logs by themselves, block by block,
// so that it works where RocksDB refuses the directory, and loses no more than the
// blocks that are damaged. Everything that it cannot read is a loss. Where a
// newer state of a row is lost, an older one may come back; so may rows that were
// overwritten or deleted where the manifest does not tell which tables count.
//
// The newest entry of a key counts, by its sequence; its memory is that of the
// write-ahead log and of one block of each table: of files that were made up, no more
// than their sizes allow (see heldLeast), and what would take more is a loss.
func Salvage(ctx context.Context, dir string, w engine.Writer) (*Salvaged, error) {
	return newSalvage(ctx, dir, w).run()
}

func newSalvage(ctx context.Context, dir string, w engine.Writer) *salvage {
	return &salvage{ctx: ctx, dir: dir, out: &Salvaged{Losses: []Finding{}}, w: w, most: heldLeast}
}

// run salvages, once.
func (s *salvage) run() (*Salvaged, error) {
	defer s.close()
	s.listing = s.list()
	if err := s.logs(); err != nil {
		return nil, err
	}
	s.strangers()
	if err := s.tables(); err != nil {
		return nil, err
	}
	if s.schema != 0 && s.schema != rocks.SchemaVersion {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("the store has schema version %d, the copy has %d", s.schema, rocks.SchemaVersion))
	}
	s.batch.Durability = engine.WAL
	for c := range column.All {
		if err := s.column(c); err != nil {
			return nil, err
		}
	}
	return s.out, s.flush()
}

// salvage is one under way.
type salvage struct {
	ctx     context.Context
	dir     string
	w       engine.Writer
	out     *Salvaged
	batch   engine.Batch
	listing listing
	files   []*diskfile.Table
	shared  diskfile.Allowance
	held    int64 // bytes of entries of blocks that wait to be merged
	most    int64 // that may be; grows with the tables
	logged  [column.Count + 1]diskfile.Logged
	ranges  [column.Count + 1][]diskfile.Change // deletions of ranges in the tables

	sealedAt uint64            // the sequence of SealRow
	schemaAt uint64            // that of the schema version that is noted
	schema   uint32            // the schema version; 0: it is not known
	strange  map[string]uint64 // changes in the logs by column family, of those that are not known
}

func (s *salvage) close() {
	for _, t := range s.files {
		t.Close()
	}
}

func (s *salvage) lost(code, reason string) {
	s.out.Losses = append(s.out.Losses, Finding{Code: code, Reason: reason})
}

// logs reads the write-ahead logs.
func (s *salvage) logs() error {
	files, err := diskfile.Files(s.dir, ".log")
	if err != nil {
		return fmt.Errorf("inspect: salvage: %w", err)
	}
	for _, f := range files {
		if err := s.log(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *salvage) log(log diskfile.File) error {
	f, err := diskfile.Open(log.Path)
	if err != nil {
		s.lost("log", err.Error())
		return nil
	}
	defer f.Close()
	s.out.Logs++
	name := filepath.Base(log.Path)
	for r, err := range diskfile.Log(f) {
		var damage *diskfile.Damage
		switch {
		case errors.As(err, &damage):
			s.lost("log", fmt.Sprintf("%s: %s: %d bytes", name, err, damage.Length))
			continue
		case err != nil:
			s.lost("log", fmt.Sprintf("%s: %s: the rest of it", name, err))
			return nil
		}
		b, err := diskfile.ParseBatch(r.Data)
		if err != nil {
			s.lost("log", fmt.Sprintf("%s at byte %d: %s", name, r.Offset, err))
			continue
		}
		for c, err := range b.Changes {
			if err != nil {
				s.lost("log", fmt.Sprintf("%s at byte %d: %s", name, r.Offset, err))
				break
			}
			if s.listing.counts(log.Number, c.Family) {
				s.change(c, s.listing.names[c.Family])
			}
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// change keeps a change of a log, if it is newer than what is known of its key.
func (s *salvage) change(c diskfile.Change, family string) {
	col, ok := column.Parse(family)
	if !ok {
		switch family {
		case "default":
			s.whole(c)
		case "": // it was dropped
		default:
			if s.strange == nil {
				s.strange = map[string]uint64{}
			}
			s.strange[family]++
		}
		return
	}
	s.logged[col].Add(c)
}

// The keys of the rows that say how secrets are sealed, and which version of the
// schema the store has.
const (
	sealKey   = "stoa.seal"
	schemaKey = "stoa.schema"
)

// whole looks at a change of what the store is as a whole. But for the row
// stoa.seal, that is made anew: stamps of the old node id may be among what is lost.
func (s *salvage) whole(c diskfile.Change) {
	if string(c.Key) == sealKey && c.Kind == diskfile.Put && c.Sequence >= s.sealedAt {
		s.sealedAt, s.out.SealRow = c.Sequence, bytes.Clone(c.Value)
	}
	if string(c.Key) == schemaKey && c.Kind == diskfile.Put && len(c.Value) == 4 && c.Sequence >= s.schemaAt {
		s.schemaAt, s.schema = c.Sequence, binary.LittleEndian.Uint32(c.Value)
	}
}

// wholeOf looks at a table of the family default.
func (s *salvage) wholeOf(t *diskfile.Table, name string) {
	for i := range t.Blocks() {
		err := t.Read(i, func(c diskfile.Change) error {
			s.whole(c)
			return nil
		})
		if err != nil {
			s.lost("block", fmt.Sprintf("%s: %s: what the store is as a whole", name, err))
		}
	}
}

// tables opens the tables.
func (s *salvage) tables() error {
	files, err := diskfile.Files(s.dir, ".sst")
	if err != nil {
		return fmt.Errorf("inspect: salvage: %w", err)
	}
	for _, name := range s.listing.missing(files) {
		s.lost("table", name+" is missing: all of it")
	}
	for _, f := range s.listing.count(files) {
		name := filepath.Base(f.Path)
		t, err := diskfile.OpenTable(f.Path, &s.shared)
		if err != nil {
			code := "table"
			if errors.Is(err, diskfile.ErrFormat) {
				code = "format"
			}
			s.lost(code, fmt.Sprintf("%s: %s: all of it", name, err))
			continue
		}
		s.files = append(s.files, t)
		s.most += heldPerByte * t.Size()
		s.out.Tables++
		s.sort(t, name)
		if t.Scanned {
			s.lost("table", name+": its index cannot be read: what is behind its last block that can be found")
		}
	}
	return nil
}

// sort looks at what column family a table is of.
func (s *salvage) sort(t *diskfile.Table, name string) {
	col, ok := column.Parse(t.Family)
	switch {
	case ok:
		s.ranges[col] = append(s.ranges[col], t.Deletes...)
		for _, err := range t.Unread {
			s.lost("table", fmt.Sprintf("%s: %s; rows that it deleted may come back", name, err))
		}
	case t.Family == "default":
		s.wholeOf(t, name)
	case t.Family == "":
		s.lost("table", name+": the name of its column family cannot be read: all of it")
	default:
		s.lost("table", fmt.Sprintf("%s: this build does not know its column family %q: all of it", name, t.Family))
	}
}

// strangers are the changes in the logs whose column families this build does not
// know.
func (s *salvage) strangers() {
	for _, family := range slices.Sorted(maps.Keys(s.strange)) {
		s.lost("log", fmt.Sprintf("%d changes in column family %q, which this build does not know", s.strange[family], family))
	}
}

// column writes the rows of a column: the newest entry of each key, if that is a
// put.
func (s *salvage) column(col column.Column) error {
	m := s.merge(col)
	for {
		c, ok := m.Next()
		if !ok || s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err := s.put(col, c); err != nil {
			return err
		}
	}
}

func (s *salvage) put(col column.Column, c diskfile.Change) error {
	value := c.Value
	if c.Blob {
		v, err := diskfile.BlobValue(s.dir, c.Key, c.Value)
		if err != nil {
			s.out.Losses = append(s.out.Losses, NewFinding("blob-file", col, c.Key, err.Error()))
			return nil
		}
		value = v
	}
	if _, err := keys.Identify(col, c.Key); err != nil || len(value) > engine.MaxValue {
		s.out.Refused++
		s.out.Losses = append(s.out.Losses, NewFinding("row", col, c.Key, "no row of the schema"))
		return nil
	}
	s.batch.Put(col, c.Key, value)
	s.out.Rows++
	if s.batch.Len() >= importChanges || s.batch.Size() >= importBytes {
		return s.flush()
	}
	return nil
}

func (s *salvage) flush() error {
	if s.batch.Len() == 0 {
		return nil
	}
	err := s.w.Apply(&s.batch)
	s.batch.Reset()
	s.batch.Durability = engine.WAL
	return err
}
