package naming

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Find returns all that q may mean in what r has: everything that has the name, and
// everything whose id begins so. Both count, so that nobody hides an id behind a name.
// Rows whose values do not parse have no name. It returns [ErrQuery], the error of ctx,
// or what the engine returned.
func Find(ctx context.Context, r engine.Reader, q Query) (Answer, error) {
	if err := q.check(); err != nil {
		return Answer{}, err
	}
	f := finder{Reader: r, ctx: ctx, q: q}
	if digits, ok := digitsOf(q.Text); ok {
		f.digits = digits
	}
	var err error
	switch q.Kind {
	case Namespace, Group:
		err = f.groups()
	case Member:
		err = f.members()
	case Context:
		err = f.contexts()
	case Delta:
		err = f.deltas()
	case Op:
		err = f.byID(keys.NamespaceGovOp{}.Slot().Column, keys.GovOpsOf(q.Group).AppendTo(nil), q.Group)
	case SigningKey:
		err = f.byID(keys.GroupSigningKey{}.Slot().Column, keys.SigningKeysOf(q.Group).AppendTo(nil), q.Group)
	case GroupKey:
		err = f.byID(keys.GroupKeyEntry{}.Slot().Column, keys.KeysOf(q.Group).AppendTo(nil), q.Group)
	case Blob:
		err = f.byID(keys.BlobMeta{}.Slot().Column, nil, codec.GroupID{})
	case Application:
		if err = f.alias(keys.AliasApplication); err == nil {
			err = f.byID(keys.ApplicationMeta{}.Slot().Column, nil, codec.GroupID{})
		}
	}
	return f.Answer, err
}

// digitsOf returns what text is as the beginning of an id, in lower case.
func digitsOf(text string) (digits string, ok bool) {
	digits = strings.ToLower(text)
	digits = strings.TrimPrefix(digits, "0x")
	if len(digits) < MinDigits || len(digits) > 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", false
	}
	return digits, true
}

// finder looks for one thing.
type finder struct {
	engine.Reader
	Answer
	ctx    context.Context
	q      Query
	digits string // of an id; empty: the text can't be one
}

func (f *finder) groups() error {
	err := f.named(keys.Prefix[keys.GroupAlias]{}.AppendTo(nil), func(key []byte) (m Match, ok bool, err error) {
		k, err := keys.GroupAlias{}.Parse(key)
		if err != nil {
			return m, false, nil
		}
		return f.group(k.Group)
	})
	if err != nil {
		return err
	}
	col := keys.GroupMeta{}.Slot().Column
	if f.q.Kind == Group {
		return f.byID(col, keys.Prefix[keys.GroupMeta]{}.AppendTo(nil), codec.GroupID{})
	}
	if err := f.byID(col, keys.Prefix[keys.NamespaceGovHead]{}.AppendTo(nil), codec.GroupID{}); err != nil {
		return err
	}
	if err := f.byID(col, keys.Prefix[keys.NamespaceIdentity]{}.AppendTo(nil), codec.GroupID{}); err != nil {
		return err
	}
	followed, err := keys.NewScope("gov-followed")
	if err != nil {
		return err
	}
	return f.byID(column.Generic, followed[:], codec.GroupID{})
}

// group returns a group that has the name, if it is of the kind that is looked for.
func (f *finder) group(g codec.GroupID) (m Match, ok bool, err error) {
	m = Match{ID: g, Name: f.q.Text}
	if f.q.Kind == Namespace {
		ok, err = engine.Has(f, keys.NamespaceGovHead{Namespace: g})
		return m, ok, err
	}
	parent, err := engine.Get(f, keys.GroupParentRef{Child: g})
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return m, false, err
	}
	m.In = parent.ParentID
	return m, true, nil
}

// maxClimb is more than a group can be below its namespace.
const maxClimb = 64

// lineage returns a group and those above it, the nearest first.
func (f *finder) lineage(g codec.GroupID) ([]codec.GroupID, error) {
	line := []codec.GroupID{g}
	for len(line) < maxClimb {
		parent, err := engine.Get(f, keys.GroupParentRef{Child: g})
		if errors.Is(err, engine.ErrNotFound) {
			return line, nil
		}
		if err != nil {
			return line, err
		}
		g = parent.ParentID
		line = append(line, g)
	}
	return line, nil
}

