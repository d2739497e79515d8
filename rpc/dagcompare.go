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
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagProof is the proof of what a state has under a key; no value: nothing.
type dagProof struct {
	Root  codec.Hash `wire:"root_hash,hash"`
	Value []byte
	Proof []byte
}

var dagProve = op.New(op.Method{Number: 628, Name: "Dag.Prove", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagKey) (p dagProof, err error) {
		e, err := s.Prove(a.ContextID, a.AppKey)
		if err != nil {
			return p, err
		}
		if p.Root = e.Root; e.Value.Valid {
			p.Value = append([]byte{}, e.Value.V...) // set, be it empty
		}
		p.Proof, err = e.Proof.AppendBinary(nil)
		return p, err
	})

// Prove returns what a context has under an app_key now, and the proof of it by the
// present root; see [dag.Store.Prove]. The proof is as the daemon has sent it: whether
// it holds its own methods tell.
func (d *Dag) Prove(ctx context.Context, id codec.ContextID, appKey []byte) (e dag.Evidence, err error) {
	p, err := call(ctx, d.c, dagProve, dagKey{dagContext{id}, appKey})
	if err != nil {
		return e, err
	}
	if e.Root = p.Root; p.Value != nil {
		e.Value = codec.Some(p.Value)
	}
	e.Proof, err = merkle.ParseProof(p.Proof)
	return e, caller.Odd(dagProve.Name, err)
}

// dagAsking are the arguments of Nodes; the request is as it travels.
type dagAsking struct {
	dagContext
	Request []byte
}

var dagNodes = op.New(op.Method{Number: 629, Name: "Dag.Nodes", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagAsking) ([]byte, error) {
		ask, err := merkle.ParseNodeRequest(a.Request)
		if err != nil {
			return nil, &op.FieldError{Field: "request", Reason: err.Error()}
		}
		answer, err := s.Nodes(ctx, a.ContextID, ask)
		if err != nil {
			return nil, err
		}
		return answer.AppendBinary(nil)
	})

// Nodes answers a peer that compares itself with a context; see [dag.Store.Nodes].
func (d *Dag) Nodes(ctx context.Context, id codec.ContextID, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	ask, err := r.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	answer, err := call(ctx, d.c, dagNodes, dagAsking{dagContext{id}, ask})
	if err != nil {
		return nil, err
	}
	a, err := merkle.ParseNodeAnswer(answer)
	return a, caller.Odd(dagNodes.Name, err)
}

// Peer returns what answers for a context of the daemon to whoever compares itself
// with it; see [dag.Store.Peer].
func (d *Dag) Peer(id codec.ContextID) merkle.Peer { return dagPeer{d, id} }

type dagPeer struct {
	dag     *Dag
	context codec.ContextID
}

// Nodes asks the daemon for nodes of the trie; its errors are those of [merkle.Peer].
func (p dagPeer) Nodes(ctx context.Context, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	return p.dag.Nodes(ctx, p.context, r)
}

var dagDiff = op.ByHand(op.Method{Number: 630, Name: "Dag.Diff", Role: access.Reader})

// Diff yields the keys in which two contexts of the daemon differ, both as they are at
// the time of the call: a is local, b remote; see [dag.Store.Diff].
func (d *Dag) Diff(ctx context.Context, a, b codec.ContextID) iter.Seq2[merkle.Difference, error] {
	return d.diff(ctx, &stoav1.DagDiffStart{ContextId: a[:], With: &stoav1.DagDiffStart_OtherContextId{OtherContextId: b[:]}}, nil)
}

// DiffWith yields the keys in which a context, as it is at the time of the call,
// differs from that of a peer whose root is remoteRoot; see [dag.Store.DiffWith]. The
// daemon says what to ask, and peer is asked here.
func (d *Dag) DiffWith(ctx context.Context, id codec.ContextID, peer merkle.Peer, remoteRoot codec.Hash) iter.Seq2[merkle.Difference, error] {
	return d.diff(ctx, &stoav1.DagDiffStart{ContextId: id[:], With: &stoav1.DagDiffStart_RemoteRoot{RemoteRoot: remoteRoot[:]}}, peer)
}

func (d *Dag) diff(ctx context.Context, start *stoav1.DagDiffStart, peer merkle.Peer) iter.Seq2[merkle.Difference, error] {
	return func(yield func(merkle.Difference, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
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
				found, err := dagwire.Differences.Value(f)
				if !yield(found, caller.Odd(dagDiff.Name, err)) || err != nil {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(merkle.Difference{}, d.c.failed(dagDiff.Name, err))
		}
	}
}

func askPeer(ctx context.Context, peer merkle.Peer, ask []byte) ([]byte, error) {
	r, err := merkle.ParseNodeRequest(ask)
	if err == nil && peer == nil {
		err = errors.New("it asks for a peer that there is none of")
	}
	if err != nil {
		return nil, caller.Odd(dagDiff.Name, err)
	}
	answer, err := peer.Nodes(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("rpc: %s: the peer: %w", dagDiff.Name, err)
	}
	return answer.AppendBinary(nil)
}
