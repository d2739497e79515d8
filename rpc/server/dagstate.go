package server

import (
	"context"
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// there returns an error unless the context is there.
func (t *dagService) there(r engine.Getter, id codec.ContextID) error {
	has, err := engine.Has(r, keys.ContextMeta{Context: id})
	if !has && err == nil {
		has, err = engine.Has(r, keys.ContextGroupRef{Context: id}) // it begins with the first that is written to it
	}
	if !has && err == nil {
		err = dag.ErrNoContext
	}
	return aboutContext(err, id)
}

// GetConfig is Dag.GetConfig.
func (t *dagService) GetConfig(_ context.Context, r *stoav1.DagGetConfigRequest) (*stoav1.DagGetConfigResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	if err := t.there(t.s.eng, id); err != nil {
		return nil, err
	}
	v, err := configOf(t.s.eng, id)
	if err != nil {
		return nil, err
	}
	return &stoav1.DagGetConfigResponse{Config: wireConfig(v)}, nil
}

// configOf returns the counters of a context; zeros if nothing was counted.
func configOf(r engine.Getter, id codec.ContextID) (codec.ContextConfigValue, error) {
	v, err := engine.Get(r, keys.ContextConfig{Context: id})
	if errors.Is(err, engine.ErrNotFound) {
		return codec.ContextConfigValue{}, nil
	}
	return v, err
}

func wireConfig(v codec.ContextConfigValue) *stoav1.DagConfig {
	return &stoav1.DagConfig{ApplicationRevision: v.ApplicationRevision, MembersRevision: v.MembersRevision}
}

// BumpConfig is Dag.BumpConfig.
func (t *dagService) BumpConfig(_ context.Context, r *stoav1.DagBumpConfigRequest) (*stoav1.DagBumpConfigResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	if !r.GetApplication() && !r.GetMembers() {
		return nil, badField("application", "neither it nor members is to be counted")
	}
	var v codec.ContextConfigValue
	err = t.s.eng.Update(func(read engine.Getter, b *engine.Batch) (err error) {
		if err := t.there(read, id); err != nil {
			return err
		}
		if err := ungoverned(read, id); err != nil {
			return err
		}
		if v, err = configOf(read, id); err != nil {
			return err
		}
		if r.GetApplication() {
			v.ApplicationRevision++
		}
		if r.GetMembers() {
			v.MembersRevision++
		}
		engine.Put(b, keys.ContextConfig{Context: id}, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &stoav1.DagBumpConfigResponse{Config: wireConfig(v)}, nil
}

// ungoverned returns an error if a group has the context: its counters then follow from
// the ops of its namespace, and would be another node's no more.
func ungoverned(r engine.Getter, id codec.ContextID) error {
	group, err := engine.Get(r, keys.ContextGroupRef{Context: id})
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return rpc.KeyError(stoav1.ErrorKind_ERROR_KIND_OWNED, column.Config, id[:],
		fmt.Sprintf("rpc: owned: context %s belongs to group %s, whose ops alone raise its counters", id, group.GroupID),
		rpc.FieldOwner, stoav1.Namespace_ServiceDesc.ServiceName, rpc.FieldGroup, group.GroupID.String())
}

// GetState is Dag.GetState.
func (t *dagService) GetState(_ context.Context, r *stoav1.DagGetStateRequest) (*stoav1.DagGetStateResponse, error) {
	value, err := t.appValue(r, column.State)
	return &stoav1.DagGetStateResponse{Value: value}, err
}

// GetPrivate is Dag.GetPrivate.
func (t *dagService) GetPrivate(_ context.Context, r *stoav1.DagGetPrivateRequest) (*stoav1.DagGetPrivateResponse, error) {
	value, err := t.appValue(r, column.PrivateState)
	return &stoav1.DagGetPrivateResponse{Value: value}, err
}

// appKeyed is a request that names a key of a context's state.
type appKeyed interface {
	GetContextId() []byte
	GetAppKey() []byte
}

// appValue returns what is stored under a key of a state; nil if nothing is.
func (t *dagService) appValue(r appKeyed, col column.Column) ([]byte, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	key, err := appKey(id, col, r.GetAppKey())
	if err != nil {
		return nil, err
	}
	value, err := t.s.eng.Get([]byte{}, col, key)
	if !errors.Is(err, engine.ErrNotFound) {
		return value, err
	}
	if col == column.PrivateState {
		return nil, t.there(t.s.eng, id)
	}
	// It may be missing only until a snapshot of the context has been adopted.
	value, err = t.s.o.Dag.State(id, r.GetAppKey())
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if value == nil {
		value = []byte{}
	}
	return value, aboutContext(err, id)
}

// appKey returns the row's key of a key of a state.
func appKey(id codec.ContextID, col column.Column, app []byte) ([]byte, error) {
	key := append(append(make([]byte, 0, len(id)+len(app)), id[:]...), app...)
	if _, err := keys.Identify(col, key); err != nil {
		return nil, rpc.DescribeRow(err, col, key)
	}
	return key, nil
}

// WritePrivate is Dag.WritePrivate.
func (t *dagService) WritePrivate(ctx context.Context, r *stoav1.DagWritePrivateRequest) (*stoav1.DagWritePrivateResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	d, err := durability(r.GetDurability())
	if err != nil {
		return nil, err
	}
	actions := dagwire.Actions(r.GetActions())
	rows := make([][]byte, len(actions))
	seen := make(map[string]bool, len(actions))
	for i, a := range actions {
		if rows[i], err = appKey(id, column.PrivateState, a.Key); err != nil {
			return nil, err
		}
		if seen[string(a.Key)] {
			return nil, badField("actions", "a key comes twice")
		}
		seen[string(a.Key)] = true
	}
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return nil, err
	}
	if err := t.s.o.Dag.Begin(id); err != nil {
		return nil, aboutContext(err, id)
	}
	// The context that is deleted meanwhile leaves nothing to the next of its id.
	deleted := uint32(0)
	err = t.s.eng.Update(func(read engine.Getter, b *engine.Batch) error {
		b.Durability, deleted = d, 0
		for i, a := range actions {
			if a.Kind == codec.ActionPut {
				b.Put(column.PrivateState, rows[i], a.Value)
				continue
			}
			_, err := read.Get(nil, column.PrivateState, rows[i])
			if errors.Is(err, engine.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			b.Delete(column.PrivateState, rows[i])
			deleted++
		}
		has, err := engine.Has(read, keys.ContextMeta{Context: id})
		if err == nil && !has {
			err = aboutContext(dag.ErrNoContext, id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &stoav1.DagWritePrivateResponse{Deleted: deleted}, nil
}

// ScanState is Dag.ScanState.
func (t *dagService) ScanState(r *stoav1.DagScanStateRequest, stream grpc.ServerStreamingServer[stoav1.DagScanStateResponse]) error {
	return t.scanApp(stream.Context(), column.State, r, func(entries []byte, count uint32) error {
		return stream.Send(&stoav1.DagScanStateResponse{Entries: entries, Count: count})
	})
}

// ScanPrivate is Dag.ScanPrivate.
func (t *dagService) ScanPrivate(r *stoav1.DagScanPrivateRequest, stream grpc.ServerStreamingServer[stoav1.DagScanPrivateResponse]) error {
	return t.scanApp(stream.Context(), column.PrivateState, r, func(entries []byte, count uint32) error {
		return stream.Send(&stoav1.DagScanPrivateResponse{Entries: entries, Count: count})
	})
}

// appRange is a request that names keys of a context's state.
type appRange interface {
	GetContextId() []byte
	GetStart() []byte
	GetEnd() []byte
	GetPrefix() []byte
	GetReverse() bool
	GetLimit() uint64
}

// rangeWithin returns the rows of the keys that r names.
func rangeWithin(id codec.ContextID, r appRange) (engine.Range, error) {
	row := func(app []byte) []byte { return append(append(make([]byte, 0, len(id)+len(app)), id[:]...), app...) }
	rg := engine.Prefixed(row(r.GetPrefix()))
	if start := row(r.GetStart()); string(start) > string(rg.Start) {
		rg.Start = start
	}
	if r.GetEnd() != nil {
		if end := row(r.GetEnd()); rg.End == nil || string(end) < string(rg.End) {
			rg.End = end
		}
	}
	if r.GetLimit() > math.MaxInt {
		return rg, badField("limit", "too large")
	}
	rg.Reverse, rg.Limit = r.GetReverse(), int(r.GetLimit())
	return rg, nil
}

// scanApp sends the keys and values of a state in pages.
func (t *dagService) scanApp(ctx context.Context, col column.Column, r appRange, send func([]byte, uint32) error) error {
	id, err := contextID(r)
	if err != nil {
		return err
	}
	rg, err := rangeWithin(id, r)
	if err != nil {
		return err
	}
	return t.s.dagStream(ctx, func(ctx context.Context, wait *peerWait) (err error) {
		snapshot, err := t.s.eng.Snapshot()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, snapshot.Close()) }()
		if col == column.PrivateState { // which a snapshot of the context leaves alone
			err = t.there(snapshot, id)
		} else {
			err = aboutContext(dag.Readable(snapshot, id), id)
		}
		if err != nil {
			return err
		}
		it, err := snapshot.Iterate(col, rg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		var page []byte
		count, most := uint32(0), uint32(rpc.FirstPageEntries)
		flush := func() error {
			err := wait.During(func() error { return send(page, count) })
			page, count, most = page[:0], 0, min(most*rpc.PageGrowth, rpc.MaxPageEntries)
			return err
		}
		for it.Next() {
			key, value := it.Key()[len(id):], it.Value()
			if count > 0 && (count == most || len(page)+len(key)+len(value) > rpc.MaxPage) {
				if err := flush(); err != nil {
					return err
				}
			}
			page = engine.AppendEntry(page, key, value)
			count++
		}
		if err := it.Err(); err != nil || count == 0 {
			return err
		}
		return flush()
	})
}