func (f *finder) members() error {
	line, err := f.lineage(f.q.Group)
	if err != nil {
		return err
	}
	var former []Match // who was removed keeps the name, unless another member has it by now
	for _, g := range line {
		err := f.named(keys.MemberAliasesOf(g).AppendTo(nil), func(key []byte) (m Match, ok bool, err error) {
			k, err := keys.GroupMemberAlias{}.Parse(key)
			if err != nil {
				return m, false, nil
			}
			m = Match{k.Identity, f.q.Text, g}
			ok, err = engine.Has(f, keys.GroupMember{Group: g, Identity: k.Identity})
			if err == nil && !ok {
				former = append(former, m)
			}
			return m, ok, err
		})
		if err != nil {
			return err
		}
	}
	if len(f.Matches) == 0 {
		for _, m := range former {
			f.add(m)
		}
	}
	for _, g := range line {
		if err := f.byID(keys.GroupMember{}.Slot().Column, keys.MembersOf(g).AppendTo(nil), g); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) contexts() error {
	if err := f.alias(keys.AliasContext); err != nil {
		return err
	}
	lead := keys.Prefix[keys.GroupContextAlias]{}.AppendTo(nil)
	if f.q.Group != (codec.GroupID{}) {
		lead = keys.ContextAliasesOf(f.q.Group).AppendTo(nil)
	}
	err := f.named(lead, func(key []byte) (m Match, ok bool, err error) {
		k, err := keys.GroupContextAlias{}.Parse(key)
		return Match{k.Context, f.q.Text, k.Group}, err == nil, nil
	})
	if err != nil {
		return err
	}
	if err := f.byID(keys.ContextMeta{}.Slot().Column, nil, codec.GroupID{}); err != nil {
		return err
	}
	return f.byID(keys.ContextGroupRef{}.Slot().Column, keys.Prefix[keys.ContextGroupRef]{}.AppendTo(nil), codec.GroupID{})
}

func (f *finder) deltas() error {
	if err := f.byID(keys.ContextDagDelta{}.Slot().Column, keys.DeltasOf(f.q.Context).AppendTo(nil), codec.GroupID{}); err != nil {
		return err
	}
	scope, err := keys.NewScope("dag-pending")
	if err != nil {
		return err
	}
	waiting := append(append(scope[:], 'i'), f.q.Context[:]...)
	return f.byID(keys.Generic{}.Slot().Column, waiting, codec.GroupID{})
}

// alias adds what an alias of this node stands for.
func (f *finder) alias(kind keys.AliasKind) error {
	name, err := keys.NewName(f.q.Text)
	if err != nil {
		return nil // it can be no alias
	}
	v, err := engine.Get(f, keys.Alias{Kind: kind, Name: name})
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrCorrupt) {
		return nil
	}
	if err == nil {
		f.add(Match{ID: v.ID, Name: f.q.Text})
	}
	return err
}

// named adds what match makes of the keys that begin with lead and whose value is the
// name.
func (f *finder) named(lead []byte, match func(key []byte) (Match, bool, error)) error {
	it, err := f.Iterate(keys.GroupAlias{}.Slot().Column, engine.Prefixed(lead))
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		name, err := codec.AliasName("").Decode(it.Value())
		if err != nil || string(name) != f.q.Text {
			continue
		}
		m, ok, err := match(it.Key())
		if err != nil {
			return err
		}
		if ok && !f.add(m) {
			return nil
		}
	}
	return it.Err()
}

// byID adds the ids after lead that begin with the digits. It looks up one row for
// each, however many rows there are of it.
func (f *finder) byID(col column.Column, lead []byte, in codec.GroupID) error {
	if f.digits == "" {
		return nil
	}
	first, _ := hex.DecodeString(f.digits + "0"[:len(f.digits)%2]) // digits, and as many as it takes
	rg := engine.Range{Start: append(lead[:len(lead):len(lead)], first...), End: engine.Successor(lead), Limit: 1}
	for rg.Start != nil {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		key, err := f.first(col, rg)
		if err != nil || key == nil {
			return err
		}
		whole := len(lead) + 32
		if len(key) < whole || !strings.HasPrefix(hex.EncodeToString(key[len(lead):]), f.digits) {
			return nil
		}
		// A longer key is a part of what has the id, such as a chunk of a blob.
		if len(key) == whole && !f.add(Match{ID: [32]byte(key[len(lead):]), In: in}) {
			return nil
		}
		rg.Start = engine.Successor(key[:whole])
	}
	return nil
}

// first returns the first key of a range, nil if there is none.
func (f *finder) first(col column.Column, rg engine.Range) ([]byte, error) {
	it, err := f.Iterate(col, rg)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	return bytes.Clone(it.Key()), nil
}
