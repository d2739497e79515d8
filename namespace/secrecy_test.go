package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// propose has the node make an op of g, and returns all ops that go with it.
func (w *witness) propose(g codec.GroupID, body codec.GroupOp) []*namespace.Op {
	ops, err := w.try(namespace.Proposal{GroupID: g, Group: &body})
	require.NoError(w.t, err)
	return ops
}

func (w *witness) try(what namespace.Proposal) (made []*namespace.Op, err error) {
	done, err := w.node.Propose(context.Background(), w.ns, what)
	if err != nil {
		return nil, err
	}
	for _, b := range done.Wire {
		s, err := codec.SignedNamespaceOp{}.Decode(b)
		require.NoError(w.t, err)
		op, err := namespace.Check(&s)
		require.NoError(w.t, err)
		require.NoError(w.t, namespace.Admit(op, w.forge.cut(op.Parents)), "what is proposed others take")
		w.forge.ops, w.forge.byID[op.ID] = append(w.forge.ops, op), op
		w.keepKeys(op)
		w.note(op)
		made = append(made, op)
	}
	return made, nil
}

// keepKeys takes down the keys that the node made for op, which it keeps.
func (w *witness) keepKeys(op *namespace.Op) {
	for _, made := range op.Keys {
		v, err := engine.Get(w.db, keys.GroupKeyEntry{Group: made.GroupID, Key: made.KeyID})
		require.NoError(w.t, err)
		k := namespace.GroupKey{GroupID: made.GroupID, KeyID: made.KeyID}
		w.own[k], w.forge.ring[k] = v.Key, v.Key
	}
}

// dishonestNetwork is nodes that make ops beside each other, honestly by Propose or not, and meet.
type dishonestNetwork struct {
	*forge
	nodes map[string]*witness
	names []string
	seals []sealed
	rogue map[string][]codec.Secret // keys that somebody made up
	leaks []*namespace.Op           // the ops with which they did
}

// sealed is an op that a node sealed, and who was no member for it.
type sealed struct {
	op   *namespace.Op
	gone []string
}

func newDishonestNetwork(t *rapid.T, base *forge, names ...string) *dishonestNetwork {
	c := &dishonestNetwork{forge: base.copy(t), nodes: map[string]*witness{}, names: names, rogue: map[string][]codec.Secret{}}
	for _, name := range names {
		c.nodes[name] = c.holding(t, name)
	}
	return c
}

func (c *dishonestNetwork) close() {
	for _, w := range c.nodes {
		w.close()
	}
}

// act has somebody do something.
func (c *dishonestNetwork) act(t *rapid.T) {
	w := c.nodes[rapid.SampledFrom(c.names).Draw(t, "who")]
	g := rapid.SampledFrom([]codec.GroupID{c.ns, c.ns, c.sub}).Draw(t, "group")
	body := named(fmt.Sprint("name", rapid.IntRange(0, 9).Draw(t, "name")))
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0, 1, 2:
		body = removed(rapid.SampledFrom(c.names).Draw(t, "whom"))
	case 3:
		body = codec.GroupOp{Kind: codec.OpMemberLeft}
	case 4:
		c.cheat(t, w, g)
		return
	}
	before, _ := w.result()
	var gone []string
	for _, name := range c.names {
		if !slices.Contains(before.Members(g), is(name)) {
			gone = append(gone, name)
		}
	}
	made, err := w.try(namespace.Proposal{GroupID: g, Group: &body})
	if errors.Is(err, namespace.ErrNotEffective) || errors.Is(err, namespace.ErrNoKey) {
		return
	}
	require.NoError(t, err)
	for _, op := range made {
		if op.Root == nil && op.Clear == nil {
			c.seals = append(c.seals, sealed{op, gone})
		}
	}
}

// cheat has a node sign a new key for whom it pleases it.
func (c *dishonestNetwork) cheat(t *rapid.T, w *witness, g codec.GroupID) {
	before := len(c.ops)
	c.drawLeak(t, w.name, g, w.heads(), w.name)
	for _, op := range c.ops[before:] {
		w.give(op)
		c.leaks = append(c.leaks, op)
	}
}

