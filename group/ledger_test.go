package group

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/enginetest"
)

// book is a ledger with the rows that it has told of.
type book struct {
	t      require.TestingT
	ledger *Ledger
	has    []Op
	rows   map[string]string
	config map[codec.ContextID]codec.ContextConfigValue
	said   map[codec.OpID]Verdict
}

func newBook(t require.TestingT) *book {
	return &book{t: t, ledger: NewLedger(root, who("K")), rows: map[string]string{},
		config: map[codec.ContextID]codec.ContextConfigValue{}, said: map[codec.OpID]Verdict{}}
}

func (b *book) add(op Op) {
	_, err := b.ledger.Add(&op)
	require.NoError(b.t, err)
	b.has = append(b.has, op)
}

func (b *book) open(op Op) {
	i, ok := b.ledger.Find(op.ID)
	require.True(b.t, ok)
	b.ledger.Open(i, op.Body, op.Fault)
	b.has[slices.IndexFunc(b.has, func(o Op) bool { return o.ID == op.ID })] = op
}

// settle takes over what the ledger says has changed.
func (b *book) settle() {
	for _, c := range b.ledger.Settle() {
		require.Equal(b.t, b.said[c.Op], c.Old)
		b.said[c.Op] = c.New
	}
	rows, _, err := b.ledger.Rows()
	require.NoError(b.t, err)
	for _, r := range rows {
		switch {
		case r.All:
			maps.DeleteFunc(b.rows, func(k, _ string) bool { return strings.HasPrefix(k, string(r.Key)) })
		case r.Column == column.Config && r.Value == nil:
			delete(b.config, codec.ContextID(r.Key))
		case r.Column == column.Config:
			v, err := codec.ContextConfigValue{}.Decode(r.Value)
			require.NoError(b.t, err)
			b.config[codec.ContextID(r.Key)] = v
		case r.Value == nil:
			delete(b.rows, string(r.Key))
		default:
			b.rows[string(r.Key)] = string(r.Value)
		}
	}
}

// check demands that the ledger says what evaluating all ops does.
func (b *book) check() {
	want, err := Evaluate(b.has, who("K"))
	require.NoError(b.t, err)
	rows := map[string]string{}
	for _, r := range want.Rows {
		rows[string(r.Key)] = string(r.Value)
	}
	require.Equal(b.t, want.Verdicts, b.said)
	for k, v := range rows {
		require.Equal(b.t, v, b.rows[k], "%x", k)
	}
	require.Equal(b.t, len(rows), len(b.rows))
	config := map[codec.ContextID]codec.ContextConfigValue{}
	for c, claim := range want.Claims {
		config[c] = claim.Config
	}
	require.Equal(b.t, config, b.config)
	require.Equal(b.t, want.Claims, maps.Collect(b.ledger.Claims()))
	require.Equal(b.t, want.Groups(), b.ledger.Groups())
	for _, g := range want.Groups() {
		require.Equal(b.t, want.Members(g), b.ledger.Members(g))
	}
	var paged []Equivocation
	for last := (Equivocation{}); ; last = paged[len(paged)-1] {
		page := b.ledger.Equivocations(last, 2)
		if paged = append(paged, page...); len(page) < 2 {
			break
		}
	}
	require.Equal(b.t, want.Equivocations, paged)
	require.Equal(b.t, want.Equivocations, b.ledger.Equivocations(Equivocation{}, 0))
}

