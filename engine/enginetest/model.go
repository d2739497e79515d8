package enginetest

import (
	"bytes"
	"maps"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// model is what a store holds, kept in the plainest way that there is.
type model map[row]string

type row struct {
	col column.Column
	key string
}

// change is one change of a batch or, in the list of expectations, one of these.
type change struct {
	kind engine.Kind
	row
	value  string // put: the value; range: the end; expectation: what is wanted
	absent bool   // expectation: nothing is
}

func (m model) clone() model { return maps.Clone(m) }

func (m model) apply(changes []change) {
	for _, c := range changes {
		switch c.kind {
		case engine.KindPut:
			m[c.row] = c.value
		case engine.KindDelete:
			delete(m, c.row)
		case engine.KindDeleteRange:
			maps.DeleteFunc(m, func(r row, _ string) bool {
				return r.col == c.col && r.key >= c.key && r.key < c.value
			})
		}
	}
}

// violated returns the first expectation that does not hold, or nil.
func (m model) violated(expected []change) *change {
	for i, e := range expected {
		if v, found := m[e.row]; found == e.absent || found && v != e.value {
			return &expected[i]
		}
	}
	return nil
}

// list returns what trial.list must return.
func (m model) list(t *trial, col column.Column, r engine.Range) []string {
	entries := []string{}
	for _, at := range m.rows(col, r) {
		entries = append(entries, t.entry([]byte(at.key), []byte(m[at])))
	}
	return entries
}

func (m model) rows(col column.Column, r engine.Range) (rows []row) {
	for at := range m {
		key := []byte(at.key)
		if at.col == col && bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0) {
			rows = append(rows, at)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	if r.Reverse {
		slices.Reverse(rows)
	}
	if r.Limit > 0 && len(rows) > r.Limit {
		rows = rows[:r.Limit]
	}
	return rows
}
