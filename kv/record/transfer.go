package record

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// All yields the records of a collection, in force or not, in order of their creation,
// as they are when it begins. Their bytes are the caller's.
func (s *Store) All(ctx context.Context, tenant, collection string) iter.Seq2[Doc, error] {
	return func(yield func(Doc, error) bool) {
		view, err := s.View(tenant)
		if err != nil {
			yield(Doc{}, err)
			return
		}
		defer func() { _ = view.Close() }()
		for q := (Query{All: true, Limit: 1000}); ; {
			page, err := view.List(ctx, collection, q)
			if err != nil {
				yield(Doc{}, err)
				return
			}
			for _, d := range page.Docs {
				if !yield(d, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// Export writes the documents of a collection, as All yields them, one line of JSON
// each.
func (s *Store) Export(ctx context.Context, tenant, collection string, w io.Writer) error {
	out := bufio.NewWriter(w)
	for d, err := range s.All(ctx, tenant, collection) {
		if err != nil {
			return err
		}
		if _, err := out.Write(append(d.JSON, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

const (
	importLines = 256     // lines of one batch
	importBytes = 4 << 20 // of its documents
)

// Import stores the documents of lines, as Export writes them, and returns how many it
// has stored. A record that is there is replaced; others stay. Documents have their
// ids and keep their stamps; they hold to the schema, and neither transitions nor
// Check are asked. It ends at the first line that is refused; those of earlier
// batches are stored, and the error says how many.
func (s *Store) Import(ctx context.Context, tenant, collection string, r io.Reader) (stored int, err error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return 0, err
	}
	if err := c.changeable(); err != nil {
		return 0, c.told(err)
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 2*MaxDocument)
	for line := 1; ; {
		docs, last, err := c.lines(in, line, s.kv.Now())
		if err != nil {
			return stored, endedEarly(c.told(err), stored)
		}
		if len(docs) > 0 {
			err := s.one(ctx, tenant, c, space, engine.Synced, func(_ *Tx, inner *kv.Tx) error { return c.load(inner, docs) })
			if err != nil {
				return stored, endedEarly(c.told(err), stored)
			}
		}
		line, stored = line+len(docs), stored+len(docs)
		if last {
			return stored, nil
		}
	}
}

// endedEarly is the error that an import ended with, which says what is stored.
func endedEarly(err error, stored int) error {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Errorf("record: import: %d documents are stored, and then: %w", stored, err)
	}
	told := *e
	told.Reason += fmt.Sprintf("; %d documents before it are stored", stored)
	return &told
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
		doc, err := c.parsed("doc", in.Bytes())
		if err == nil {
			doc, err = c.schema.inUTC(doc)
		}
		if err == nil {
			doc, err = c.prepared(doc)
		}
		if err == nil {
			err = c.check(doc)
		}
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

// load stores documents.
func (c *Collection) load(inner *kv.Tx, docs []json.RawMessage) error {
	for _, doc := range docs {
		id, _ := document.Text(document.Field(doc, document.Path{c.ID.Field}))
		old, err := c.get(inner, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if c.ID.Kind == idDaily {
			if err := c.skip(inner, id); err != nil {
				return err
			}
		}
		if _, err := c.put(inner, id, old.Ordinal, doc, c.lifetime(doc, true)); err != nil {
			return err
		}
	}
	return nil
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
