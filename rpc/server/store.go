package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// storeService is the Store service.
type storeService struct {
	stoav1.UnimplementedStoreServer
	s *Server
}

// Get answers Store.Get: it reads a row.
func (t *storeService) Get(ctx context.Context, r *stoav1.GetRequest) (*stoav1.GetResponse, error) {
	v, err := t.s.view(ctx, r.GetSnapshot())
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.get(r)
}

// MultiGet answers Store.MultiGet: it reads rows at once.
func (t *storeService) MultiGet(ctx context.Context, r *stoav1.MultiGetRequest) (*stoav1.MultiGetResponse, error) {
	v, err := t.s.view(ctx, r.GetSnapshot())
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.multiGet(ctx, r)
}

// ApproximateSize answers Store.ApproximateSize: it estimates what a range takes on disk.
func (t *storeService) ApproximateSize(_ context.Context, r *stoav1.ApproximateSizeRequest) (*stoav1.ApproximateSizeResponse, error) {
	col, rg, err := rangeOf(r)
	if err != nil {
		return nil, err
	}
	n, err := t.s.eng.ApproximateSize(col, rg)
	if err != nil {
		return nil, err
	}
	return &stoav1.ApproximateSizeResponse{Bytes: n}, nil
}

// view is the state that a request reads, and who asks.
type view struct {
	s    *Server
	peer demux.Peer
	read engine.Reader
	held *heldSnapshot // nil: the present state
}

// view returns the state that a request names. It must be released.
func (s *Server) view(ctx context.Context, snapshot uint64) (view, error) {
	who, ok := framed.PeerFrom(ctx)
	if !ok {
		return view{}, demux.ErrPeer
	}
	v := view{s: s, peer: who, read: s.eng}
	if snapshot == 0 {
		return v, nil
	}
	h, err := s.snapshots.reader(snapshot, who.UID)
	if err != nil {
		return view{}, err
	}
	v.read, v.held = h, h
	return v, nil
}

func (v *view) release() {
	if v.held != nil {
		v.s.snapshots.giveBack(v.held)
	}
}

func (v *view) get(r *stoav1.GetRequest) (*stoav1.GetResponse, error) {
	value, found, err := v.append(nil, r)
	if err != nil || !found {
		return &stoav1.GetResponse{}, err
	}
	if value == nil {
		value = []byte{} // set, and empty
	}
	return &stoav1.GetResponse{Value: value}, nil
}

// append appends the value that r asks for to dst.
func (v *view) append(dst []byte, r *stoav1.GetRequest) (_ []byte, found bool, err error) {
	col := column.Column(r.GetColumn())
	if err := v.mayRead(col, r.GetColumn(), r.GetKey()); err != nil {
		return dst, false, err
	}
	dst, err = v.read.Get(dst, col, r.GetKey())
	if errors.Is(err, engine.ErrNotFound) {
		return dst, false, nil
	}
	return dst, err == nil, err
}

// multiGetGroup is how many keys of a MultiGet are read at once: between groups
// the answer is weighed, so that it never takes much more memory than it may.
const multiGetGroup = 8

// lookups are the buffers of a MultiGet.
type lookups struct {
	list   []engine.Lookup
	values []byte
}

var lookupPool = sync.Pool{New: func() any { return new(lookups) }}

func (b *lookups) free() {
	clear(b.list)
	if cap(b.values) <= 1<<20 && cap(b.list) <= 1024 {
		lookupPool.Put(b)
	}
}

func (v *view) multiGet(ctx context.Context, r *stoav1.MultiGetRequest) (*stoav1.MultiGetResponse, error) {
	packed, err := v.appendAll(ctx, nil, r)
	if err != nil {
		return nil, err
	}
	return &stoav1.MultiGetResponse{Values: packed}, nil
}

// appendAll appends the packed values that r asks for to dst.
func (v *view) appendAll(ctx context.Context, dst []byte, r *stoav1.MultiGetRequest) ([]byte, error) {
	b := lookupPool.Get().(*lookups)
	defer b.free()
	var err error
	if b.list, err = wire.ParseLookups(b.list[:0], r.GetLookups()); err != nil {
		return dst, err
	}
	for i := range b.list {
		if err := v.mayRead(b.list[i].Column, stoav1.Column(b.list[i].Column), b.list[i].Key); err != nil {
			return dst, err
		}
	}
	read := v.read
	if len(b.list) > multiGetGroup && v.held == nil {
		snap, err := v.s.eng.Snapshot()
		if err != nil {
			return dst, err
		}
		defer snap.Close()
		read = snap
	}
	before := len(dst)
	for at := 0; at < len(b.list); at += multiGetGroup {
		if err := ctx.Err(); err != nil {
			return dst, err
		}
		group := b.list[at:min(at+multiGetGroup, len(b.list))]
		if b.values, err = read.MultiGet(b.values[:0], group); err != nil {
			return dst, err
		}
		if at == 0 { // guess the rest from the first group
			guess := len(b.list)*2 + len(b.values)*(len(b.list)+len(group)-1)/len(group)
			dst = slices.Grow(dst, min(guess, engine.MaxBatch))
		}
		for i := range group {
			dst = wire.AppendValue(dst, group[i].Value, group[i].Found)
		}
		if len(dst)-before > engine.MaxBatch {
			return dst, answerTooLarge(at + len(group))
		}
	}
	return dst, nil
}

func answerTooLarge(keys int) error {
	return fault.New(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE,
		fmt.Sprintf("rpc: the values of the first %d keys take more than the %d bytes that an answer may; ask for fewer at a time", keys, engine.MaxBatch),
		fault.FieldReason, "answer", fault.FieldLimit, strconv.Itoa(engine.MaxBatch))
}

func checkColumn(c stoav1.Column) error {
	if c > 0 && int(c) <= column.Count {
		return nil
	}
	return badField("column", fmt.Sprintf("no column %d; columns are 1 to %d", int32(c), column.Count))
}

func badField(field, reason string) error {
	return fault.New(stoav1.ErrorKind_ERROR_KIND_REQUEST, "rpc: bad request: "+field+": "+reason,
		fault.FieldField, field, fault.FieldReason, reason)
}

// bounds is a request that names a range of keys.
type bounds interface {
	GetColumn() stoav1.Column
	GetStart() []byte
	GetEnd() []byte
	GetPrefix() []byte
}

// rangeOf returns the range that a request names: the keys within all bounds.
func rangeOf(r bounds) (column.Column, engine.Range, error) {
	if err := checkColumn(r.GetColumn()); err != nil {
		return 0, engine.Range{}, err
	}
	return column.Column(r.GetColumn()), engine.Range{Start: r.GetStart(), End: r.GetEnd()}.WithPrefix(r.GetPrefix()), nil
}
