package tasks

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/cmd/redisdump"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// report is what has become of a dump.
type report struct {
	counts    []*kindCount
	left      []leftDoc
	conflicts int
}

// kindCount counts what has become of a kind of things.
type kindCount struct {
	Kind     string `json:"kind"`
	Imported int    `json:"imported"`
	Same     int    `json:"same"`
	Left     int    `json:"left"`
}

// leftDoc is a key that was left out.
type leftDoc struct {
	Key      string `json:"key"`
	Kind     string `json:"kind"`
	Why      string `json:"why"`
	Conflict bool   `json:"conflict,omitempty"` // it was to be imported
}

// of is the count of a kind.
func (r *report) of(kind string) *kindCount {
	for _, c := range r.counts {
		if c.Kind == kind {
			return c
		}
	}
	r.counts = append(r.counts, &kindCount{Kind: kind})
	return r.counts[len(r.counts)-1]
}

func (r *report) imported(kind string, n int) { r.of(kind).Imported += n }
func (r *report) same(kind string, n int)     { r.of(kind).Same += n }

// leave notes a key of which nothing is imported.
func (r *report) leave(kind, key, why string) {
	r.of(kind).Left++
	r.left = append(r.left, leftDoc{Key: key, Kind: kind, Why: why})
}

// conflict notes a key that can't be imported.
func (r *report) conflict(kind, key, why string) {
	r.leave(kind, key, why)
	r.left[len(r.left)-1].Conflict = true
	r.conflicts++
}

// tell prints the report. It returns a failure where something can't be imported.
func (m *importer) tell(d *redisdump.Dump) error {
	slices.SortFunc(m.counts, func(a, b *kindCount) int { return strings.Compare(a.Kind, b.Kind) })
	doc := struct {
		DryRun   bool         `json:"dry_run"`
		Commands int          `json:"commands"`
		Keys     int          `json:"keys"`
		Counts   []*kindCount `json:"counts"`
		Left     []leftDoc    `json:"left"`
	}{m.dry, d.Commands, len(d.Values), append([]*kindCount{}, m.counts...), append([]leftDoc{}, m.left...)}
	err := m.Emit(doc, func(w io.Writer) {
		done := "imported"
		if m.dry {
			done = "would be imported"
		}
		fmt.Fprintf(w, "%s, which leave %s\n", cli.Count(d.Commands, "command"), cli.Count(len(d.Values), "key"))
		t := cli.Table{Right: []bool{false, true, true, true}}
		t.Add("", done, "the same", "left out")
		for _, c := range m.counts {
			t.Add(c.Kind, strconv.Itoa(c.Imported), strconv.Itoa(c.Same), strconv.Itoa(c.Left))
		}
		t.Write(w, "")
		m.reasons(w)
	})
	if err != nil || m.conflicts == 0 {
		return err
	}
	return cli.Refused(errors.New(cli.Count(m.conflicts, "key")+" of the file not imported"), "the others are; the reasons are said above")
}

// maxNamed is how many keys are named of those that are left out for one reason.
const maxNamed = 3

// reasons says why keys are left out, with some of them each.
func (r *report) reasons(w io.Writer) {
	type reason struct{ kind, why string }
	keys := map[reason][]string{}
	var order []reason
	for _, l := range r.left {
		of := reason{l.Kind, l.Why}
		if keys[of] == nil {
			order = append(order, of)
		}
		keys[of] = append(keys[of], l.Key)
	}
	slices.SortStableFunc(order, func(a, b reason) int { return strings.Compare(a.kind, b.kind) })
	for _, of := range order {
		named := make([]string, 0, maxNamed)
		for _, key := range keys[of][:min(len(keys[of]), maxNamed)] {
			named = append(named, cli.Plain(key))
		}
		if len(keys[of]) > maxNamed {
			named = append(named, "…")
		}
		fmt.Fprintf(w, "left out: %d of %s: %s (%s)\n", len(keys[of]), of.kind, of.why, strings.Join(named, ", "))
	}
}
