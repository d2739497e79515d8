package inspect

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// ErrDump is returned for what is no dump, is cut off, or holds what is no row of
// the schema. The error names the line.
var ErrDump = errors.New("inspect: not a dump")

// ErrDamagedRow is returned, with ErrDump, for a row that did not parse when the dump
// was made.
var ErrDamagedRow = errors.New("a row that did not parse in the store")

// ErrMissingOp is returned for a dump without secrets in which an op of a namespace is not
// there, so that those after it cannot be taken in.
var ErrMissingOp = errors.New("inspect: the dump lacks an op of a namespace")

// ImportOptions say how Import writes. The zero ImportOptions replace nothing.
type ImportOptions struct {
	// Replace overwrites rows that are there. Unset, a row that is there is
	// engine.ErrConflict.
	Replace bool
	// Damaged is told of rows that did not parse when the dump was made, which are
	// passed over, and of ops for want of which others are. Unset, such a row is
	// ErrDamagedRow, and such an op ErrMissingOp. It is told too what is wrong with a
	// ledger, whose rows are written; unset, that is ErrLedger.
	Damaged  func(Finding) error
	Progress func(rows uint64)
}

// Imported counts what Import has done.
type Imported struct {
	Header DumpHeader `json:"dump"`
	Rows   uint64     `json:"rows"`
	// Skipped are rows whose secrets the dump does not show, or has sealed.
	Skipped uint64 `json:"skipped"`
	// Damaged are rows that were passed over because they do not parse, or lack others.
	Damaged uint64 `json:"damaged,omitempty"`
	// Kept are rows of namespaces that were there already, which were left as they are.
	Kept uint64 `json:"kept,omitempty"`
	// Locked are the namespaces whose ops are there and whose keys are not, so that of
	// their groups there is what follows from ops in clear.
	Locked []codec.GroupID `json:"locked,omitempty"`
	// Withheld are the records of collections that came without fields that are writeOnly.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Ledgers counts what is wrong with ledgers, of which Damaged was told.
	Ledgers uint64 `json:"ledgers,omitempty"`
	// Gaps are places of the store that could not be read when the dump was made.
	Gaps int `json:"gaps,omitempty"`
}

// Withheld says of a collection what its records came without.
type Withheld struct {
	Collection string   `json:"collection"`
	Fields     []string `json:"fields"`
	Records    uint64   `json:"records"`
}

// ErrLedger is returned for a dump with a ledger whose events are no chain up to its head.
var ErrLedger = errors.New("inspect: a ledger of the dump does not hold")

// A batch of an import is written when it has so many changes or bytes.
const (
	importChanges = 2000
	importBytes   = 2 << 20
)

// Target is the store that an import writes to.
type Target interface {
	engine.Reader
	engine.Writer
}

// Import writes the rows of a dump to w, batch by batch: a failure leaves those
// before it. Durable are they once the store is closed in order, or synced. Its
// memory does not grow with their number, but with that of ops of namespaces. Of a dump
// without secrets, namespaces are as for a node that has none of their keys; one that is
// there already is left as it is, and what w has of it is not replaced.
func Import(ctx context.Context, r io.Reader, w Target, o ImportOptions) (*Imported, error) {
	d, err := newDumpReader(r)
	if err != nil {
		return nil, err
	}
	defer d.close()
	im := &importer{ctx: ctx, w: w, o: o, namespaces: map[codec.GroupID]bool{}}
	im.batch.Durability = engine.WAL
	im.ledgers.spaces = spacesOf(w)
	err = im.run(d)
	if err == nil {
		err = im.ledgers.begin(im, keys.Scope{})
	}
	if err == nil {
		err = im.flush()
	}
	if err == nil && (!im.out.Header.Secrets || im.out.Skipped > 0) {
		return &im.out, im.lock()
	}
	var conflict *engine.Conflict
	if err != nil && !errors.As(err, &conflict) && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("line %d: %w", d.number, err)
	}
	return &im.out, err
}

// importer is an import under way.
type importer struct {
	ctx   context.Context
	w     Target
	o     ImportOptions
	out   Imported
	batch engine.Batch
	rows  uint64 // of the dump

	ledgers    importedLedgers
	there      *namespace.Governed    // what was there of namespaces; nil: it is replaced
	namespaces map[codec.GroupID]bool // of which ops have come
}

func (im *importer) run(d *dumpReader) error {
	for {
		line, err := d.next()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it is cut off", ErrDump)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDump, err)
		}
		if name, key, value, ok := rawLine(line); ok && d.number > 1 {
			im.rows++
			if err := im.put(name, key, value); err != nil {
				return err
			}
			continue
		}
		var l dumpLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%w: %s", ErrDump, jsonFault(err))
		}
		switch {
		case d.number == 1:
			if l.Header == nil || l.Header.Version != DumpVersion {
				return fmt.Errorf("%w: it does not begin with {\"stoa_dump\":{\"version\":%d", ErrDump, DumpVersion)
			}
			if err := im.begin(*l.Header); err != nil {
				return err
			}
		case l.End != nil:
			if l.End.Rows != im.rows {
				return fmt.Errorf("%w: it ends with %d rows, and had %d", ErrDump, im.rows, l.End.Rows)
			}
			im.out.Gaps = l.End.Gaps
			return nil
		default:
			if err := im.row(&l); err != nil {
				return err
			}
		}
	}
}

// jsonFault says why a line does not parse, without what stands in it.
func jsonFault(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("no JSON at byte %d", syntax.Offset)
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return fmt.Sprintf("field %s is no %s", typ.Field, typ.Type)
	}
	return "no JSON"
}

