package merkle

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

// wire is a peer behind bytes.
type wire struct {
	trie     *Trie
	requests int
	spoil    func([]byte)
}

func (w *wire) Nodes(ctx context.Context, r *NodeRequest) (*NodeAnswer, error) {
	w.requests++
	sent, err := r.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	if r, err = ParseNodeRequest(sent); err != nil {
		return nil, err
	}
	a, err := w.trie.Nodes(ctx, r)
	if err != nil {
		return nil, err
	}
	if sent, err = a.AppendBinary(nil); err != nil {
		return nil, err
	}
	if len(sent) > MaxAnswer {
		return nil, errors.New("longer than any answer")
	}
	if w.spoil != nil {
		w.spoil(sent)
	}
	return ParseNodeAnswer(sent)
}

func differences(t require.TestingT, local *Trie, peer Peer, root codec.Hash) []Difference {
	var all []Difference
	for d, err := range Diff(context.Background(), local, peer, root) {
		require.NoError(t, err)
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Difference) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return all
}

// modelDifferences compares two models key by key.
func modelDifferences(a, b merkletest.Naive) (all []Difference) {
	hash := func(m merkletest.Naive, k string) codec.Option[codec.Hash] {
		if v, ok := m[k]; ok {
			return codec.Some(codec.Hash([]byte(merkletest.Unhex(v))))
		}
		return codec.Option[codec.Hash]{}
	}
	both := merkletest.Naive{}
	for k := range a {
		both[k] = ""
	}
	for k := range b {
		both[k] = ""
	}
	for k := range both {
		if a[k] != b[k] {
			all = append(all, Difference{Key: codec.Hash([]byte(merkletest.Unhex(k))), Local: hash(a, k), Remote: hash(b, k)})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return all
}

func TestDiffFindsExactlyTheKeysThatDiffer(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		cache := NewCache(0)
		tries, models := [2]*Trie{}, [2]merkletest.Naive{{}, {}}
		common := drawStart(t)
		near := drawChanges(t, 60)
		for i := range tries {
			tries[i] = Open(cache, e, codec.ContextID{byte(i)}, EmptyRoot())
			for _, c := range [][]Change{common, near} {
				require.NoError(t, tries[i].Update(c))
				apply(models[i], c)
			}
			if rapid.Bool().Draw(t, "differ") {
				c := drawChanges(t, 40)
				require.NoError(t, tries[i].Update(c))
				apply(models[i], c)
			}
			if rapid.IntRange(0, 5).Draw(t, "emptied") == 0 {
				tries[i], models[i] = Open(cache, e, codec.ContextID{byte(i)}, EmptyRoot()), merkletest.Naive{}
			}
			if rapid.Bool().Draw(t, "committed") {
				commit(t, e, tries[i])
			}
		}
		want := modelDifferences(models[0], models[1])
		require.Equal(t, want, differences(t, tries[0], tries[1], tries[1].Root()))
		require.Equal(t, want, differences(t, tries[0], &wire{trie: tries[1]}, tries[1].Root()))
	})
}

func TestAFalseAnswerIsNotBelieved(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		n := rapid.SampledFrom([]int{1, 50, 400}).Draw(t, "n")
		local, remote := Open(NewCache(0), e, context1, EmptyRoot()), Open(NewCache(0), e, context1, EmptyRoot())
		update(t, local, numberedChanges(0, n, "v")...)
		update(t, remote, numberedChanges(0, n, "v")...)
		update(t, remote, set(numbered(0), "w"))
		w := &wire{trie: remote}
		spoiled := rapid.IntRange(1, 2).Draw(t, "request")
		w.spoil = func(b []byte) {
			if w.requests == spoiled || n == 1 {
				i := rapid.IntRange(0, 8*len(b)-1).Draw(t, "bit")
				b[i/8] ^= 1 << (i % 8)
			}
		}
		var failure error
		for d, err := range Diff(context.Background(), local, w, remote.Root()) {
			if failure = err; err == nil {
				require.Equal(t, numbered(0), d.Key)
				require.Equal(t, codec.Some(HashValue([]byte("w"))), d.Remote)
			}
		}
		if w.requests >= spoiled || n == 1 {
			require.True(t, errors.Is(failure, ErrPeer) || errors.Is(failure, codec.ErrMalformed), "%v", failure)
		}
	})
}

