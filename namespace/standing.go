package namespace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// ErrNotWriter is returned to a node whose identity may not write into a context.
var ErrNotWriter = errors.New("namespace: this node may not write into the context")

// ErrVersion is returned for a namespace that has not gone over to version 2, in which deltas are not
// signed.
var ErrVersion = errors.New("namespace: version 1 signs no deltas; go over by `stoa namespace upgrade`")

// Origin is where a delta of a context comes from, by what is clear of its envelope.
type Origin struct {
	Context codec.ContextID
	Author  codec.Identity
	Cut     []codec.OpID // the heads of the ops that the author knew of, in ascending order
	KeyOp   codec.OpID   // introduces the key under which it is sealed
}

// OriginKind says what governance makes of an [Origin]. The zero OriginKind is none.
type OriginKind uint8

// What becomes of an origin. All but OriginWaits are functions of the origin and of the ops of its cut.
const (
	OriginAllowed OriginKind = iota + 1
	OriginWaits              // ops of its cut, or a key, are not here
	OriginRefused
)

// Admission is what governance makes of an origin.
type Admission struct {
	Kind    OriginKind
	Permit  Permit       // by which the author writes
	Key     codec.Secret // under which it is sealed
	Missing []codec.OpID // of OriginWaits: ops of the cut that are not here; none: what says whose the context is, or the key, is not opened here
	Reason  string       // of OriginRefused
}

// Permit is by what its author writes at a cut. It stands as long as one of its grants does, and as
// no op that its author did not know of makes the author ReadOnly.
type Permit struct {
	group.Writer
	Cut []codec.OpID
	By  []group.Grant // that let Who write there
}

// contents is what is kept in mind of who may write into contexts where.
type contents struct {
	pasts    []*past // states at cuts, the one that was asked for last first
	admitted map[[sha256.Size]byte]*Admission
	closed   map[[sha256.Size]byte]bool
}

// How much of that is kept.
const (
	keptPasts      = 4
	keptAdmissions = 1 << 14
)

// forget lets go of what may be another now: an op was opened.
func (s *contents) forget() { *s = contents{} }

// kept returns m, or another one where that is full.
func kept[V any](m map[[sha256.Size]byte]V) map[[sha256.Size]byte]V {
	if m == nil || len(m) >= keptAdmissions {
		return map[[sha256.Size]byte]V{}
	}
	return m
}

// pastAt returns the state at the cut of some heads, which continues one that is kept where it can.
func (c *loaded) pastAt(heads []codec.OpID) (*past, group.Cut, error) {
	cut, err := c.ledger.Cut(heads)
	if err != nil {
		return nil, cut, err
	}
	all := &c.contents.pasts
	at := slices.IndexFunc(*all, func(p *past) bool { return p.isWithin(cut, c.ledger) })
	switch {
	case at >= 0:
	case len(*all) < keptPasts:
		at = len(*all)
		*all = append(*all, &past{})
	default:
		at = keptPasts - 1
	}
	p := (*all)[at]
	copy((*all)[1:], (*all)[:at])
	(*all)[0] = p
	_, err = c.goOn(p, heads, cut)
	return p, cut, err
}