// decorate adds ops about contexts, names and upgrades, and moves and deletes groups.
func (w *world) decorate(t *rapid.T, most int) {
	context := rapid.SampledFrom([]codec.ContextID{{}, {2}})
	groups := []codec.GroupID{root, sub, groupOf("Z", 0), groupOf("Z", 1)}
	group := rapid.SampledFrom(groups)
	name := rapid.SampledFrom(cast[:5])
	alias := rapid.SampledFrom([]codec.Option[codec.AliasName]{{}, codec.Some(codec.AliasName("a")), codec.Some(codec.AliasName("b"))})
	for range rapid.IntRange(0, most).Draw(t, "more") {
		parents, g, c := w.drawParents(t), group.Draw(t, "group"), context.Draw(t, "context")
		r := codec.RootOp{Kind: codec.RootGroupReparented, GroupID: rapid.SampledFrom(groups[1:]).Draw(t, "moved"), ParentID: g}
		b := codec.GroupOp{ContextID: c}
		switch rapid.IntRange(0, 29).Draw(t, "kind") {
		case 0:
			w.root("Z", r, parents...)
			continue
		case 1:
			r.Kind, r.ParentID = codec.RootGroupDeleted, codec.GroupID{}
			w.root("Z", r, parents...)
			continue
		case 2:
			w.root("Z", groupCreated("Z", groupOf("Z", rapid.IntRange(0, 1).Draw(t, "number")), g), parents...)
			continue
		case 3, 4:
			b.Kind = codec.OpContextRegistered
		case 20:
			b.Kind, b.Number = codec.OpContextPlaced, rapid.Uint64Range(1, 3).Draw(t, "number")
		case 5:
			b.Kind = codec.OpContextDetached
		case 6:
			b.Kind, b.Method = codec.OpContextMigrated, "m"
		case 7:
			b = codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who(name.Draw(t, "named")), Name: alias.Draw(t, "alias")}
		case 8:
			b = codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: alias.Draw(t, "alias")}
		case 9:
			b.Kind, b.Name = codec.OpContextAliasSet, alias.Draw(t, "alias")
		case 10:
			b.Kind, b.Identity = codec.OpContextJoined, codec.Identity{9}
		case 11:
			b.Kind, b.Member = codec.OpContextCapabilitySet, who(name.Draw(t, "masked"))
			b.Capability = codec.Option[codec.ContextCapability]{V: 1, Valid: rapid.Bool().Draw(t, "mask")}
			if !b.Capability.Valid {
				b.Capability.V = 0
			}
		case 12:
			b = codec.GroupOp{Kind: codec.OpUpgradeStarted, ToVersion: 2, Total: 3}
		case 13:
			b = codec.GroupOp{Kind: codec.OpUpgradeCompleted, At: 4}
		case 14:
			b = codec.GroupOp{Kind: codec.OpUpgradePolicySet, UpgradePolicy: codec.UpgradeFrozen}
		case 15:
			b = codec.GroupOp{Kind: codec.OpTargetApplicationSet, AppKey: codec.Hash(c)}
		case 16:
			b = codec.GroupOp{Kind: codec.OpMigrationSet, Migration: codec.Some("m")}
		case 17:
			b = codec.GroupOp{Kind: codec.OpKeyRotated}
		case 18:
			w.root(name.Draw(t, "merges"), codec.RootOp{Kind: codec.RootMerge}, parents...)
			continue
		case 19:
			kind := rapid.SampledFrom([]codec.RootOpKind{codec.RootKeyDelivery, codec.RootKeyDelivered}).Draw(t, "delivery")
			w.root(name.Draw(t, "delivers"), codec.RootOp{Kind: kind, GroupID: g}, parents...)
			continue
		case 21, 22, 23:
			b := rapid.SampledFrom([]codec.GroupOp{{Kind: codec.OpKeyRotated}, removed("M"), severalRemoved("A", "B")}).Draw(t, "with a key")
			w.introducing(g, name.Draw(t, "rotates"), b, w.drawKeys(t, g), parents...)
			continue
		case 27, 28:
			w.version = codec.OpVersion(rapid.IntRange(0, 1).Draw(t, "version"))
			s := codec.RootOp{Kind: codec.RootAuthorityStated, GroupID: g, Defaults: codec.Capabilities(rapid.IntRange(0, 3).Draw(t, "defaults"))}
			if rapid.Bool().Draw(t, "admin identity") {
				s.AdminIdentity = who(name.Draw(t, "crowned"))
			}
			for _, member := range cast[:rapid.IntRange(0, 6).Draw(t, "stated")] {
				role := rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Member, codec.ReadOnly}).Draw(t, "role")
				s.Members = append(s.Members, codec.StatedMember{Member: who(member), Role: role, Capabilities: codec.Capabilities(rapid.IntRange(0, 127).Draw(t, "mask"))})
			}
			w.root(rapid.SampledFrom([]string{"Z", "Z", "K", "M"}).Draw(t, "states"), s, parents...)
			continue
		case 24, 25, 26:
			for _, key := range w.drawKeys(t, g) {
				b := codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: alias.Draw(t, "alias")}
				w.add(name.Draw(t, "seals"), Op{Group: g, Body: &b, KeyOp: key}, append(slices.Clone(parents), key))
			}
			continue
		default:
			b = codec.GroupOp{Kind: codec.OpUpgradeProgressed, Completed: uint64(rapid.IntRange(0, 4).Draw(t, "completed"))}
		}
		w.in(g, name.Draw(t, "signer"), b, parents...)
	}
}

