package record

import (
	"bufio"
	"context"
	"io"
	"iter"
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