// drawLeak makes an op as drawRotation does, with what some people hold together.
func (c *dishonestNetwork) drawLeak(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID, together ...string) {
	had := cloneMap(c.ring)
	c.drawRotation(t, signer, g, parents, c.held(together...))
	for k, key := range c.ring {
		if _, old := had[k]; !old {
			c.rogue[signer] = append(c.rogue[signer], key)
		}
	}
}

// held reports of a key whether some people hold it together.
func (c *dishonestNetwork) held(names ...string) func(codec.Secret) bool {
	found := map[codec.Secret]bool{}
	for _, name := range names {
		w := c.nodes[name]
		if w == nil {
			w = &witness{name: name}
		}
		maps.Copy(found, c.loot(w, nil))
	}
	return func(key codec.Secret) bool { return found[key] }
}

// story tells, for people, how op came about.
func (c *dishonestNetwork) story(op *namespace.Op) (text string) {
	called := func(id codec.Identity) string {
		for name, other := range identities {
			if other == id {
				return name
			}
		}
		return id.String()
	}
	numbers := map[codec.OpID]int{}
	for n, o := range c.cut([]codec.OpID{op.ID}) {
		numbers[o.ID] = n
		text += fmt.Sprintf("%d on", n)
		for _, p := range o.Parents {
			text += fmt.Sprint(" ", numbers[p])
		}
		text += " by " + called(o.Signer)
		if o.Root != nil {
			text += fmt.Sprintf(": %s of %x key %x", o.Root.Kind, o.Root.GroupID[:2], o.Root.KeyOp[:2])
			for _, e := range o.Root.Envelopes {
				text += " to " + called(e.Recipient)
			}
		} else {
			text += fmt.Sprintf(" is %x: group %x under %x", o.ID[:2], o.GroupID[:2], o.KeyOp[:2])
			if body := c.read(o, c.ring).op.Body; body != nil {
				text += fmt.Sprint(", ", body.Kind, " of ", called(body.Member))
			}
		}
		for _, k := range o.Keys {
			text += fmt.Sprintf(", a key of %x for", k.GroupID[:2])
			for _, id := range k.Recipients {
				text += " " + called(id)
			}
			for _, earlier := range k.Carried {
				text += fmt.Sprintf(" which opens %x", earlier[:2])
			}
		}
		text += "\n"
	}
	return text
}

func (c *dishonestNetwork) meet(t *rapid.T) {
	a, b := c.nodes[rapid.SampledFrom(c.names).Draw(t, "a")], c.nodes[rapid.SampledFrom(c.names).Draw(t, "b")]
	for _, op := range slices.Clone(c.ops) {
		if a.has[op.ID] != nil && b.has[op.ID] == nil {
			b.give(op)
		} else if b.has[op.ID] != nil && a.has[op.ID] == nil {
			a.give(op)
		}
	}
}

// loot returns every key that can be had with all that a node holds and every byte that
// was ever sent, but for what some ops say.
func (c *dishonestNetwork) loot(w *witness, but []*namespace.Op) map[codec.Secret]bool {
	found := map[codec.Secret]bool{}
	ops := slices.DeleteFunc(slices.Clone(c.ops), func(op *namespace.Op) bool { return slices.Contains(but, op) })
	for _, key := range c.rogue[w.name] {
		found[key] = true
	}
	for _, key := range w.own {
		found[key] = true
	}
	for _, op := range ops {
		for i := range op.Signed.Op.Keys {
			c.openEnvelope(w, found, &op.Signed.Op.Keys[i])
		}
		if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivered {
			for _, name := range c.ops {
				for _, k := range name.Keys {
					if name.ID == r.KeyOp && k.GroupID == r.GroupID {
						c.openEnvelope(w, found, &codec.NewKey{GroupID: r.GroupID, KeyID: k.KeyID, Envelopes: r.Envelopes})
					}
				}
			}
		}
	}
	for more := true; more; {
		before := len(found)
		for _, op := range ops {
			for _, k := range op.Signed.Op.Keys {
				for key := range found {
					for i := range k.Carried {
						if earlier, err := namespace.OpenCarried(op.Signed, k.GroupID, key, &k.Carried[i]); err == nil {
							found[earlier] = true
						}
					}
				}
			}
		}
		more = len(found) > before
	}
	return found
}

// told returns the leaks against which who seals op has no help: those that it does not descend
// from, and keys that were given to others than the members.
func (c *dishonestNetwork) told(op *namespace.Op) (found []*namespace.Op) {
	cut := c.cut(op.Parents)
	for _, leak := range c.leaks {
		if !slices.Contains(cut, leak) || !c.isRight(leak) {
			found = append(found, leak)
		}
	}
	return found
}

