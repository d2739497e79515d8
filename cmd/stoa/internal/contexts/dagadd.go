package contexts

import (
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
)

// answerDoc is what became of a delta, as JSON.
type answerDoc struct {
	Answer     string        `json:"answer"`
	ID         string        `json:"delta_id,omitempty"`
	Seq        uint64        `json:"seq,string,omitempty"`
	Root       string        `json:"root_hash,omitempty"`
	Applied    []string      `json:"applied,omitempty"`
	Missing    []string      `json:"missing,omitempty"`
	Verifying  bool          `json:"verifying,omitempty"`
	RetryAfter string        `json:"retry_after,omitempty"`
	Refusal    *refusalDoc   `json:"refusal,omitempty"`
	Refused    []*refusalDoc `json:"refused,omitempty"`
	Evicted    []string      `json:"evicted,omitempty"`
	Dropped    []string      `json:"dropped,omitempty"`
}

func newAnswerDoc(a *dag.Answer) answerDoc {
	d := answerDoc{
		Answer: a.Kind.String(), ID: cli.UnlessZero(a.ID), Seq: a.Seq, Root: cli.UnlessZero(a.Root), Applied: cli.Texts(a.Applied), Missing: cli.Texts(a.Missing),
		Verifying: a.Verifying, Refusal: newRefusalDoc(a.Refusal), Evicted: cli.Texts(a.Evicted), Dropped: cli.Texts(a.Dropped),
	}
	if a.RetryAfter > 0 {
		d.RetryAfter = a.RetryAfter.String()
	}
	for i := range a.Refused {
		d.Refused = append(d.Refused, newRefusalDoc(&a.Refused[i]))
	}
	return d
}

func (d answerDoc) write(w io.Writer) {
	line := d.Answer
	if d.ID != "" {
		line += "  " + d.ID
	}
	switch {
	case d.Refusal != nil:
		line += "  " + d.Refusal.said()
	case d.Verifying:
		line += "  its root is being computed"
	case d.RetryAfter != "":
		line += "  offer it again in " + d.RetryAfter
	}
	fmt.Fprintln(w, line)
	for _, part := range []struct {
		what string
		ids  []string
	}{{"missing", d.Missing}, {"evicted", d.Evicted}, {"dropped", d.Dropped}} {
		for _, id := range part.ids {
			fmt.Fprintf(w, "  %s  %s\n", part.what, id)
		}
	}
	for _, id := range d.Applied {
		if id != d.ID {
			fmt.Fprintf(w, "  applied too  %s\n", id)
		}
	}
	for _, r := range d.Refused {
		fmt.Fprintf(w, "  refused too  %s  %s\n", r.ID, r.said())
	}
}

func newDagAdd(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofContexts(p, "dag", command{
		Name: "add", Args: []string{"FILE|-..."}, Short: "Offer deltas that another node has sent",
		Long: `Offer deltas that another node has sent, and say what becomes of each. A file, or
stdin, has one delta as its bytes, or any number in hex, one to a line. It exits 5 if one
is refused, and 1 if one can't be judged.`,
		Example: "delta.hex\n  stoa dag since room --bytes --socket a/stoa.sock | stoa dag add - --socket b/stoa.sock",
		Flags:   level.Register,
		Run: func(c *call) error {
			return cli.Offer(c.Call, "delta", func(deltas iter.Seq[[]byte]) iter.Seq2[dag.Answer, error] {
				return c.dag.AddMany(c.Ctx, deltas, engine.Durability(level))
			}, func(a *dag.Answer) (bool, error) {
				d := newAnswerDoc(a)
				return a.Kind == dag.Refused, c.Emit(d, d.write)
			})
		},
	})
}
