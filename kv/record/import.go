package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

const (
	importLines = 256     // lines of one batch
	importBytes = 4 << 20 // of its documents
)

// MaxKeptIDs is how many records an import names that were there as others, and have stayed.
const MaxKeptIDs = 1000

// ImportOptions say what an import does. The zero ImportOptions replace what is there.
type ImportOptions struct {
	Keep bool // a record that is there as another stays as it is
	Dry  bool // nothing is stored: it is said what would be
}

// Imported is what has become of the documents of an import.
type Imported struct {
	Stored int      // that were not there, or were replaced
	Same   int      // that were there as they are: nothing is written, and no time to live begins anew
	Kept   int      // that were there as others, and have stayed
	IDs    []string // of those that have stayed, the first MaxKeptIDs
}

// there is how many documents of the import are stored, since now or before.
func (n *Imported) there() int { return n.Stored + n.Same }

func (n *Imported) add(more *Imported) {
	n.Stored, n.Same, n.Kept = n.Stored+more.Stored, n.Same+more.Same, n.Kept+more.Kept
	n.IDs = append(n.IDs, more.IDs[:min(len(more.IDs), MaxKeptIDs-len(n.IDs))]...)
}

// Import is ImportWith that replaces what is there, and returns how many documents are
// stored then.
func (s *Store) Import(ctx context.Context, tenant, collection string, r io.Reader) (stored int, err error) {
	n, err := s.ImportWith(ctx, tenant, collection, r, ImportOptions{})
	return n.there(), err
}

// ImportWith stores the documents of lines, as Export writes them. A record that is there is
// replaced, or kept as the options say; others stay. Documents have their ids and keep
// their stamps; they hold to the schema, and neither transitions nor Check are asked. It
// ends at the first line that is refused; those of earlier batches are stored, and the
// error says how many.
func (s *Store) ImportWith(ctx context.Context, tenant, collection string, r io.Reader, o ImportOptions) (n Imported, err error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return n, err
	}
	if err := c.changeable(); err != nil {
		return n, c.told(err)
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 2*MaxDocument)
	for line := 1; ; {
		docs, last, err := c.lines(in, line, s.kv.Now())
		if err == nil && len(docs) > 0 {
			var batch Imported
			if batch, err = s.importBatch(ctx, tenant, c, space, docs, o); err == nil {
				n.add(&batch)
			}
		}
		if err != nil {
			return n, endedEarly(c.told(err), &n, o)
		}
		if line += len(docs); last {
			return n, nil
		}
	}
}