// isRight reports whether an op gives its new keys to exactly the members, of whom its signer is one.
func (c *dishonestNetwork) isRight(op *namespace.Op) bool {
	return !slices.ContainsFunc(op.Keys, func(k namespace.KeySkeleton) bool {
		return !slices.Contains(c.members(op.Parents, k.GroupID), op.Signer) ||
			!slices.Equal(c.membersWith(&codec.SignedNamespaceOp{Parents: op.Parents, Signer: op.Signer, Nonce: op.Nonce}, op.GroupID, *op.Clear, k.GroupID), k.Recipients)
	})
}

func (c *dishonestNetwork) openEnvelope(w *witness, found map[codec.Secret]bool, k *codec.NewKey) {
	for i := range k.Envelopes {
		if key, err := namespace.OpenKey(codec.OpVersion2, who(w.name), c.ns, k.GroupID, k.KeyID, &k.Envelopes[i]); err == nil {
			found[key] = true
		}
	}
}

// With everything that a node holds and everything that is ever sent, it opens nothing
// that was sealed by a node for which its owner was no member. Nobody is let in again,
// so that nothing is anybody's by right; and members make up keys of their own.
func TestNobodyOpensWhatWasSealedWithoutThem(t *testing.T) {
	base := opening(t)
	opened, closed, histories := 0, 0, 0
	enginetest.Check(t, 25, func(t *rapid.T) {
		histories++
		c := newDishonestNetwork(t, base, "Z", "K", "L", "M", "A")
		defer c.close()
		for range rapid.IntRange(3, 12).Draw(t, "steps") {
			if c.act(t); rapid.Bool().Draw(t, "meet") {
				c.meet(t)
			}
		}
		for _, name := range c.names {
			spy := c.nodes[name]
			for _, op := range c.ops {
				if spy.has[op.ID] == nil {
					spy.give(op)
				}
			}
			spy.check()
			for _, s := range c.seals {
				found, open := c.loot(spy, c.told(s.op)), false
				for key := range found {
					_, err := namespace.OpenOp(s.op.Signed, key)
					open = open || err == nil
				}
				if slices.Contains(s.gone, name) {
					closed++
					require.False(t, open, "%s opens an op sealed without it:\n%s", name, c.story(s.op))
				} else if open {
					opened++
				}
			}
		}
	})
	if histories >= 10 {
		require.Positive(t, opened, "nobody opens anything: the property says nothing")
		require.Positive(t, closed, "nobody is ever gone: the property says nothing")
	}
}

// After whatever happened, the admin identity can act where it has the key, and its op
// carries or finds a key that exactly the members have.
func TestProposeMendsKeys(t *testing.T) {
	base := opening(t)
	mended := 0
	enginetest.Check(t, 12, func(t *rapid.T) {
		c := newDishonestNetwork(t, base, "Z", "K", "L", "M")
		defer c.close()
		for range rapid.IntRange(2, 8).Draw(t, "steps") {
			c.act(t)
		}
		z := c.nodes["Z"]
		for _, op := range slices.Clone(c.ops) {
			if z.has[op.ID] == nil {
				z.give(op)
			}
		}
		body := named("last")
		_, err := z.try(namespace.Proposal{GroupID: c.ns, Group: &body})
		require.NoError(t, err, "an Admin can always go on")
		result := z.check()
		next := named("under which")
		made, err := z.try(namespace.Proposal{GroupID: c.ns, Group: &next})
		require.NoError(t, err)
		require.Len(t, made, 1, "nothing is left to mend")
		mended++
		id, clear, all := c.good(namespace.KeyName{GroupID: c.ns, Op: made[0].KeyOp})
		require.True(t, clear && all)
		k := namespace.GroupKey{GroupID: c.ns, KeyID: id}
		for _, name := range c.names {
			w := c.nodes[name]
			for _, op := range slices.Clone(c.ops) {
				if w.has[op.ID] == nil {
					w.give(op)
				}
			}
			_, has := w.ring()[k]
			require.Equal(t, slices.Contains(result.Members(c.ns), is(name)), has, name)
		}
	})
	require.Positive(t, mended)
}