// answers is a peer that says what it is told to, question by question.
type answers []*NodeAnswer

func (a *answers) Nodes(context.Context, *NodeRequest) (*NodeAnswer, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	return next, nil
}

// An answer that hashes to what was asked for is not believed if it has other nodes
// than those.
func TestAnAnswerToAnotherQuestionIsNotBelieved(t *testing.T) {
	e := mem.New()
	defer e.Close()
	local := Open(NewCache(0), e, context1, EmptyRoot())
	low, high := Leaf{Key: codec.Hash{0x0F}, Value: codec.Hash{1}}, Leaf{Key: codec.Hash{0xF0}, Value: codec.Hash{2}}
	hash := func(l Leaf) codec.Hash { return hashLeaves([]Leaf{l}) }
	of := func(l Leaf) answerNode { return answerNode{leaves: []Leaf{l}} }
	top := func(first, last Leaf) answerNode {
		n := node{kind: nodeBranch, bits: 1 | 1<<15}
		n.hashes[0], n.hashes[15] = hash(first), hash(last)
		return answerNode{branch: n}
	}
	for name, nodes := range map[string][][]answerNode{
		"too few nodes":           {{top(low, high)}, {of(low)}},
		"too many nodes":          {{top(low, high)}, {of(low), of(high), of(low)}},
		"no nodes":                {{}},
		"a key below another one": {{top(low, low)}, {of(low), of(low)}},
	} {
		t.Run(name, func(t *testing.T) {
			root := top(low, high)
			if len(nodes[0]) > 0 {
				root = nodes[0][0]
			}
			var peer answers
			for _, n := range nodes {
				peer = append(peer, &NodeAnswer{nodes: n})
			}
			var failure error
			for _, err := range Diff(context.Background(), local, &peer, root.hash()) {
				failure = err
			}
			require.ErrorIs(t, failure, ErrPeer)
		})
	}
	peer := answers{{nodes: []answerNode{top(low, high)}}, {nodes: []answerNode{of(low), of(high)}}}
	root := top(low, high)
	require.Len(t, differences(t, local, &peer, root.hash()), 2)
}

// Rows of this node that are damaged are no difference from the peer.
func TestDiffOverDamagedRowsSaysSo(t *testing.T) {
	for _, n := range []int{10, 2000} {
		e := mem.New()
		local, remote := Open(NewCache(0), e, context1, EmptyRoot()), Open(NewCache(0), e, context1, EmptyRoot())
		update(t, local, numberedChanges(0, n, "v")...)
		update(t, remote, numberedChanges(0, n, "w")...)
		commit(t, e, local)
		for key, row := range rows(t, e) {
			var b engine.Batch
			b.Put(column.Generic, []byte(key), []byte(row[:len(row)-1]))
			require.NoError(t, e.Apply(&b))
			damaged := Open(NewCache(0), e, context1, local.Root())
			var failure error
			for d, err := range Diff(context.Background(), damaged, remote, remote.Root()) {
				if failure = err; err == nil {
					require.Equal(t, codec.Some(HashValue([]byte("v"))), d.Local)
					require.Equal(t, codec.Some(HashValue([]byte("w"))), d.Remote)
				}
			}
			require.ErrorIs(t, failure, engine.ErrCorrupt)
			b.Reset()
			b.Put(column.Generic, []byte(key), []byte(row))
			require.NoError(t, e.Apply(&b))
		}
		require.NoError(t, e.Close())
	}
}

