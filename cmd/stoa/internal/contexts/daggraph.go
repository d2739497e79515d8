package contexts

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc"
)

// graphFormats are what --format takes.
var graphFormats = []string{"text", "dot", "json"}

func newDagGraph(p *cli.Process) *cobra.Command {
	var f walkFlags
	var format string
	cmd := onContext(p, "dag", command{
		Name: "graph", Offline: true, Short: "Draw the deltas of a context",
		Long:    "Draw the newest deltas of a context and whose parents they are: as text, as a graph for\nGraphviz, or as JSON.",
		Example: "\n--format dot | dot -Tsvg -o graph.svg",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs, 100)
			fs.StringVar(&format, "format", "text", "text, dot or json")
		},
		Check: func() error {
			if !slices.Contains(graphFormats, format) {
				return cli.Bad(fmt.Errorf("--format: %q is none of %s", format, strings.Join(graphFormats, ", ")), "")
			}
			return nil
		},
		Run: func(c *call) error {
			all, err := f.walk(c)
			if err != nil {
				return err
			}
			var g []rpc.Header
			for h, err := range all {
				if err != nil {
					return err
				}
				g = append(g, h)
			}
			if format == "json" || c.JSON {
				docs := []headerDoc{}
				for _, h := range g {
					docs = append(docs, newHeaderDoc(h))
				}
				return cli.WriteJSON(c.Stdout, map[string]any{"context_id": c.context.String(), "deltas": docs})
			}
			known, err := c.names()
			if err != nil {
				return err
			}
			if format == "dot" {
				return writeDot(c.Stdout, g, known)
			}
			return writeGraph(c.Stdout, g, known)
		},
	})
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	return cmd
}

// shortID is as much of an id as tells deltas of one graph apart.
func shortID(id codec.DeltaID) string { return id.String()[:cli.ShortDigits] }

// doneIn says what a delta does, and who has signed it.
func doneIn(h rpc.Header, known cli.Names) string {
	done := cli.Count(int(h.Actions), "action")
	if !h.Author.IsZero() {
		done += " by " + known.Of(h.Author.String())
	}
	return done
}

func writeDot(w io.Writer, g []rpc.Header, known cli.Names) error {
	var b strings.Builder
	b.WriteString("digraph deltas {\n  rankdir=BT;\n  node [shape=box, fontname=monospace];\n")
	for _, h := range g {
		fmt.Fprintf(&b, "  %q [label=%q];\n", h.Position.Delta, shortID(h.Position.Delta)+"\n"+doneIn(h, known))
		for _, parent := range h.Parents {
			fmt.Fprintf(&b, "  %q -> %q;\n", h.Position.Delta, parent)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGraph draws deltas, newest first, in lanes: * is a delta, each lane below
// it leads to one of its parents.
func writeGraph(w io.Writer, g []rpc.Header, known cli.Names) error {
	var b strings.Builder
	var lanes []codec.DeltaID // what each leads to
	for _, h := range g {
		id := h.Position.Delta
		at := slices.Index(lanes, id)
		if at < 0 {
			at, lanes = len(lanes), append(lanes, id)
		}
		b.WriteString(laneMarks(len(lanes), at, '*'))
		fmt.Fprintf(&b, "  %s  %s", shortID(id), doneIn(h, known))
		if h.Base {
			b.WriteString(", base")
		}
		b.WriteByte('\n')
		before := len(lanes)
		lanes = slices.Delete(lanes, at, at+1)
		joined := false
		for i, parent := range h.Parents {
			if slices.Contains(lanes, parent) {
				joined = true
				continue
			}
			lanes = slices.Insert(lanes, min(at+i, len(lanes)), parent)
		}
		switch {
		case len(lanes) > before:
			b.WriteString(laneMarks(before, -1, 0) + strings.Repeat("\\ ", len(lanes)-before) + "\n")
		case len(lanes) < before && joined:
			b.WriteString(laneMarks(len(lanes), -1, 0) + "/\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// laneMarks draws n lanes, with a mark in one of them.
func laneMarks(n, at int, mark byte) string {
	line := make([]byte, 0, 2*n)
	for i := range n {
		if i == at {
			line = append(line, mark, ' ')
		} else {
			line = append(line, '|', ' ')
		}
	}
	return string(line)
}
