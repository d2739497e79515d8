package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// governance is what is read of namespaces and groups: of a daemon's, or of those in
// a directory.
type governance interface {
	List(after codec.GroupID, limit int) ([]namespace.Info, error)
	Namespace(ns codec.GroupID) (namespace.Info, error)
	Tree(ns codec.GroupID) ([]namespace.TreeGroup, error)
	Identity(ns codec.GroupID) (codec.Identity, error)
	Op(ns codec.GroupID, id codec.OpID) (namespace.OpInfo, error)
	OpsSince(ctx context.Context, ns codec.GroupID, heads []codec.OpID, cursor uint64) iter.Seq2[namespace.Sent, error]
	Missing(ns codec.GroupID, after codec.OpID, limit int) ([]codec.OpID, error)
	PendingOps(ns codec.GroupID, after codec.OpID, limit int) ([]namespace.PendingOp, error)
	Equivocations(ns codec.GroupID, after group.Equivocation, limit int) ([]group.Equivocation, error)
	Show(g codec.GroupID) (namespace.GroupInfo, error)
	Names(g codec.GroupID, after namespace.Name, limit int) ([]namespace.Name, error)
	NamespaceOf(g codec.GroupID) (codec.GroupID, error)
	Members(g codec.GroupID, after codec.Identity, limit int) ([]namespace.MemberInfo, error)
	Contexts(g codec.GroupID, after codec.ContextID, limit int) ([]namespace.ContextInfo, error)
	Ops(ctx context.Context, g codec.GroupID, w namespace.Window) iter.Seq2[namespace.Entry, error]
	Voided(g codec.GroupID) ([]namespace.Voided, error)
}

// daemonGovernance is that of a daemon.
type daemonGovernance struct {
	*rpc.Namespaces
	*rpc.Groups
}

// offlineGovernance is that in a directory, or in a daemon's store as it was when it
// was opened.
type offlineGovernance struct {
	*namespace.Store
	source records
	warn   func(inspect.Finding) error
	lost   int // places that could not be read
}

// openGovernance opens the namespaces in a directory.
func (f *recordFlags) openGovernance(p *process) (*offlineGovernance, error) {
	source, err := f.open(p)
	if err != nil {
		return nil, err
	}
	store, err := namespace.Open(engine.ReadOnly(source), namespace.Options{})
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return &offlineGovernance{Store: store, source: source, warn: p.warn}, nil
}

// List is that of a daemon, but tells of namespaces that cannot be read, and goes on.
func (o *offlineGovernance) List(after codec.GroupID, limit int) (list []namespace.Info, err error) {
	head, _ := keys.ByName("NamespaceGovHead") // a type of the schema
	heads := scan{column: head.Column, only: head.Name, window: engine.Prefixed([]byte{head.Tag})}
	if after != (codec.GroupID{}) {
		heads.window.Start = append(append([]byte{head.Tag}, after[:]...), 0)
	}
	if source, ok := o.source.(*inspect.Source); ok {
		heads.source, heads.found = source, o.tell
	}
	err = heads.each(o.source, func(r row) error {
		id := codec.GroupID(r.key[1:])
		info, err := o.Namespace(id)
		switch {
		case errors.Is(err, engine.ErrCorrupt):
			return o.tell(inspect.Finding{Code: "unreadable", Column: head.Column.String(), Key: inspect.KeyText(r.key), Reason: fmt.Sprintf("namespace %s: %s", id, err)})
		case err != nil:
			return err
		}
		if list = append(list, info); len(list) == limit {
			return errPageFull
		}
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return list, err
	}
	return o.withAwaited(list, after, limit)
}

// withAwaited adds the namespaces of which there is an identity and no op to a page of
// the others.
func (o *offlineGovernance) withAwaited(list []namespace.Info, after codec.GroupID, limit int) ([]namespace.Info, error) {
	all, err := o.Namespaces(after, limit)
	if err != nil {
		return list, err
	}
	for _, id := range all {
		begun, err := engine.Has(o.source, keys.NamespaceGovHead{Namespace: id})
		if err != nil {
			return list, err
		}
		if begun {
			continue
		}
		info, err := o.Namespace(id)
		if err != nil {
			return list, err
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b namespace.Info) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

// errPageFull ends a scan.
var errPageFull = errors.New("the page is full")

// tell tells of what cannot be read, and counts it.
func (o *offlineGovernance) tell(f inspect.Finding) error {
	o.lost++
	return o.warn(f)
}

// Close gives the directory back.
func (o *offlineGovernance) Close() error {
	return errors.Join(o.Store.Close(), o.source.Close())
}

// offlineGovFailure explains errors of governance that is only read.
func offlineGovFailure(err error) error {
	if errors.Is(err, engine.ErrReadOnly) {
		return refused(errors.New("ops that waited can be taken now, which changes the store: a daemon does that first"), "`stoa serve` the directory once")
	}
	return err
}