// digest returns the digest of ids, of which each list has its length before it.
func digest(lists ...[][32]byte) [sha256.Size]byte {
	h := sha256.New()
	for _, ids := range lists {
		fmt.Fprintf(h, "%d:", len(ids))
		for i := range ids {
			h.Write(ids[i][:])
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func opIDs(ids []codec.OpID) [][32]byte {
	all := make([][32]byte, len(ids))
	for i := range ids {
		all[i] = ids[i]
	}
	return all
}

// Origins returns what the governance of a namespace makes of origins: whether their authors may
// write into their contexts at their cuts, and under the key that they have named. It looks at the ops
// of the cut alone, so that all nodes that can read them say the same. It returns [ErrNoNamespace],
// or an error as [Store.Apply] has it.
func (s *Store) Origins(ns codec.GroupID, origins []Origin) (found []Admission, err error) {
	err = s.judging(ns, func(b *batch) error {
		found = make([]Admission, 0, len(origins))
		for i := range origins {
			a, err := b.admit(&origins[i])
			if err != nil {
				return err
			}
			found = append(found, *a)
		}
		return nil
	})
	return found, err
}

// judging calls fn in the queue of a namespace: what is found out of keys is kept in mind.
func (s *Store) judging(ns codec.GroupID, fn func(*batch) error) error {
	r := &request{Task: func(b *batch) error {
		if b.c.ledger.Len() == 0 {
			return fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		}
		b.settle()
		return fn(b)
	}}
	return cmp.Or(s.submit(ns, r), r.Err)
}

// admit judges an origin.
func (b *batch) admit(o *Origin) (*Admission, error) {
	c := b.c
	a := &Admission{Kind: OriginWaits}
	for _, id := range o.Cut {
		if _, known := c.ledger.Find(id); !known {
			a.Missing = append(a.Missing, id)
		}
	}
	if len(a.Missing) > 0 {
		return a, nil
	}
	memo := digest([][32]byte{o.Context, o.Author, o.KeyOp}, opIDs(o.Cut))
	if known := c.contents.admitted[memo]; known != nil {
		return known, nil
	}
	p, cut, err := c.pastAt(o.Cut)
	if err != nil {
		return nil, err
	}
	home, known := p.ledger.Claim(o.Context)
	if !known {
		return a, nil // what is not opened here may say so
	}
	refused := func(reason string) (*Admission, error) {
		a.Kind, a.Permit, a.Reason = OriginRefused, Permit{}, reason
		c.contents.admitted = kept(c.contents.admitted)
		c.contents.admitted[memo] = a
		return a, nil
	}
	a.Permit = Permit{Writer: group.Writer{Group: home.Group, Who: o.Author}, Cut: o.Cut}
	if a.Permit.By = p.ledger.Writes(a.Permit.Writer); len(a.Permit.By) == 0 {
		return refused("its author may not write there as far as the author knew")
	}
	name := KeyName{home.Group, o.KeyOp}
	i, own := c.introduces(name)
	switch {
	case own == nil || !cut.Has(i):
		return refused("no op that its author knew of introduces the key that it names for the group")
	case p.ledger.Abandoned(home.Group, o.KeyOp):
		return refused("its key was abandoned, as its author knew")
	}
	good, known, err := b.isGood(name)
	switch {
	case err != nil:
		return nil, err
	case !known:
		a.Permit = Permit{}
		return a, nil
	case !good:
		return refused("its key is not good")
	case !c.eachHolder(name, cut, func(id codec.Identity) bool { return p.ledger.IsMember(home.Group, id) }):
		return refused("others than members hold its key, as its author knew")
	}
	a.Kind, a.Key = OriginAllowed, c.good[name]
	c.contents.admitted = kept(c.contents.admitted)
	c.contents.admitted[memo] = a
	return a, nil
}

// Standing reports which of the permits stand, by all ops that are here.
func (s *Store) Standing(ns codec.GroupID, permits []Permit) (stand []bool, err error) {
	err = s.judging(ns, func(b *batch) error {
		stand = make([]bool, len(permits))
		for i := range permits {
			p := &permits[i]
			known, err := b.c.ledger.Cut(p.Cut)
			if err != nil {
				return err
			}
			stand[i] = slices.ContainsFunc(p.By, func(g group.Grant) bool { return b.c.stands(b.c.ledger, p, g, known) })
		}
		return nil
	})
	return stand, err
}

// stands reports whether a grant of a permit stands by a ledger. known is the cut of the permit.
func (c *loaded) stands(l *group.Ledger, p *Permit, g group.Grant, known group.Cut) bool {
	return l.Stands(p.Writer, g) && !l.SetBack(p.Writer, func(id codec.OpID) bool {
		i, _ := c.ledger.Find(id)
		return known.Has(i)
	})
}

// Closed reports which of the permits are closed: each of whose grants is in one of the cuts at
// which the permit does not stand by it.
func (s *Store) Closed(ns codec.GroupID, permits []Permit, cuts [][]codec.OpID) (closed []bool, err error) {
	err = s.judging(ns, func(b *batch) error {
		closed = make([]bool, len(permits))
		for i := range permits {
			p := &permits[i]
			known, err := b.c.ledger.Cut(p.Cut)
			if err != nil {
				return err
			}
			closed[i] = true
			for _, g := range p.By {
				ends, err := b.c.endsIn(cuts, p, g, known)
				if err != nil {
					return err
				}
				closed[i] = closed[i] && ends
			}
		}
		return nil
	})
	return closed, err
}

// endsIn reports whether a grant of a permit is in one of the cuts, and does not let its author
// write there.
func (c *loaded) endsIn(cuts [][]codec.OpID, p *Permit, g group.Grant, known group.Cut) (bool, error) {
	for _, heads := range cuts {
		memo := digest([][32]byte{p.Group, p.Who, g.Op, {g.Right}}, opIDs(p.Cut), opIDs(heads))
		ends, asked := c.contents.closed[memo]
		if !asked {
			at, cut, err := c.pastAt(heads)
			if err != nil {
				return false, err
			}
			i, given := c.ledger.Find(g.Op)
			ends = given && cut.Has(i) && !c.stands(at.ledger, p, g, known)
			c.contents.closed = kept(c.contents.closed)
			c.contents.closed[memo] = ends
		}
		if ends {
			return true, nil
		}
	}
	return false, nil
}

// Includes reports whether a cut has all ops of another; false where one of them is not here.
func (s *Store) Includes(ns codec.GroupID, heads, of []codec.OpID) (has bool, err error) {
	err = s.judging(ns, func(b *batch) error {
		cut, err := b.c.ledger.Cut(heads)
		if err != nil {
			return nil // and so not all
		}
		has = !slices.ContainsFunc(of, func(id codec.OpID) bool {
			i, known := b.c.ledger.Find(id)
			return !known || !cut.Has(i)
		})
		return nil
	})
	return has, err
}

// Authoring is with what this node makes a delta of a context.
type Authoring struct {
	Origin
	Permit Permit
	Key    codec.Secret // of the op KeyOp
	Seed   codec.Secret // of the author
	Made   Proposed     // the ops that it took: a key where there was none, and what joins heads
}

// Author returns with what this node makes the next delta of a context that a group of a namespace
// has. Where the group has no key that only members hold, one is made. It returns [ErrNotWriter],
// [ErrVersion], or an error as [Store.Propose] has it.
func (s *Store) Author(ctx context.Context, ns codec.GroupID, id codec.ContextID) (a Authoring, err error) {
	err = s.change(ctx, ns, &a.Made, func(p *proposing) error {
		home, known := p.c.ledger.Claim(id)
		w := group.Writer{Group: home.Group, Who: p.c.self()}
		switch {
		case !known:
			return fmt.Errorf("%w: no group of namespace %s has context %s", ErrNotWriter, ns, id)
		case len(p.c.ledger.Writes(w)) == 0:
			return fmt.Errorf("%w: identity %s is no member of group %s who may write", ErrNotWriter, w.Who, w.Group)
		case p.c.newest() == codec.OpVersion1:
			return fmt.Errorf("%w: %s", ErrVersion, ns)
		}
		key, _, err := p.keyToSealUnder(home.Group)
		if err != nil {
			return err
		}
		carrier, err := p.carrier() // joins what is too many heads
		if err != nil {
			return err
		}
		a.Origin = Origin{Context: id, Author: w.Who, Cut: carrier.Parents, KeyOp: key.name.Op}
		admission, err := p.admit(&a.Origin)
		switch {
		case err != nil:
			return err
		case admission.Kind != OriginAllowed:
			return fmt.Errorf("%w: %s", ErrNotWriter, admission.Reason)
		}
		a.Permit, a.Key, a.Seed = admission.Permit, admission.Key, p.c.identity.V.PrivateKey
		return nil
	})
	return a, err
}
