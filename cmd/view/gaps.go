package view

import (
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
)

// fewGaps is how many places an answer names that it leaves out; it counts all.
const fewGaps = 20

// gaps are what an answer leaves out since it cannot be read.
type gaps struct {
	Left   int               `json:"left_out,omitempty"`        // how many places
	Places []inspect.Finding `json:"left_out_places,omitempty"` // the first of them
}

// tell adds a place, unless it is one of those.
func (g *gaps) tell(f inspect.Finding) error {
	if slices.ContainsFunc(g.Places, func(p inspect.Finding) bool { return p.Column == f.Column && p.Key == f.Key }) {
		return nil
	}
	if g.Left++; len(g.Places) < fewGaps {
		g.Places = append(g.Places, f)
	}
	return nil
}

// lose adds a row that is left out, for that reason.
func (g *gaps) lose(code string, col column.Column, key []byte, err error) {
	_ = g.tell(inspect.NewFinding(code, col, key, err.Error())) // it has no errors
}

// add adds the places of others.
func (g *gaps) add(o gaps) {
	g.Left += o.Left - len(o.Places)
	for _, p := range o.Places {
		_ = g.tell(p) // it has no errors
	}
}