func (im *importer) row(l *dumpLine) error {
	im.rows++
	if l.Redacted || l.Sealed != "" {
		im.out.Skipped++
		return nil
	}
	col, ok := column.Parse(l.Column)
	if !ok {
		return fmt.Errorf("%w: no column %q", ErrDump, l.Column)
	}
	key, value, err := l.bytes(col)
	if err != nil && l.Fault != "" {
		return im.damaged(l, col)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDump, err)
	}
	im.withheld(l)
	return im.add(col, key, value)
}

// withheld counts a record that came without some of its fields.
func (im *importer) withheld(l *dumpLine) {
	if len(l.Withheld) == 0 || l.Document == nil {
		return
	}
	at := slices.IndexFunc(im.out.Withheld, func(w Withheld) bool { return w.Collection == l.Document.Collection })
	if at < 0 {
		if len(im.out.Withheld) == mostWithheld {
			return
		}
		at = len(im.out.Withheld)
		im.out.Withheld = append(im.out.Withheld, Withheld{Collection: l.Document.Collection})
	}
	w := &im.out.Withheld[at]
	w.Records++
	for _, f := range l.Withheld {
		if !slices.Contains(w.Fields, f) && len(w.Fields) < mostWithheld {
			w.Fields = append(w.Fields, f)
		}
	}
}

// mostWithheld is how many collections, and how many fields of one, are told of.
const mostWithheld = 100

// damaged passes over a row that the dump says does not parse.
func (im *importer) damaged(l *dumpLine, col column.Column) error {
	code, key := "key", l.KeyHex
	if key == "" {
		code = "value"
		if info, ok := keys.ByName(l.Type); ok {
			if b, err := info.KeyFromJSON(l.Key); err == nil {
				key = hex.EncodeToString(b)
			}
		}
	}
	if im.o.Damaged == nil {
		return fmt.Errorf("%w: %w: %s %s: %s", ErrDump, ErrDamagedRow, col, key, l.Fault)
	}
	im.out.Damaged++
	return im.o.Damaged(Finding{Code: code, Column: col.String(), Key: key, Reason: l.Fault})
}

// put writes a row that is not checked yet.
func (im *importer) put(name string, key, value []byte) error {
	col, _ := column.Parse(name)
	if err := keys.Check(col, key, value); err != nil {
		return fmt.Errorf("%w: %w", ErrDump, err)
	}
	return im.add(col, key, value)
}

// begin takes the header of the dump.
func (im *importer) begin(h DumpHeader) (err error) {
	im.out.Header = h
	if im.o.Replace && !h.Secrets {
		im.there, err = namespace.GovernedIn(im.w, nil)
	}
	return err
}

// lock makes of the namespaces that have come what there is of them without their keys.
func (im *importer) lock() error {
	im.out.Locked = slices.SortedFunc(maps.Keys(im.namespaces), codec.CompareID)
	return namespace.Lock(im.ctx, im.w, im.w, im.out.Locked, func(key []byte, err error) error {
		if im.o.Damaged == nil {
			return fmt.Errorf("%w: %v", ErrMissingOp, err)
		}
		im.out.Damaged++
		return im.o.Damaged(NewFinding("op-missing", column.Group, key, err.Error()))
	})
}

func (im *importer) add(col column.Column, key, value []byte) error {
	if im.there != nil {
		kept, err := im.there.Owns(col, key, value)
		if err != nil {
			return err
		}
		if kept {
			im.out.Kept++
			return nil
		}
	}
	if err := im.ledgers.row(im, col, key, value); err != nil {
		return err
	}
	if ns, ok := namespace.OfOp(col, key); ok {
		im.namespaces[ns] = true
	}
	if !im.o.Replace {
		im.batch.ExpectAbsent(col, key)
	}
	im.batch.Put(col, key, value)
	im.out.Rows++
	if im.batch.Len() >= importChanges || im.batch.Size() >= importBytes {
		return im.flush()
	}
	return nil
}

// bytes returns the key and the value of a row, which are of the schema.
func (l *dumpLine) bytes(col column.Column) (key, value []byte, err error) {
	info, ok := keys.ByName(l.Type)
	switch {
	case l.KeyHex != "" || l.Hex != "":
		if key, value, err = l.raw(info, ok); err != nil {
			return nil, nil, err
		}
	case !ok:
		return nil, nil, fmt.Errorf("no key type %q", l.Type)
	default:
		if key, err = info.KeyFromJSON(l.Key); err != nil {
			return nil, nil, err
		}
		if value, err = info.Value.FromJSON(l.Value); err != nil {
			return nil, nil, err
		}
	}
	return key, value, keys.Check(col, key, value)
}

// raw returns a row whose key or value was exported in hex, as it does not parse.
func (l *dumpLine) raw(info keys.Info, typed bool) (key, value []byte, err error) {
	if l.KeyHex == "" && typed {
		key, err = info.KeyFromJSON(l.Key)
	} else {
		key, err = hex.DecodeString(l.KeyHex)
	}
	if err == nil {
		value, err = hex.DecodeString(l.Hex)
	}
	return key, value, err
}

func (im *importer) flush() error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	if im.batch.Len() == 0 {
		return nil
	}
	if err := im.w.Apply(&im.batch); err != nil {
		return err
	}
	if im.o.Progress != nil {
		im.o.Progress(uint64(im.batch.Len()))
	}
	im.batch.Reset()
	im.batch.Durability = engine.WAL
	return nil
}