// drawKeys returns the ops of some of the keys of g.
func (w *world) drawKeys(t *rapid.T, g codec.GroupID) (found []codec.OpID) {
	for _, op := range w.ops {
		for _, k := range op.Keys {
			if k.Group == g && rapid.IntRange(0, 2).Draw(t, "key") > 0 {
				found = append(found, op.ID)
			}
		}
	}
	return found
}

// Whatever the order in which ops come, readable at once or later, and wherever it is
// settled in between, a ledger says what the definition does.
func TestLedgerAgreesWithTheDefinition(t *testing.T) {
	enginetest.Check(t, 400, func(t *rapid.T) {
		w := history(t, 25)
		w.decorate(t, 20)
		if rapid.Bool().Draw(t, "more people") {
			w.decorate(t, 10)
		}
		b := newBook(t)
		b.ledger.many = rapid.SampledFrom([]int{1, 6, manyRows}).Draw(t, "many")
		b.ledger.keep = rapid.SampledFrom([]int{1, 4, keptSteps}).Draw(t, "kept")
		left := slices.Clone(w.ops)
		var sealed []Op
		for len(left) > 0 || len(sealed) > 0 {
			if len(sealed) > 0 && (len(left) == 0 || rapid.IntRange(0, 5).Draw(t, "open") == 0) {
				at := rapid.IntRange(0, len(sealed)-1).Draw(t, "opened")
				b.open(sealed[at])
				sealed = slices.Delete(sealed, at, at+1)
			} else {
				at := rapid.IntRange(0, len(left)-1).Draw(t, "op")
				for !b.ready(left[at]) {
					at = (at + 1) % len(left)
				}
				op := left[at]
				left = slices.Delete(left, at, at+1)
				if op.Body != nil && rapid.IntRange(0, 7).Draw(t, "sealed") == 0 {
					sealed = append(sealed, op)
					op.Body = nil
				}
				b.add(op)
			}
			if rapid.IntRange(0, 2).Draw(t, "settle") == 0 {
				b.settle()
				b.try(t, w)
			}
			if rapid.IntRange(0, 9).Draw(t, "check") == 0 {
				b.settle()
				b.check()
			}
		}
		b.settle()
		b.check()
	})
}

func (b *book) ready(op Op) bool {
	for _, p := range op.Parents {
		if _, ok := b.ledger.Find(p); !ok {
			return false
		}
	}
	return true
}

// try has the ledger try an op on top of all, which leaves nothing behind.
func (b *book) try(t *rapid.T, w *world) {
	name, target := rapid.SampledFrom(cast).Draw(t, "tries"), rapid.SampledFrom(cast).Draw(t, "on")
	bodies := []codec.GroupOp{removed(target), added(target, codec.Member), caps(target, 5), left, transferred(target), roleSet(target, codec.Member),
		{Kind: codec.OpMemberAliasSet, Member: who(target), Name: codec.Some(codec.AliasName("t"))}, {Kind: codec.OpDefaultCapabilitiesSet, Capabilities: 3}}
	op := Op{ID: codec.OpID{0xFF, 1}, Parents: b.ledger.Heads(), Signer: who(name), Group: root,
		Body: &bodies[rapid.IntRange(0, len(bodies)-1).Draw(t, "body")]}
	if rapid.IntRange(0, 3).Draw(t, "states") == 0 {
		r := stated(root, rapid.SampledFrom([]string{"", name}).Draw(t, "admin"), as(target, codec.Member, 5))
		op.Version, op.Group, op.Body, op.Root = codec.OpVersion2, codec.GroupID{}, nil, &r
	}
	c, err := b.ledger.Cut(op.Parents)
	require.NoError(t, err)
	require.True(t, c.All())
	op.Nonce = c.LastNonce(op.Signer) + 1
	want, err := Evaluate(append(slices.Clone(b.has), op), who("K"))
	require.NoError(t, err)
	require.NoError(t, b.ledger.Try(&op, func(v Verdict) {
		require.Equal(t, want.Verdicts[op.ID], v)
		for _, g := range want.Groups() {
			require.Equal(t, want.Members(g), b.ledger.Members(g))
		}
	}))
	require.Empty(t, b.ledger.Settle())
}
