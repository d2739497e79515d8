package group

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
)

// world is a history under construction: ops with names for people to write.
type world struct {
	t     require.TestingT
	ops   []Op
	byID  map[codec.OpID]*Op
	names map[string]bool // of those who sign
	count int
	ties  bool // it is the ids that decide somewhere, see golden

	version codec.OpVersion // of the ops that follow
}

var (
	root = codec.GroupID(sha256.Sum256([]byte("namespace")))
	sub  = codec.GroupID(sha256.Sum256([]byte("sub")))
)

// who returns the identity of that name.
func who(name string) codec.Identity { return codec.Identity(sha256.Sum256([]byte("who " + name))) }

func newWorld(t require.TestingT) (*world, codec.OpID) {
	w := &world{t: t, byID: map[codec.OpID]*Op{}, names: map[string]bool{}}
	return w, w.root("Z", codec.RootOp{Kind: codec.RootNamespaceCreated, GroupID: root, Creator: who("Z")})
}

// beginVersion2 has all ops be of version 2, that which begins the namespace too.
func (w *world) beginVersion2() {
	w.version, w.ops[0].Version = codec.OpVersion2, codec.OpVersion2
	w.byID[w.ops[0].ID].Version = codec.OpVersion2
}

// add appends op, signed by the one of that name on the parents (none: all heads), with
// the nonce that is due.
func (w *world) add(name string, op Op, parents []codec.OpID) codec.OpID {
	if len(parents) == 0 {
		parents = w.heads()
	}
	op.Version, op.Signer, op.Parents = w.version, who(name), parents
	w.names[name] = true
	op.Nonce = w.lastNonce(op.Signer, parents) + 1
	w.count++
	op.ID = sha256.Sum256(fmt.Append(nil, "op ", w.count, " of ", name))
	w.ops = append(w.ops, op)
	w.byID[op.ID] = &op
	return op.ID
}

func (w *world) root(name string, r codec.RootOp, parents ...codec.OpID) codec.OpID {
	return w.add(name, Op{Root: &r}, parents)
}

// in adds an op of a group.
func (w *world) in(g codec.GroupID, name string, b codec.GroupOp, parents ...codec.OpID) codec.OpID {
	return w.add(name, Op{Group: g, Body: &b}, parents)
}

// op adds an op of the namespace.
func (w *world) op(name string, b codec.GroupOp, parents ...codec.OpID) codec.OpID {
	return w.in(root, name, b, parents...)
}

func (w *world) heads() (heads []codec.OpID) {
	for _, op := range w.ops {
		if !slices.ContainsFunc(w.ops, func(o Op) bool { return slices.Contains(o.Parents, op.ID) }) {
			heads = append(heads, op.ID)
		}
	}
	return heads
}

func (w *world) lastNonce(signer codec.Identity, from []codec.OpID) (last uint64) {
	seen := map[codec.OpID]bool{}
	for stack := slices.Clone(from); len(stack) > 0; {
		op := w.byID[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		if seen[op.ID] {
			continue
		}
		seen[op.ID] = true
		if op.Signer == signer {
			last = max(last, op.Nonce)
		}
		stack = append(stack, op.Parents...)
	}
	return last
}

// result evaluates the ops in many orders, which must agree, and returns the result.
func (w *world) result() *Result {
	first, err := Evaluate(w.ops, codec.Identity{})
	require.NoError(w.t, err)
	random := rand.New(rand.NewPCG(1, uint64(len(w.ops))))
	for range 2 {
		shuffled := slices.Clone(w.ops)
		random.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		again, err := Evaluate(append(shuffled, shuffled[0]), codec.Identity{})
		require.NoError(w.t, err)
		require.Equal(w.t, first, again)
	}
	return first
}

func added(name string, role codec.GroupMemberRole) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberAdded, Member: who(name), Role: role}
}

func removed(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberRemoved, Member: who(name)}
}

func severalRemoved(names ...string) codec.GroupOp {
	b := codec.GroupOp{Kind: codec.OpMembersRemoved}
	for _, name := range names {
		b.Members = append(b.Members, who(name))
	}
	slices.SortFunc(b.Members, codec.CompareID)
	b.Members = slices.Compact(b.Members)
	return b
}

// rotated adds an op of the namespace that introduces a key, which opens others.
func (w *world) rotated(name string, carries []codec.OpID, parents ...codec.OpID) codec.OpID {
	return w.introducing(root, name, codec.GroupOp{Kind: codec.OpKeyRotated}, carries, parents...)
}

func (w *world) introducing(g codec.GroupID, name string, b codec.GroupOp, carries []codec.OpID, parents ...codec.OpID) codec.OpID {
	return w.add(name, Op{Group: g, Body: &b, Keys: []Key{{g, carries}}}, parents)
}

// under adds an op of the namespace that is sealed under the key which an op introduces.
func (w *world) under(key codec.OpID, name string, b codec.GroupOp, parents ...codec.OpID) codec.OpID {
	return w.add(name, Op{Group: root, Body: &b, KeyOp: key}, parents)
}

func roleSet(name string, role codec.GroupMemberRole) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: who(name), Role: role}
}

func caps(name string, c codec.Capabilities) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: who(name), Capabilities: c}
}

func transferred(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpAdminTransferred, Member: who(name)}
}

var left = codec.GroupOp{Kind: codec.OpMemberLeft}

func named(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName(name))}
}

func groupCreated(creator string, id, parent codec.GroupID) codec.RootOp {
	return codec.RootOp{Kind: codec.RootGroupCreated, GroupID: id, ParentID: parent, Creator: who(creator)}
}

// roster writes who is what in a group: Z* for the admin identity, K+ for an Admin,
// M for a member, R- for one that reads only; capabilities in hex.
func (r *Result) roster(t require.TestingT, g codec.GroupID, names string) string {
	rows := map[string][]byte{}
	for _, row := range r.Rows {
		rows[string(row.Key)] = row.Value
	}
	meta, _ := codec.GroupMetaValue{}.Decode(get(t, rows, keys.GroupMeta{Group: g}))
	var all []string
	for _, name := range strings.Split(names, "") {
		b := get(t, rows, keys.GroupMember{Group: g, Identity: who(name)})
		if b == nil {
			continue
		}
		entry := name + []string{"+", "", "-"}[b[0]]
		if meta.AdminIdentity == who(name) {
			entry = name + "*"
		}
		if c := get(t, rows, keys.GroupMemberCapability{Group: g, Identity: who(name)}); c != nil {
			entry += hex.EncodeToString(c[:1])
		}
		all = append(all, entry)
	}
	return strings.Join(all, " ")
}

func get[K keys.Key[K, V], V codec.Value[V]](t require.TestingT, rows map[string][]byte, k K) []byte {
	b, err := k.AppendBinary(nil)
	require.NoError(t, err)
	return rows[string(b)]
}

func (w *world) requireRoster(want, names string) *Result {
	r := w.result()
	require.Equal(w.t, want, r.roster(w.t, root, names))
	return r
}

func (w *world) requireVerdict(want Verdict, id codec.OpID) {
	require.Equal(w.t, want.String(), w.result().Verdicts[id].String())
}

var effective = Verdict{Outcome: Effective}

func void(r Reason) Verdict { return Verdict{Void, r} }

func TestWorldIsDeterministic(t *testing.T) {
	a, _ := newWorld(t)
	b, _ := newWorld(t)
	require.Equal(t, a.ops, b.ops)
}
