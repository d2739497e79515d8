package group

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column/readmetest"
)

var update = flag.Bool("update", false, "rewrite the tables of README.md and testdata/ops.json")

func TestReadmeTablesAreCurrent(t *testing.T) {
	readmetest.Table(t, *update, "ops", opTable("GroupOp"))
	readmetest.Table(t, *update, "access", accessTable())
	readmetest.Table(t, *update, "verdicts", verdictTable())
}

// opTable lists the variants of an op with their fields.
func opTable(name string) string {
	typ, _ := codec.TypeByName(name)
	var b strings.Builder
	b.WriteString("| Tag | Op | Fields in order |\n|---|---|---|\n")
	var fields []string
	for i, f := range typ.Fields {
		if tag, ok := strings.CutPrefix(f.Kind, "variant "); ok {
			fmt.Fprintf(&b, "| %s | %s | ", tag, f.Name)
			fields = nil
		} else {
			_, field, _ := strings.Cut(f.Name, ".")
			fields = append(fields, field+" "+strings.NewReplacer("<", "\\<", ">", "\\>").Replace(f.Kind))
		}
		if i+1 == len(typ.Fields) || strings.HasPrefix(typ.Fields[i+1].Kind, "variant ") {
			b.WriteString(strings.Join(fields, "; ") + " |\n")
		}
	}
	return b.String()
}

func accessTable() string {
	var b strings.Builder
	b.WriteString("| Op | Admin | Capability | Member |\n|---|---|---|---|\n")
	mark := map[bool]string{true: "yes"}
	row := func(name fmt.Stringer, a Access) {
		c := strings.ReplaceAll(a.Caps.String(), "|", " or ")
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, mark[a.Admins], strings.TrimPrefix(c, "none"), mark[a.Members])
	}
	for k, a := range groupAccess {
		row(codec.GroupOpKind(k), a)
	}
	for k, a := range rootAccess {
		row(codec.RootOpKind(k), a)
	}
	return b.String()
}

func verdictTable() string {
	var b strings.Builder
	b.WriteString("| Verdict | Reasons |\n|---|---|\n| effective | |\n| sealed | it cannot be opened here, and does nothing until it can |\n")
	fmt.Fprintf(&b, "| void | %s |\n", strings.Join(slices.Concat(reasons[NoRight:Exists], reasons[NotPlaced:], reasons[NoGroup:NoGroup+1]), "; "))
	fmt.Fprintf(&b, "| skipped | %s |\n", strings.Join(reasons[Exists:NotPlaced], "; "))
	return b.String()
}

// Every cell of the table: someone with exactly one right tries every op.
func TestAccessTable(t *testing.T) {
	rights := append([]right{rightIdentity, rightAdmin, rightMember}, bits(codec.AllCapabilities)...)
	for _, r := range rights {
		w, last := newWorld(t)
		last = w.op("Z", added("M", codec.ReadOnly), last)
		signer := "S"
		switch {
		case r == rightIdentity:
			signer = "Z"
		case r == rightAdmin:
			last = w.op("Z", added("S", codec.Admin), last)
		default:
			last = w.op("Z", added("S", codec.ReadOnly), last)
			if r >= rightBit {
				last = w.op("Z", caps("S", 1<<(r-rightBit)), last)
			}
		}
		entitled := func(a Access) bool {
			return r == rightIdentity || a.Admins && r == rightAdmin || a.Members && (r == rightMember || r >= rightBit) ||
				r >= rightBit && a.Caps.Has(1<<(r-rightBit))
		}
		for k, a := range groupAccess {
			b := codec.GroupOp{Kind: codec.GroupOpKind(k)}
			switch b.Kind {
			case codec.OpMemberLeft:
				if r == rightIdentity {
					continue // may not leave
				}
			case codec.OpMemberAdded, codec.OpMemberRoleSet:
				b.Role = codec.Member
				fallthrough
			case codec.OpMemberRemoved, codec.OpMemberCapabilitySet, codec.OpMemberAliasSet, codec.OpContextCapabilitySet, codec.OpAdminTransferred:
				b.Member = who("M")
			}
			w.requireAccess(entitled(a), w.op(signer, b, last), fmt.Sprint(b.Kind, " by right ", r))
			if b.Kind == codec.OpMemberAdded || b.Kind == codec.OpMemberRoleSet {
				b.Role = codec.Admin
				w.requireAccess(r <= rightAdmin, w.op(signer, b, last), fmt.Sprint(b.Kind, " Admin by right ", r))
			}
		}
		for k, a := range rootAccess {
			op := codec.RootOp{Kind: codec.RootOpKind(k), GroupID: root}
			switch op.Kind {
			case codec.RootNamespaceCreated:
				continue
			case codec.RootGroupCreated, codec.RootGroupReparented, codec.RootGroupDeleted:
				op.GroupID = groupNo(int(r))
			case codec.RootMemberJoined:
				op = joined(signer, "J", root, codec.Member, 5)
			}
			w.requireAccess(entitled(a), w.root(signer, op, last), fmt.Sprint(op.Kind, " by right ", r))
		}
	}
}

// requireAccess demands that the op is void for want of a right, or is not. The ops are
// beside each other, so the verdict of one does not depend on the others: each is judged
// on its ancestors only.
func (w *world) requireAccess(want bool, id codec.OpID, what string) {
	alone := &world{t: w.t, byID: w.byID}
	for _, op := range w.ops {
		if op.ID == id || isAbove(w, op.ID, id) {
			alone.ops = append(alone.ops, op)
		}
	}
	v := alone.result().Verdicts[id]
	require.Equal(w.t, want, v.Outcome != Void, "%s: %s", what, v)
	if !want {
		require.Equal(w.t, void(NoRight), v, what)
	}
}

func isAbove(w *world, a, x codec.OpID) bool {
	for _, p := range w.byID[x].Parents {
		if p == a || isAbove(w, a, p) {
			return true
		}
	}
	return false
}
