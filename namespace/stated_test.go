package namespace

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
)

// goneOver returns the stores of the founder and of a member of a recorded history of version
// 1, which the founder has upgraded, and one of the member that has not heard of that.
func goneOver(t *testing.T, file string) (ns codec.GroupID, z, m, beside *Store) {
	founder, member := readRecorded(t, file), readRecorded(t, strings.Replace(file, "-Z", "-M", 1))
	ns, z, m, beside = founder.namespace(), founder.given(t, founder.ops), member.given(t, member.ops), member.given(t, member.ops)
	done, stated, err := z.Upgrade(bg, ns)
	require.NoError(t, err)
	require.Contains(t, stated, ns)
	for _, wire := range done.Wire {
		require.Equal(t, codec.OpVersion2, mustParse(t, wire).Version)
	}
	require.Equal(t, group.Effective, applied(t, m, done.Wire...).Verdict.Outcome)
	return ns, z, m, beside
}

func mustParse(t *testing.T, wire []byte) *Op {
	op, _, err := parseWire(wire)
	require.NoError(t, err)
	return op
}

// unopenable is an op of version 1 of this node, under a key that only some get.
func unopenable(t *testing.T, s *Store, g codec.GroupID, body codec.GroupOp, to ...codec.Identity) []byte {
	return change(t, s, g, func(p *proposing, a *Answer) error {
		o, err := p.carrier()
		require.NoError(t, err)
		require.Equal(t, codec.OpVersion1, o.Version)
		o.Op = codec.NamespaceOp{Kind: codec.NamespaceGroup, GroupID: g}
		key, err := p.rotate1(o, g, codec.Option[codec.Secret]{}, sorted(append(to, p.c.self())))
		require.NoError(t, err)
		inner, err := p.seal1(o, &body, key)
		require.NoError(t, err)
		return p.signAndTake(o, &body, inner, a)
	})
}

func sorted(ids []codec.Identity) []codec.Identity {
	slices.SortFunc(ids, codec.CompareID)
	return ids
}

// state has a node state a group, whether or not that has effect.
func state(t *testing.T, s *Store, r codec.RootOp) []byte {
	r.Kind = codec.RootAuthorityStated
	return change(t, s, r.GroupID, func(p *proposing, a *Answer) error {
		o, err := p.carrier()
		require.NoError(t, err)
		o.Version, o.Op = codec.OpVersion2, codec.NamespaceOp{Kind: codec.NamespaceRoot, Root: r}
		return p.signAndTake(o, nil, nil, a)
	})
}

func change(t *testing.T, s *Store, g codec.GroupID, fn func(*proposing, *Answer) error) []byte {
	ns, err := s.home(g)
	require.NoError(t, err)
	var done Proposed
	require.NoError(t, s.change(bg, ns, &done, func(p *proposing) error { return fn(p, &done.Answer) }))
	return done.Wire[len(done.Wire)-1]
}

func eachRecorded(t *testing.T, fn func(t *testing.T, file string)) {
	files, err := filepath.Glob("testdata/version1/*-Z.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { fn(t, file) })
	}
}

func members(t *testing.T, s *Store, ns codec.GroupID) (found []codec.Identity) {
	require.NoError(t, s.view(ns, func(c *loaded) error {
		found = c.ledger.Members(ns)
		return nil
	}))
	return found
}

