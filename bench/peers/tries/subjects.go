package main

import (
	"context"
	"errors"

	"github.com/cosmos/iavl"
	iavldb "github.com/cosmos/iavl/db"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb/leveldb"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
	"github.com/ethereum/go-ethereum/triedb"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

// cacheMB is what each keeps in memory of its store.
const cacheMB = 256

// stoa commits deltas: state, the delta itself, its place in the order, versions, and the trie.
type stoa struct {
	db    engine.Engine
	store *dag.Store
	id    codec.ContextID
	root  codec.Hash
}

func openStoa(dir string) (subject, error) {
	db, err := rocks.Open(dir, rocks.Options{CacheBytes: cacheMB << 20})
	if err != nil {
		return nil, err
	}
	s := &stoa{db: db, id: codec.ContextID{1}}
	if s.store, err = dag.Open(db, dag.Options{Node: codec.NodeID{Lo: 1}}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	err = s.store.CreateContext(s.id, codec.ApplicationMeta{ApplicationID: codec.ApplicationID{1}, Source: "https://example.com/bench", Version: "1"})
	if err == nil {
		var info dag.ContextInfo
		info, err = s.store.Context(s.id)
		s.root = info.Root
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *stoa) Commit(keys, values [][]byte) error {
	actions := make([]codec.Action, len(keys))
	for i := range keys {
		actions[i] = codec.Put(keys[i], values[i])
	}
	done, err := s.store.Commit(context.Background(), dag.Commit{Context: s.id, Actions: actions, ReadRoot: s.root, Durability: engine.WAL})
	s.root = done.Root
	return err
}

func (s *stoa) Close() error { return errors.Join(s.store.Close(), s.db.Close()) }

// iavlTree saves a version with each commit, on goleveldb.
type iavlTree struct {
	db   *iavldb.GoLevelDB
	tree *iavl.MutableTree
}

func openIavl(dir string, skipFast bool) (subject, error) {
	db, err := iavldb.NewGoLevelDB("iavl", dir)
	if err != nil {
		return nil, err
	}
	return &iavlTree{db, iavl.NewMutableTree(db, 1_000_000, skipFast, iavl.NewNopLogger())}, nil
}

func (t *iavlTree) Commit(keys, values [][]byte) error {
	for i := range keys {
		if _, err := t.tree.Set(keys[i], values[i]); err != nil {
			return err
		}
	}
	_, _, err := t.tree.SaveVersion()
	return err
}

func (t *iavlTree) Close() error { return errors.Join(t.tree.Close(), t.db.Close()) }

// gethTrie is the state trie of go-ethereum: keys are hashed, nodes lie by their hashes in goleveldb.
type gethTrie struct {
	disk  *leveldb.Database
	nodes *triedb.Database
	root  common.Hash
	block uint64
}

func openGeth(dir string) (subject, error) {
	disk, err := leveldb.New(dir, cacheMB, 256, "", false)
	if err != nil {
		return nil, err
	}
	return &gethTrie{disk: disk, nodes: triedb.NewDatabase(rawdb.NewDatabase(disk), triedb.HashDefaults), root: types.EmptyRootHash}, nil
}

func (g *gethTrie) Commit(keys, values [][]byte) error {
	t, err := trie.NewStateTrie(trie.TrieID(g.root), g.nodes)
	if err != nil {
		return err
	}
	for i := range keys {
		t.MustUpdate(keys[i], values[i])
	}
	root, nodes := t.Commit(false)
	g.block++
	if err := g.nodes.Update(root, g.root, g.block, trienode.NewWithNodeSet(nodes), nil); err != nil {
		return err
	}
	g.root = root
	return g.nodes.Commit(root, false)
}

func (g *gethTrie) Close() error { return errors.Join(g.nodes.Close(), g.disk.Close()) }
