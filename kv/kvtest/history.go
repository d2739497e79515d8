package kvtest

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// line is what a process tells of an operation: that it begins, or what came of it.
type line struct {
	Client int
	In     json.RawMessage `json:",omitempty"`
	Out    json.RawMessage `json:",omitempty"`
}

// tell prints a line in one write, so that those of several goroutines are whole.
func tell(l line) {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(text, '.', '\n')) // it is killed at any moment
}

func text(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // tests tell of what JSON has
	}
	return text
}

// Tell does an operation in a process that is to be killed, and prints that it begins and
// what came of it, for the [History] of enginetest.UntilKilled's lines. A client has one
// operation under way at a time.
func Tell[I, O any](client int, in I, do func() O) O {
	tell(line{Client: client, In: text(in)})
	out := do()
	tell(line{Client: client, Out: text(out)})
	return out
}

// History is the operations of processes that were killed one after the other, and of the
// test in between, in the order in which they began and were answered.
type History[I, O any] struct {
	ops []porcupine.Operation
	at  int64
}

// Add adds what a process told until it was killed. Of an operation without an answer nobody
// knows whether it was done, but not later than the end of its process.
func (h *History[I, O]) Add(t require.TestingT, lines []string) {
	open := map[int]int{} // by client: its operation under way
	for _, text := range lines {
		var l line
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		h.at++
		if l.In != nil {
			var in I
			require.NoError(t, json.Unmarshal(l.In, &in))
			open[l.Client] = len(h.ops)
			h.ops = append(h.ops, porcupine.Operation{ClientId: l.Client, Input: in, Call: h.at, Output: (*O)(nil)})
			continue
		}
		out := new(O)
		require.NoError(t, json.Unmarshal(l.Out, out))
		at := open[l.Client]
		h.ops[at].Output, h.ops[at].Return = out, h.at
		delete(open, l.Client)
	}
	h.at++
	for _, at := range open {
		h.ops[at].Return = h.at
	}
}

// Do adds an operation of the test, while no process is alive.
func (h *History[I, O]) Do(in I, out O) {
	h.ops = append(h.ops, porcupine.Operation{Input: in, Call: h.at + 1, Output: &out, Return: h.at + 2})
	h.at += 2
}

// Settle says of each operation without an answer what came of it, by what is there: nil if
// it was not done. Many that were under way at once are judged only so: each that may have been
// done doubles what there is to try.
func (h *History[I, O]) Settle(came func(I) *O) {
	h.ops = slices.DeleteFunc(h.ops, func(op porcupine.Operation) bool {
		return op.Output.(*O) == nil && came(op.Input.(I)) == nil
	})
	for i, op := range h.ops {
		if op.Output.(*O) == nil {
			h.ops[i].Output = came(op.Input.(I))
		}
	}
}

// Inputs yields what was asked for, in order.
func (h *History[I, O]) Inputs(yield func(I) bool) {
	for _, op := range h.ops {
		if !yield(op.Input.(I)) {
			return
		}
	}
}

// Answered returns how many operations have an answer.
func (h *History[I, O]) Answered() (n int) {
	for _, op := range h.ops {
		if op.Output.(*O) != nil {
			n++
		}
	}
	return n
}

// Rule is what one thing that operations are about does, one after the other.
type Rule[S comparable, I, O any] struct {
	Of func(I) string // which thing an operation is about; nil: there is one
	// Step returns what becomes of a state by an operation that has an answer, and whether it
	// may have it. The answer is nil where nobody heard it: then it is what it is to be.
	Step func(s S, in I, out *O) (S, bool)
	// Lasting returns of an answer that changes nothing whether it stays right once it is (1), or
	// was right before as long as it is (-1); 0: neither. Of these the end, or the beginning, is
	// all that is tried. nil: neither, of all. Many of them that were under way at once are
	// judged only so, as there are as many ways to go on as there are sets of them.
	Lasting func(in I, out O) int
}

// Linearizable demands of a history that it is one of things that each begin with the zero
// state and obey a rule, whatever was done of what has no answer.
func Linearizable[S comparable, I, O any](t require.TestingT, h *History[I, O], r Rule[S, I, O]) {
	model := porcupine.NondeterministicModel{
		Init: func() []any { var s S; return []any{s} },
		Step: func(state, in, out any) []any {
			answer := out.(*O)
			next, ok := r.Step(state.(S), in.(I), answer)
			switch {
			case !ok:
				return nil
			case answer == nil && next != state.(S):
				return []any{state, next}
			}
			return []any{next}
		},
	}
	if r.Of != nil {
		model.Partition = func(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
			at := map[string]int{}
			for _, op := range ops {
				of := r.Of(op.Input.(I))
				if _, there := at[of]; !there {
					at[of], parts = len(parts), append(parts, nil)
				}
				parts[at[of]] = append(parts[at[of]], op)
			}
			return parts
		}
	}
	ops := slices.Clone(h.ops)
	for i := range ops {
		op := &ops[i]
		if out := op.Output.(*O); r.Lasting != nil && out != nil {
			switch r.Lasting(op.Input.(I), *out) {
			case 1:
				op.Call = op.Return
			case -1:
				op.Return = op.Call
			}
		}
	}
	result := porcupine.CheckOperationsTimeout(model.ToModel(), ops, time.Minute)
	require.NotEqual(t, porcupine.Unknown, result, "whether %d operations are linearizable can't be said within a minute: tell the rule more of their order", len(h.ops))
	require.Equal(t, porcupine.Ok, result, "%d operations are not linearizable", len(h.ops))
}