// A namespace of version 1 goes on in version 2 once its founder has said so: its ops are of that
// version, who is a member reads on, who comes reads what was, and who is removed reads no more.
func TestANamespaceGoesOver(t *testing.T) {
	eachRecorded(t, func(t *testing.T, file string) {
		ns, z, m, _ := goneOver(t, file)
		require.Equal(t, members(t, z, ns), members(t, m, ns))
		who, err := m.Identity(ns)
		require.NoError(t, err)
		require.Contains(t, members(t, z, ns), who)
		requireSound(t, z, ns)
		requireSound(t, m, ns)
		rules, err := z.db.Get(nil, column.Generic, append([]byte("gov-rules\x00\x00\x00\x00\x00\x00\x00"), ns[:]...))
		require.NoError(t, err)
		require.Equal(t, []byte{Rules, 0, 0, 0}, rules, "older builds don't open it")
		_, _, err = z.Upgrade(bg, ns)
		require.ErrorIs(t, err, ErrStated)

		said := proposed(t, z, ns, ns, call("said"))
		require.Equal(t, group.Effective, applied(t, m, said.Wire...).Verdict.Outcome)
		carries := map[string]int{"0-Z.json": 1, "2-Z.json": 2, "4-Z.json": 2}[filepath.Base(file)]
		require.Len(t, mustParse(t, said.Wire[0]).Keys[0].Carried, carries, "those that no other one opens")
		require.NoError(t, z.change(bg, ns, &Proposed{}, func(p *proposing) error {
			all, err := p.usable(ns)
			require.NoError(t, err)
			left, err := p.previous(ns, all)
			require.NoError(t, err)
			require.Empty(t, left)
			return nil
		}))
		named := proposed(t, m, ns, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who, Name: codec.Some(codec.AliasName("me"))})
		require.Equal(t, group.Effective, applied(t, z, named.Wire...).Verdict.Outcome)

		n := newStore(t, 77)
		imported(t, n, ns, "N")
		applied(t, m, proposed(t, z, ns, ns, add("N", codec.Member)).Wire...)
		_, err = Sync(bg, ns, z, n)
		require.NoError(t, err)
		require.NoError(t, n.view(ns, func(newcomer *loaded) error {
			return z.view(ns, func(founder *loaded) error {
				for i := range founder.ledger.Len() {
					op := founder.ledger.Op(i)
					at, ok := newcomer.ledger.Find(op.ID)
					require.True(t, ok)
					if op.Group == ns {
						require.Equal(t, op.Body, newcomer.ledger.Op(at).Body, i)
					}
				}
				return nil
			})
		}))
		requireSound(t, n, ns)
		requireSound(t, n.reopened(t, 78), ns)

		removal := proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMembersRemoved, Members: []codec.Identity{who}})
		applied(t, m, removal.Wire...)
		after := proposed(t, z, ns, ns, call("after"))
		require.Equal(t, group.Sealed, applied(t, m, after.Wire...).Verdict.Outcome)
		requireSound(t, z.reopened(t, 79), ns)
		requireSound(t, m.reopened(t, 80), ns)
	})
}

// What a member has in version 1 beside the statement gives and takes no rights any more, whether
// anybody can open it or not, and nobody is kept by it from making keys and governing.
func TestWhatVersion1HasBesideAStatementDecidesNothing(t *testing.T) {
	eachRecorded(t, func(t *testing.T, file string) {
		ns, z, m, beside := goneOver(t, file)
		who, err := m.Identity(ns)
		require.NoError(t, err)
		late := unopenable(t, beside, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who})
		require.Equal(t, group.Sealed, applied(t, z, late).Verdict.Outcome)
		applied(t, m, late)
		require.Equal(t, members(t, z, ns), members(t, m, ns))
		applied(t, m, proposed(t, z, ns, ns, add("N", codec.Member)).Wire...)
		said := proposed(t, z, ns, ns, call("said"))
		require.Equal(t, group.Effective, applied(t, m, said.Wire...).Verdict.Outcome)
		removal := proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: who})
		applied(t, m, removal.Wire...)
		require.NotContains(t, members(t, z, ns), who)
		after := proposed(t, z, ns, ns, call("after"))
		require.Equal(t, group.Sealed, applied(t, m, after.Wire...).Verdict.Outcome)
		n := newStore(t, 81)
		imported(t, n, ns, "N")
		_, err = Sync(bg, ns, z, n)
		require.NoError(t, err)
		info, err := n.Op(ns, said.Answer.ID)
		require.NoError(t, err)
		require.Equal(t, group.Effective, info.Verdict.Outcome)
		for _, s := range []*Store{z, m, n} {
			requireSound(t, s, ns)
		}
	})
}

// After a statement an op of version 1 is refused, and before one an op of version 2.
func TestVersionsFollowTheCut(t *testing.T) {
	eachRecorded(t, func(t *testing.T, file string) {
		ns, z, _, beside := goneOver(t, file)
		for s, wrong := range map[*Store]codec.OpVersion{z: codec.OpVersion1, beside: codec.OpVersion2} {
			var carrier codec.SignedNamespaceOp
			require.NoError(t, s.change(bg, ns, &Proposed{}, func(p *proposing) error {
				o, err := p.carrier()
				carrier = *o
				return err
			}))
			identity, err := s.ExportIdentity(ns)
			require.NoError(t, err)
			for _, v := range []codec.OpVersion{wrong, carrier.Version} {
				o := carrier
				o.Version, o.Op = v, codec.NamespaceOp{Kind: codec.NamespaceRoot, Root: codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: ns}}
				require.NoError(t, Sign(&o, identity.PrivateKey))
				op, err := NewOp(&o)
				require.NoError(t, err)
				a, err := s.Apply(bg, op.wire())
				require.NoError(t, err)
				if v != wrong {
					require.Equal(t, Stored, a.Kind)
					continue
				}
				require.Equal(t, Refused, a.Kind)
				require.Equal(t, BadForm, a.Refusal.Reason, a.Refusal.Detail)
			}
		}
	})
}