// importBatch stores documents in one batch, with what Loaded makes of them.
func (s *Store) importBatch(ctx context.Context, tenant string, c *Collection, space *kv.Space, docs []json.RawMessage, o ImportOptions) (n Imported, err error) {
	var aside *kv.Space // nil: nothing was archived
	if c.Archive != nil {
		if _, aside, err = s.look(tenant, c.Name+archiveSuffix); err != nil {
			return n, err
		}
	}
	if o.Dry {
		from := placesOf(space, aside)
		for _, doc := range docs {
			if _, err := c.compare(from, doc, o, &n); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	loaded := func(*Tx, Doc) error { return nil }
	if c.Loaded != nil {
		if loaded, err = c.Loaded(ctx, tenant); err != nil {
			return n, err
		}
	}
	err = s.one(ctx, tenant, c, space, engine.Synced, func(tx *Tx, inner *kv.Tx) error {
		n = Imported{}
		from := []getter{inner}
		if aside != nil {
			there, err := tx.work.In(aside)
			if err != nil {
				return err
			}
			from = append(from, there)
		}
		for _, doc := range docs {
			differs, err := c.compare(from, doc, o, &n)
			if err != nil {
				return err
			}
			if !differs {
				continue
			}
			d, err := c.load(inner, doc)
			if err == nil {
				err = loaded(tx, d)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// placesOf are those of spaces that there are.
func placesOf(spaces ...*kv.Space) (from []getter) {
	for _, space := range spaces {
		if space != nil {
			from = append(from, space)
		}
	}
	return from
}

// compare counts what becomes of a document, and reports whether it is to be stored. What was
// archived is there too.
func (c *Collection) compare(from []getter, doc json.RawMessage, o ImportOptions, n *Imported) (differs bool, err error) {
	there, err := c.first(from, c.idOf(doc))
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return false, err
	case err == nil && bytes.Equal(there.JSON, doc):
		n.Same++
		return false, nil
	case err == nil && o.Keep:
		n.Kept++
		if len(n.IDs) < MaxKeptIDs {
			n.IDs = append(n.IDs, there.ID)
		}
		return false, nil
	}
	n.Stored++
	return true, nil
}

// first is the document of an id in the first place that has one.
func (c *Collection) first(from []getter, id string) (Doc, error) {
	for _, place := range from {
		if d, err := c.get(place, id); !errors.Is(err, ErrNotFound) {
			return d, err
		}
	}
	return Doc{}, noRecord(id)
}

// idOf is the id that a document says it has.
func (c *Collection) idOf(doc json.RawMessage) string {
	id, _ := document.Text(document.Field(doc, document.Path{c.ID.Field}))
	return id
}

// endedEarly is the error that an import ended with, which says what is stored.
func endedEarly(err error, n *Imported, o ImportOptions) error {
	var e *Error
	switch {
	case o.Dry:
		return err
	case !errors.As(err, &e):
		return fmt.Errorf("record: import: %d documents are stored, and then: %w", n.there(), err)
	}
	told := *e
	told.Reason += fmt.Sprintf("; %d documents before it are stored", n.there())
	return &told
}

// Importable returns the refusal of a document that an import would not store; nil: it would.
func (c *Collection) Importable(doc []byte) error {
	_, err := c.imported(doc)
	return c.told(err)
}

// imported is a document as an import stores it.
func (c *Collection) imported(text []byte) (json.RawMessage, error) {
	doc, err := c.parsed("doc", text)
	if err == nil {
		doc, err = c.schema.inUTC(doc)
	}
	if err == nil {
		doc, err = c.prepared(doc)
	}
	if err == nil {
		err = c.check(doc)
	}
	return doc, err
}

// lines reads the documents of a batch; line is the number of the first.
func (c *Collection) lines(in *bufio.Scanner, line int, now time.Time) (docs []json.RawMessage, last bool, err error) {
	for size := 0; len(docs) < importLines && size < importBytes; {
		if !in.Scan() {
			err = in.Err()
			if errors.Is(err, bufio.ErrTooLong) {
				err = refuse(CodeTooLarge, fmt.Sprintf("line %d", line+len(docs)), "the line has more than %d bytes", 2*MaxDocument)
			}
			return docs, true, err
		}
		doc, err := c.imported(in.Bytes())
		var e *Error
		if errors.As(err, &e) {
			at := *e
			at.Field = fmt.Sprintf("line %d: %s", line+len(docs), e.Field)
			err = &at
		}
		if err != nil {
			return nil, false, err
		}
		docs, size = append(docs, doc), size+len(doc)
	}
	return docs, false, nil
}

// load stores a document.
func (c *Collection) load(inner *kv.Tx, doc json.RawMessage) (Doc, error) {
	id := c.idOf(doc)
	old, err := c.get(inner, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Doc{}, err
	}
	if c.ID.Kind == idDaily {
		if err := c.skip(inner, id); err != nil {
			return Doc{}, err
		}
	}
	return c.put(inner, id, old.Ordinal, doc, c.lifetime(doc, true))
}

// skip has the ids of a day go on behind one that was given elsewhere.
func (c *Collection) skip(inner *kv.Tx, id string) error {
	day, n := c.ID.number(id)
	given, err := c.counted(inner, day)
	if err != nil || n <= given {
		return err
	}
	return inner.Keep(counterName+day, binary.BigEndian.AppendUint64(nil, n))
}