func TestDiffEndsWhenItIsToldTo(t *testing.T) {
	e := mem.New()
	defer e.Close()
	local, remote := Open(NewCache(0), e, context1, EmptyRoot()), Open(NewCache(0), e, context1, EmptyRoot())
	update(t, local, numberedChanges(0, 500, "v")...)
	update(t, remote, numberedChanges(0, 500, "w")...)
	for stop := 1; stop < 100; stop += 7 {
		n := 0
		for _, err := range Diff(context.Background(), local, remote, remote.Root()) {
			require.NoError(t, err)
			if n++; n == stop {
				break
			}
		}
		require.Equal(t, stop, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range Diff(ctx, local, remote, remote.Root()) {
		require.ErrorIs(t, err, context.Canceled)
	}
	for _, err := range Diff(context.Background(), local, remote, HashKey(nil)) {
		require.ErrorIs(t, err, ErrRootGone)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	e := mem.New()
	defer e.Close()
	trie := Open(NewCache(0), e, context1, EmptyRoot())
	r := &NodeRequest{Root: trie.Root()}
	for n := range 16 * 16 {
		r.Prefixes = append(r.Prefixes, NewPrefix(codec.Hash{byte(n)}, 2))
	}
	_, err := trie.Nodes(context.Background(), r)
	require.ErrorIs(t, err, codec.ErrMalformed)
	_, err = r.AppendBinary(nil)
	require.ErrorIs(t, err, codec.ErrMalformed)
	r.Prefixes = []Prefix{NewPrefix(codec.Hash{2}, 2), NewPrefix(codec.Hash{1}, 2)}
	_, err = r.AppendBinary(nil)
	require.ErrorIs(t, err, codec.ErrMalformed)
	slices.Reverse(r.Prefixes)
	_, err = r.AppendBinary(nil)
	require.NoError(t, err)
}

// Two contexts of many keys with ten differences, opened cold.
func TestDiffOfLargeContextsReadsFewNodes(t *testing.T) {
	n := 20_000 * enginetest.Scale(5) // a million at a scale of 10
	e, trie := grown(t, n)
	defer e.Close()
	other := codec.ContextID{2}
	copied := Open(NewCache(0), e, other, EmptyRoot())
	for from := 0; from < n; from += 20_000 {
		update(t, copied, numberedChanges(from, from+20_000, "v")...)
		commit(t, e, copied)
	}
	require.Equal(t, trie.Root(), copied.Root())
	for i := range 10 {
		c := set(numbered(n/10*i), "w")
		c.Delete = i%3 == 0
		update(t, copied, c)
	}
	commit(t, e, copied)

	count := func(cache int) (reads Reads, requests int) {
		local := Open(NewCache(cache), e, context1, trie.Root())
		remote := Open(NewCache(cache), e, other, copied.Root())
		w := &wire{trie: remote}
		require.Len(t, differences(t, local, w, remote.Root()), 10)
		a, b := local.Reads(), remote.Reads()
		return Reads{Rows: a.Rows + b.Rows, Cached: a.Cached + b.Cached}, w.requests
	}
	reads, requests := count(0)
	t.Logf("%d keys: %d rows and %d cached pages on both sides, %d requests", n, reads.Rows, reads.Cached, requests)
	require.Less(t, reads.Rows+reads.Cached, 2000)
	require.Less(t, requests, 8)
}

func FuzzParseNodeRequest(f *testing.F) {
	for _, r := range []NodeRequest{
		{Prefixes: []Prefix{{}}},
		{Root: EmptyRoot(), Prefixes: []Prefix{NewPrefix(numbered(1), 3), NewPrefix(numbered(1), 64)}},
	} {
		b, err := r.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseNodeRequest(b)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		again, err := r.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzParseNodeAnswer(f *testing.F) {
	trie := Open(NewCache(0), engine.Getter(mem.New()), context1, EmptyRoot())
	for _, n := range []int{1, 50, 300} {
		update(f, trie, numberedChanges(0, n, "v")...)
		a, err := trie.Nodes(context.Background(), &NodeRequest{Root: trie.Root(), Prefixes: []Prefix{
			{}, NewPrefix(codec.Hash{}, 2), NewPrefix(numbered(0), 2), NewPrefix(numbered(0), 64)}[:1+3*(n%2)]})
		if err != nil {
			a, err = trie.Nodes(context.Background(), &NodeRequest{Root: trie.Root(), Prefixes: []Prefix{{}}})
		}
		require.NoError(f, err)
		b, err := a.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseNodeAnswer(b)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		again, err := a.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, b, again)
		for i := range a.nodes {
			a.nodes[i].hash()
			a.nodes[i].within(NewPrefix(numbered(0), 2))
		}
	})
}