// Who is a member, and so which keys are right, is known where nothing that is not opened can say
// otherwise: at a statement of the founder who is the admin identity still, as far as the founder
// and the groups above are concerned.
func TestItIsKnownWhenVersion1DecidesNothingMore(t *testing.T) {
	eachRecorded(t, func(t *testing.T, file string) {
		founder, member := readRecorded(t, file), readRecorded(t, strings.Replace(file, "-Z", "-M", 1))
		ns := founder.namespace()
		begin := func() (z, m *Store, us, them codec.Identity) {
			z, m = founder.given(t, founder.ops), member.given(t, member.ops)
			us, err := z.Identity(ns)
			require.NoError(t, err)
			them, err = m.Identity(ns)
			require.NoError(t, err)
			return z, m, us, them
		}
		known := func(s *Store, g codec.GroupID) (known bool) {
			require.NoError(t, s.view(ns, func(c *loaded) error {
				known = c.isSettled(g, c.ledger, c.everything())
				return nil
			}))
			return known
		}
		alias := codec.GroupOp{Kind: codec.OpMemberAliasSet}
		transfer := func(to codec.Identity) codec.GroupOp {
			return codec.GroupOp{Kind: codec.OpAdminTransferred, Member: to}
		}
		t.Run("as the founder says", func(t *testing.T) {
			z, m, us, _ := begin()
			applied(t, z, unopenable(t, m, ns, alias))
			require.False(t, known(z, ns))
			state(t, z, codec.RootOp{GroupID: ns, AdminIdentity: us})
			require.True(t, known(z, ns))
		})
		t.Run("as the next admin identity says", func(t *testing.T) {
			z, m, us, them := begin()
			applied(t, z, unopenable(t, m, ns, alias))
			applied(t, m, state(t, z, codec.RootOp{GroupID: ns, AdminIdentity: them}))
			said := applied(t, z, state(t, m, codec.RootOp{GroupID: ns, AdminIdentity: us}))
			require.Equal(t, group.Effective, said.Verdict.Outcome, said.Verdict)
			require.False(t, known(z, ns), "only the founder ranks above what is sealed")
		})
		t.Run("the founder has sealed something", func(t *testing.T) {
			z, m, us, them := begin()
			applied(t, m, unopenable(t, z, ns, transfer(them)), state(t, z, codec.RootOp{GroupID: ns, AdminIdentity: us}))
			require.False(t, known(m, ns))
		})
		t.Run("the founder is not the admin identity any more", func(t *testing.T) {
			z, m, us, them := begin()
			applied(t, m, unopenable(t, z, ns, transfer(them), them))
			applied(t, z, unopenable(t, m, ns, alias))
			state(t, z, codec.RootOp{GroupID: ns, AdminIdentity: us})
			require.False(t, known(z, ns))
			state(t, z, codec.RootOp{GroupID: ns})
			require.False(t, known(z, ns))
		})
		t.Run("of a group above", func(t *testing.T) {
			z, m, us, them := begin()
			var groups []codec.GroupID
			for parent := ns; len(groups) < 2; {
				made, err := z.Propose(bg, ns, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: parent}})
				require.NoError(t, err)
				applied(t, m, made.Wire...)
				parent = mustParse(t, made.Wire[0]).Root.GroupID
				groups = append(groups, parent)
			}
			applied(t, m, unopenable(t, z, groups[0], alias))
			for _, g := range []codec.GroupID{ns, groups[1]} {
				applied(t, m, state(t, z, codec.RootOp{GroupID: g, AdminIdentity: us, Members: []codec.StatedMember{{Member: them}}}))
			}
			require.True(t, known(m, ns))
			require.False(t, known(m, groups[1]))
		})
	})
}
