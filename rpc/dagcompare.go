package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Prove is dag.Store's. The proof is as the daemon has sent it: whether it holds
// its own methods tell.
func (d *Dag) Prove(id codec.ContextID, appKey []byte) (e dag.Evidence, err error) {
	res, err := dagCall(d.c, "prove", d.c.dag.Prove, &stoav1.DagProveRequest{ContextId: id[:], AppKey: appKey})
	if err != nil {
		return e, err
	}
	if res.Value != nil {
		e.Value = codec.Some(res.GetValue())
	}
	if e.Root, err = op.ParseHash[codec.Hash]("root_hash", res.GetRootHash()); err == nil {
		e.Proof, err = merkle.ParseProof(res.GetProof())
	}
	return e, odd("prove", err)
}

// Nodes is dag.Store's.
func (d *Dag) Nodes(ctx context.Context, id codec.ContextID, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	ask, err := r.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	client, cancel := d.until(ctx)
	defer cancel()
	res, err := dagCall(client, "nodes", d.c.dag.Nodes, &stoav1.DagNodesRequest{ContextId: id[:], Request: ask})
	if err != nil {
		return nil, err
	}
	a, err := merkle.ParseNodeAnswer(res.GetAnswer())
	return a, odd("nodes", err)
}

// Peer is dag.Store's: what answers for a context of the daemon.
func (d *Dag) Peer(id codec.ContextID) merkle.Peer { return dagPeer{d, id} }

type dagPeer struct {
	dag     *Dag
	context codec.ContextID
}

// Nodes asks the daemon for nodes of the trie; its errors are those of [merkle.Peer].
func (p dagPeer) Nodes(ctx context.Context, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	return p.dag.Nodes(ctx, p.context, r)
}

// Diff is dag.Store's.
func (d *Dag) Diff(ctx context.Context, a, b codec.ContextID) iter.Seq2[merkle.Difference, error] {
	return d.diff(ctx, &stoav1.DagDiffStart{ContextId: a[:], With: &stoav1.DagDiffStart_OtherContextId{OtherContextId: b[:]}}, nil)
}

// DiffWith is dag.Store's: the daemon says what to ask, and peer is asked here.
func (d *Dag) DiffWith(ctx context.Context, id codec.ContextID, peer merkle.Peer, remoteRoot codec.Hash) iter.Seq2[merkle.Difference, error] {
	return d.diff(ctx, &stoav1.DagDiffStart{ContextId: id[:], With: &stoav1.DagDiffStart_RemoteRoot{RemoteRoot: remoteRoot[:]}}, peer)
}

func (d *Dag) diff(ctx context.Context, start *stoav1.DagDiffStart, peer merkle.Peer) iter.Seq2[merkle.Difference, error] {
	return func(yield func(merkle.Difference, error) bool) {
		ctx, cancel := d.c.within(ctx)
		defer cancel()
		s, err := d.c.dag.Diff(ctx)
		if err == nil {
			// A failure to send is told by Recv.
			_ = s.Send(&stoav1.DagDiffRequest{Part: &stoav1.DagDiffRequest_Start{Start: start}})
		}
		for err == nil {
			var m *stoav1.DagDiffResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			if ask := m.GetNodesRequest(); ask != nil {
				answer, failed := askPeer(ctx, peer, ask)
				if failed != nil {
					yield(merkle.Difference{}, failed)
					return
				}
				_ = s.Send(&stoav1.DagDiffRequest{Part: &stoav1.DagDiffRequest_NodesAnswer{NodesAnswer: answer}})
			}
			for _, f := range m.GetDifferences().GetDifferences() {
				found, err := differenceOf(f)
				if !yield(found, odd("diff", err)) || err != nil {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(merkle.Difference{}, d.c.failed("diff", err))
		}
	}
}

func askPeer(ctx context.Context, peer merkle.Peer, ask []byte) ([]byte, error) {
	r, err := merkle.ParseNodeRequest(ask)
	if err == nil && peer == nil {
		err = errors.New("it asks for a peer that there is none of")
	}
	if err != nil {
		return nil, odd("diff", err)
	}
	answer, err := peer.Nodes(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("rpc: diff: the peer: %w", err)
	}
	return answer.AppendBinary(nil)
}

func differenceOf(m *stoav1.DagDifference) (f merkle.Difference, err error) {
	if f.Key, err = op.ParseHash[codec.Hash]("key_hash", m.GetKeyHash()); err != nil {
		return f, err
	}
	for _, side := range []struct {
		field string
		from  []byte
		to    *codec.Option[codec.Hash]
	}{{"local", m.GetLocal(), &f.Local}, {"remote", m.GetRemote(), &f.Remote}} {
		if len(side.from) == 0 {
			continue
		}
		if side.to.V, err = op.ParseHash[codec.Hash](side.field, side.from); err != nil {
			return f, err
		}
		side.to.Valid = true
	}
	return f, nil
}
