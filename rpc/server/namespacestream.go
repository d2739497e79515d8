package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// OpsSince is Namespace.OpsSince.
func (t *namespaceService) OpsSince(r *stoav1.NamespaceOpsSinceRequest, stream grpc.ServerStreamingServer[stoav1.NamespaceOpsSinceResponse]) error {
	ns, err := namespaceID(r)
	if err != nil {
		return err
	}
	heads, err := op.ParseIDs[codec.OpID]("heads", r.GetHeads())
	if err != nil {
		return field(err)
	}
	return t.s.govStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		m, size := new(stoav1.NamespaceOpsSinceResponse), 0
		flush := func() error {
			if len(m.GetOps()) == 0 {
				return nil
			}
			err := wait.During(func() error { return stream.Send(m) })
			m, size = new(stoav1.NamespaceOpsSinceResponse), 0
			return err
		}
		for sent, err := range t.store().OpsSince(ctx, ns, heads, r.GetCursor()) {
			if err != nil {
				return aboutNamespace(err, ns)
			}
			m.Ops = append(m.Ops, &stoav1.NamespaceSentOp{Op: sent.Wire, Cursor: sent.Cursor, OpId: op.Bytes(sent.ID)})
			if size += len(sent.Wire); size >= govQueue || len(m.GetOps()) == govTogether {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return flush()
	})
}

// maxFindings is how many findings a report has.
const maxFindings = 1000

// Verify is Namespace.Verify.
func (t *namespaceService) Verify(r *stoav1.NamespaceVerifyRequest, stream grpc.ServerStreamingServer[stoav1.NamespaceVerifyResponse]) error {
	ns, err := namespaceID(r)
	if err != nil {
		return err
	}
	return t.s.govStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		info, err := t.store().Namespace(ns)
		if err != nil {
			return aboutNamespace(err, ns)
		}
		found, err := t.store().Verify(ctx, ns)
		if err != nil {
			return aboutNamespace(err, ns)
		}
		for _, f := range found[:min(len(found), maxFindings)] {
			m := &stoav1.NamespaceVerifyResponse{Part: &stoav1.NamespaceVerifyResponse_Finding{Finding: &stoav1.NamespaceFinding{
				Detail: f.What, Column: stoav1.Column(f.Column), Key: f.Key}}}
			if err := wait.During(func() error { return stream.Send(m) }); err != nil {
				return err
			}
		}
		end := &stoav1.NamespaceVerifyResponse{Part: &stoav1.NamespaceVerifyResponse_Summary{Summary: &stoav1.NamespaceVerifySummary{
			Ops: uint64(info.Ops), More: uint64(max(len(found)-maxFindings, 0))}}}
		return wait.During(func() error { return stream.Send(end) })
	})
}
