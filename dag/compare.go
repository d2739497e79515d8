package dag

import (
	"context"
	"errors"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// Evidence is what a context has under a key, and the proof of it.
type Evidence struct {
	Root  codec.Hash
	Value codec.Option[[]byte] // none: the key is absent
	Proof *merkle.Proof
}

// Prove returns what a context has under an app_key now, and the proof of it by
// the present root. It returns ErrNoContext, ErrAdopting, ErrClosed,
// engine.ErrCorrupt, or the engine's error.
func (s *Store) Prove(id codec.ContextID, appKey []byte) (e Evidence, err error) {
	err = s.inTrie(id, func(r engine.Reader, t *merkle.Trie) error {
		e.Root = t.Root()
		if e.Proof, err = t.Prove(merkle.HashKey(appKey)); err != nil {
			return err
		}
		value, err := r.Get(nil, column.State, stateKey(nil, &id, appKey))
		switch {
		case err == nil:
			e.Value = codec.Some(value)
		case !errors.Is(err, engine.ErrNotFound):
			return err
		}
		if e.Proof.Included() != (err == nil) {
			return damagedRow(column.State, stateKey(nil, &id, appKey), "the trie says otherwise")
		}
		return nil
	})
	return e, err
}

// Nodes answers a peer that compares itself with a context. It returns ErrRootGone
// if the root is no longer the one that is meant, codec.ErrMalformed for a request
// out of order, and the errors of [Store.Prove].
func (s *Store) Nodes(ctx context.Context, id codec.ContextID, r *merkle.NodeRequest) (a *merkle.NodeAnswer, err error) {
	err = s.inTrie(id, func(_ engine.Reader, t *merkle.Trie) error {
		a, err = t.Nodes(ctx, r)
		return err
	})
	return a, err
}

// Peer returns what answers for a context of this store to whoever compares itself
// with it, as [Store.Nodes] does.
func (s *Store) Peer(id codec.ContextID) merkle.Peer { return storePeer{s, id} }

type storePeer struct {
	store   *Store
	context codec.ContextID
}

// Nodes answers as [Store.Nodes] does.
func (p storePeer) Nodes(ctx context.Context, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	return p.store.Nodes(ctx, p.context, r)
}

// Diff yields the keys in which two contexts of this store differ, both as they
// are at the time of the call: a is local, b remote. It ends after an error: those of
// [Store.Prove], or that of ctx. A state of the store is held until it ends.
func (s *Store) Diff(ctx context.Context, a, b codec.ContextID) iter.Seq2[merkle.Difference, error] {
	return s.differences(ctx, a, func(r engine.Reader) (merkle.Peer, codec.Hash, error) {
		t, err := s.openTrie(r, b)
		if err != nil {
			return nil, codec.Hash{}, err
		}
		return t, t.Root(), nil
	})
}

// DiffWith yields the keys in which a context, as it is at the time of the call,
// differs from that of a peer whose root is remoteRoot, as [merkle.Diff] does. A state of the store is
// held until it ends. Its errors are those of [Store.Prove] and of [merkle.Diff].
func (s *Store) DiffWith(ctx context.Context, id codec.ContextID, peer merkle.Peer, remoteRoot codec.Hash) iter.Seq2[merkle.Difference, error] {
	return s.differences(ctx, id, func(engine.Reader) (merkle.Peer, codec.Hash, error) { return peer, remoteRoot, nil })
}

func (s *Store) differences(ctx context.Context, id codec.ContextID, other func(engine.Reader) (merkle.Peer, codec.Hash, error)) iter.Seq2[merkle.Difference, error] {
	return func(yield func(merkle.Difference, error) bool) {
		on := true
		err := s.inTrie(id, func(r engine.Reader, t *merkle.Trie) error {
			peer, root, err := other(r)
			if err != nil {
				return err
			}
			for d, err := range merkle.Diff(ctx, t, peer, root) {
				if err == nil {
					err = s.ended(ctx)
				}
				if err != nil {
					return err
				}
				if on = yield(d, nil); !on {
					return nil
				}
			}
			return nil
		})
		if err != nil && on {
			yield(merkle.Difference{}, err)
		}
	}
}

// inTrie calls fn with the store as it is now and the trie of a context.
func (s *Store) inTrie(id codec.ContextID, fn func(engine.Reader, *merkle.Trie) error) error {
	s.endTail(s.ctx, id)
	return s.view(func(r engine.Reader) error {
		t, err := s.openTrie(r, id)
		if err != nil {
			return err
		}
		return fn(r, t)
	})
}

// openTrie returns the trie of a context in a state of the store.
func (s *Store) openTrie(r engine.Reader, id codec.ContextID) (*merkle.Trie, error) {
	past := history{r: r, context: id}
	meta, _, err := past.open()
	if err != nil {
		return nil, err
	}
	if r, err = withoutTail(r, s.options.Cache, id); err != nil {
		return nil, err
	}
	return merkle.Open(s.options.Cache, r, id, meta.RootHash), nil
}
