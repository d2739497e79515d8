package policy

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/record"
)

// version returns the name of a version of a collection, if there may be one.
func version(collection string, number int) (string, error) {
	if !slices.Contains(versioned, collection) {
		return "", &record.Error{Code: record.CodeInvalidArgument, Field: "collection", Reason: "those with versions are " + strings.Join(versioned, ", ")}
	}
	if number < 1 || number > lastVersion {
		return "", &record.Error{Code: record.CodeInvalidArgument, Field: "version", Reason: "the versions are 1, the collection itself, to " + strconv.Itoa(lastVersion)}
	}
	return VersionName(collection, number), nil
}

// Migrate copies the records of a version of a collection to another, and returns how
// many. Those that have an id there already are replaced; the version that they come
// from stays as it is, until it is dropped.
func (s *Store) Migrate(ctx context.Context, tenant, collection string, from, to int) (copied int, err error) {
	source, err := version(collection, from)
	if err != nil {
		return 0, err
	}
	target, err := version(collection, to)
	if err != nil {
		return 0, err
	}
	if source == target {
		return 0, &record.Error{Code: record.CodeInvalidArgument, Field: "version", Reason: "a version is not copied to itself"}
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.CloseWithError(s.records.Export(ctx, tenant, source, w))
	}()
	copied, err = s.records.Import(ctx, tenant, target, r)
	_ = r.Close()
	<-done
	return copied, err
}

// dropBatch is how many records are removed in one batch.
const dropBatch = 256

// Drop removes all records of a version of a collection, in batches, and returns how
// many.
func (s *Store) Drop(ctx context.Context, tenant, collection string, number int, d engine.Durability) (dropped int, err error) {
	source, err := version(collection, number)
	if err != nil {
		return 0, err
	}
	for {
		page, err := s.records.List(ctx, tenant, source, record.Query{All: true, Limit: dropBatch})
		if err != nil || len(page.Docs) == 0 {
			return dropped, err
		}
		err = s.records.Do(ctx, tenant, d, func(tx *record.Tx) error {
			for _, doc := range page.Docs {
				if _, err := tx.Delete(source, doc.ID, record.UpdateOptions{Revision: doc.Revision}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return dropped, err
		}
		dropped += len(page.Docs)
	}
}
