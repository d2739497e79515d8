package namespace

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
)

// recorded is a history of version 1 as a node of somebody had it: made, with what became
// of it, by the last build that began namespaces of that version.
type recorded struct {
	Who      string
	Seed     string
	Ops      []string
	Verdicts []string          // of the ops, when all are there
	Rows     map[string]string // of the Group column, but for secrets and logs

	ops []*Op
}

func readRecorded(t *testing.T, file string) (r recorded) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	for _, text := range r.Ops {
		wire, err := hex.DecodeString(text)
		require.NoError(t, err)
		op, _, err := parseWire(wire)
		require.NoError(t, err)
		require.Equal(t, codec.OpVersion1, op.Version)
		r.ops = append(r.ops, op)
	}
	return r
}

func (r *recorded) namespace() codec.GroupID { return r.ops[0].Signed.NamespaceID }

// given returns a store of who had the history, with the ops in some order.
func (r *recorded) given(t *testing.T, order []*Op) *Store {
	b, err := hex.DecodeString(r.Seed)
	require.NoError(t, err)
	s, seed := newStore(t, r.Who[0]), codec.Secret(b)
	takeForks(s)
	require.NoError(t, s.ImportIdentity(r.namespace(), codec.NamespaceIdentityValue{PublicKey: group.IdentityOf(seed), PrivateKey: seed}))
	for _, op := range order {
		a, err := s.Apply(bg, op.wire())
		require.NoError(t, err)
		require.NotEqual(t, Refused, a.Kind, "%v", a.Refusal)
	}
	return s
}

// What version 1 has made is read as it was, in any order.
func TestVersion1IsReadAsItWas(t *testing.T) {
	files, err := filepath.Glob("testdata/version1/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := readRecorded(t, file)
			backwards := slices.Clone(r.ops)
			slices.Reverse(backwards)
			for n, order := range [][]*Op{r.ops, backwards} {
				s := r.given(t, order)
				for i, op := range r.ops {
					info, err := s.Op(r.namespace(), op.ID)
					require.NoError(t, err)
					require.Equal(t, r.Verdicts[i], info.Verdict.String(), i)
				}
				requireSound(t, s, r.namespace())
				for k, v := range r.Rows {
					key, err := hex.DecodeString(k)
					require.NoError(t, err)
					value, err := s.db.Get(nil, column.Group, key)
					require.NoError(t, err, k)
					if n == 0 || key[0] != 0x31 { // the order of a log is that in which ops came
						require.Equal(t, v, hex.EncodeToString(value), k)
					}
				}
				requireSound(t, s.reopened(t, 9), r.namespace())
			}
		})
	}
}

// A namespace that began in version 1 goes on in it: its ops are of version 1, keys are
// sealed to exactly the members, and who is removed opens nothing more.
func TestVersion1GoesOn(t *testing.T) {
	files, err := filepath.Glob("testdata/version1/*-Z.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			founder := readRecorded(t, file)
			member := readRecorded(t, strings.Replace(file, "-Z", "-M", 1))
			ns, z, m := founder.namespace(), founder.given(t, founder.ops), member.given(t, member.ops)
			who, err := m.Identity(ns)
			require.NoError(t, err)
			made := proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMemberAdded, Member: who, Role: codec.Member})
			for _, wire := range made.Wire {
				op, _, err := parseWire(wire)
				require.NoError(t, err)
				require.Equal(t, codec.OpVersion1, op.Version)
			}
			applied(t, m, made.Wire...)
			named := proposed(t, m, ns, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who, Name: codec.Some(codec.AliasName("me"))})
			require.Equal(t, group.Effective, applied(t, z, named.Wire...).Verdict.Outcome)
			_, err = z.Rotate(bg, ns, true)
			require.ErrorIs(t, err, ErrNotDue, "nothing is due")

			removal := proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: who})
			require.NotEmpty(t, removal.Keys)
			applied(t, m, removal.Wire...)
			after := proposed(t, z, ns, ns, call("after"))
			require.Equal(t, group.Sealed, applied(t, m, after.Wire...).Verdict.Outcome)
			keys, err := z.Keys(ns)
			require.NoError(t, err)
			current := slices.IndexFunc(keys, func(k KeyInfo) bool { return k.Current })
			require.GreaterOrEqual(t, current, 0)
			require.NotContains(t, keys[current].Holders, who)
			_, err = z.Propose(bg, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMembersRemoved, Members: []codec.Identity{who}}})
			require.ErrorIs(t, err, ErrNotEffective)
			requireSound(t, z, ns)
			requireSound(t, m, ns)
		})
	}
}
