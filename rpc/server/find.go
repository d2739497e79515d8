package server

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Find is Admin.Find.
func (a *adminService) Find(ctx context.Context, r *stoav1.FindRequest) (*stoav1.FindResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, a.s.o.CallTimeout)
	defer cancel()
	q := naming.Query{Kind: naming.Kind(r.GetKind()), Text: r.GetText()}
	if !q.Kind.Valid() || int32(q.Kind) != int32(r.GetKind()) {
		return nil, badField("kind", "none of those that are known")
	}
	var err error
	if q.Group, err = op.ParseOptional[codec.GroupID]("group_id", r.GetGroupId()); err == nil {
		q.Context, err = op.ParseOptional[codec.ContextID]("context_id", r.GetContextId())
	}
	if err != nil {
		return nil, field(err)
	}
	found, err := naming.Find(ctx, a.s.eng, q)
	if errors.Is(err, naming.ErrQuery) {
		return nil, badField("text", err.Error())
	}
	if err != nil {
		return nil, err
	}
	res := &stoav1.FindResponse{More: found.More}
	for _, m := range found.Matches {
		res.Matches = append(res.Matches, &stoav1.FindMatch{Id: op.Bytes(m.ID), Name: m.Name, GroupId: op.OptionalBytes(m.In)})
	}
	return res, nil
}
