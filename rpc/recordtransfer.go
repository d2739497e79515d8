package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var recordExport = op.NewStream(op.Method{Number: 812, Name: "Record.Export", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordSet) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			for d, err := range s.All(ctx, a.Tenant, a.Collection) {
				if !yield(d.JSON, err) || err != nil {
					return
				}
			}
		}
	}, func(doc *json.RawMessage) int { return 32 + len(*doc) }, op.StreamQueue)

// Export yields the documents of a collection, in force or not, in order of their
// creation, as they are when it begins.
func (r *Records) Export(ctx context.Context, collection string) iter.Seq2[json.RawMessage, error] {
	return streamed(ctx, r.c, recordExport, recordSet{r.tenant, collection})
}

var recordImport = op.ByHand(op.Method{Number: 813, Name: "Record.Import", Role: access.Writer, Tenant: true})

// Import is ImportWith that replaces what is there, and returns how many documents are
// stored then.
func (r *Records) Import(ctx context.Context, collection string, lines io.Reader) (stored int, err error) {
	n, err := r.ImportWith(ctx, collection, lines, record.ImportOptions{})
	return n.Stored + n.Same, err
}

// ImportWith stores the documents of lines, one a line, as Export yields them, and says what
// became of them; see [record.Store.ImportWith]. It takes as long as it takes, unless ctx
// ends. What was stored of an import that fails is there, and may be imported again.
func (r *Records) ImportWith(ctx context.Context, collection string, lines io.Reader, o record.ImportOptions) (n record.Imported, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := stoav1.NewRecordClient(r.c.carrier).Import(ctx)
	if err != nil {
		return n, r.c.failed(recordImport.Name, err)
	}
	header := &stoav1.RecordImportHeader{Tenant: []byte(r.tenant), Collection: collection, Keep: o.Keep, DryRun: o.Dry}
	err = s.Send(&stoav1.RecordImportRequest{Message: &stoav1.RecordImportRequest_Header{Header: header}})
	if err == nil {
		err = inPieces("lines of an import", lines, func(piece []byte) error {
			return s.Send(&stoav1.RecordImportRequest{Message: &stoav1.RecordImportRequest_Lines{Lines: piece}})
		})
	}
	var unread *contentError
	switch {
	case errors.As(err, &unread):
		return n, unread
	case err != nil && !errors.Is(err, io.EOF): // io.EOF: the daemon says why below
		return n, r.c.failed(recordImport.Name, err)
	}
	res, err := s.CloseAndRecv()
	if err != nil {
		return n, r.c.failed(recordImport.Name, err)
	}
	return record.Imported{Stored: int(res.GetStored()), Same: int(res.GetSame()), Kept: int(res.GetKept()), IDs: res.GetKeptIds()}, nil
}
