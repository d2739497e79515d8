package namespace_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

const goldenCases = "../group/testdata/cases"

// refusedOfCases are the ops of cases that no store takes, so that the definition alone
// judges them. What else the cases have does not depend on them.
var refusedOfCases = map[string]struct {
	reason  namespace.RefusalReason
	verdict string // which the definition gives it
}{
	// it creates a group below one that nobody creates
	"TreeHasNoCyclesAndIsNotTooDeep": {namespace.UnknownGroup, "skipped: no such group"},
	// it is of the group of zeros, which nobody creates, nor could: an id is a digest
	"ZeroIdsAreIds": {namespace.UnknownGroup, "void: no right"},
}

// Every hand-written case, as signed and sealed ops that come to a store in the order of
// the case, backwards and at random, has there the verdicts, the rows, the counters and the
// equivocations that its file says.
func TestGoldenCasesGoThroughTheStore(t *testing.T) {
	enginetest.SkipUnderRace(t, enginetest.OneByOne)
	files, err := filepath.Glob(filepath.Join(goldenCases, "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 40)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if readGolden(t, file).ofTwoVersions() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for n := range 2 + enginetest.Scale(3) {
				s := newStage(t, readGolden(t, file), byte(n))
				s.requireRefusals(t, name)
				order := slices.Clone(s.forge.ops)
				switch random := rand.New(rand.NewPCG(7, uint64(n))); n {
				case 0:
				case 1:
					slices.Reverse(order)
				default:
					random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
				}
				s.goThrough(t, order)
			}
		})
	}
	for name := range refusedOfCases {
		require.Contains(t, files, filepath.Join(goldenCases, name+".json"))
	}
}

// requireRefusals demands that the op of the case is refused that must be, and no other.
func (s *stage) requireRefusals(t *testing.T, name string) {
	want, refuses := refusedOfCases[name]
	if !refuses {
		require.Empty(t, s.refused)
		return
	}
	require.Len(t, s.refused, 1)
	require.Equal(t, want.reason, s.refused[0].reason)
	i := slices.IndexFunc(s.file.Ops, func(o goldenOp) bool { return s.ops[o.ID] == nil })
	require.Equal(t, want.verdict, s.file.Ops[i].Verdict)
}

// goThrough gives a store the ops in that order, and demands what the case says.
func (s *stage) goThrough(t *testing.T, order []*namespace.Op) {
	w := newWitness(t, s.forge, reader, newMem())
	defer w.close()
	for n, op := range order {
		w.give(op)
		if n == len(order)/2 {
			w.restart()
		}
		for _, bad := range s.refused {
			w.giveBad(bad)
		}
	}
	w.check()
	for _, o := range s.file.Ops {
		op := s.ops[o.ID]
		if op == nil {
			continue
		}
		info, err := w.store.Op(s.ns, op.ID)
		require.NoError(t, err)
		require.Equal(t, o.Verdict, info.Verdict.String(), "%s", o.ID)
	}
	rows, _ := w.column()
	for key := range rows {
		if bytes.IndexByte([]byte{0x37, 0x38, 0x3A}, key[0]) >= 0 { // ops, and secrets
			delete(rows, key)
		}
	}
	require.Equal(t, s.wantRows(t), rows)
	require.Equal(t, s.wantConfig(t), configs(t, w.db))
	reported := map[equivocation]int{}
	all, err := w.store.Equivocations(s.ns, group.Equivocation{}, 0)
	require.NoError(t, err)
	for _, e := range all {
		reported[equivocation{e.Signer, e.Nonce}] = e.Count
	}
	require.Equal(t, s.wantEquivocations(t), reported)
	found, err := w.store.Verify(t.Context(), s.ns)
	require.NoError(t, err)
	require.Empty(t, damage(found))
}

// damage returns those of findings for which nobody is to blame.
func damage(found []namespace.Finding) []namespace.Finding {
	return slices.DeleteFunc(found, func(f namespace.Finding) bool { return !f.By.IsZero() })
}

// configs returns the counters of all contexts.
func configs(t *testing.T, r engine.Reader) map[codec.ContextID]codec.ContextConfigValue {
	all := map[codec.ContextID]codec.ContextConfigValue{}
	it, err := r.Iterate(column.Config, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		v, err := codec.ContextConfigValue{}.Decode(it.Value())
		require.NoError(t, err)
		all[codec.ContextID(it.Key())] = v
	}
	require.NoError(t, it.Err())
	return all
}
