package inspect

import (
	"cmp"
	"container/heap"
	"encoding/hex"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

const (
	maxExamples = 5
	maxScopes   = 1000 // of which a survey keeps count
)

// counter counts the rows of a column.
type counter struct {
	col         column.Column
	all         Tally
	byType      map[string]*Part
	scopes      []Part // of Generic, in the order of their keys
	unaccounted Unaccounted

	scope keys.Scope // of the last row
}

func newCounter(c column.Column) *counter { return &counter{col: c, byType: map[string]*Part{}} }

func (c *counter) add(key, value []byte) {
	c.all.Add(key, value)
	info, err := keys.Identify(c.col, key)
	if err == nil && c.col == column.Generic {
		err = keys.CheckKey(c.col, key)
	}
	if err != nil {
		c.unaccounted.Add(key, value)
		if len(c.unaccounted.Examples) < maxExamples {
			c.unaccounted.Examples = append(c.unaccounted.Examples, NewFinding("unaccounted", c.col, key, err.Error()))
		}
		return
	}
	switch c.col {
	case column.Generic:
		c.addScope(key, value)
	case column.Group, column.Blobs:
		p := c.byType[info.Name]
		if p == nil {
			p = &Part{Name: info.Name}
			if info.Tag != 0 {
				p.Prefix = hex.EncodeToString([]byte{info.Tag})
			}
			c.byType[info.Name] = p
		}
		p.Add(key, value)
	}
}

// addScope counts a row of Generic, whose scopes come one after the other.
func (c *counter) addScope(key, value []byte) {
	s := keys.Scope(key)
	if len(c.scopes) == 0 || s != c.scope {
		c.scope = s
		switch len(c.scopes) {
		case maxScopes:
			c.scopes = append(c.scopes, Part{Name: "other scopes"})
		case maxScopes + 1:
		default:
			c.scopes = append(c.scopes, Part{Name: s.String(), Prefix: hex.EncodeToString(s[:])})
		}
	}
	c.scopes[len(c.scopes)-1].Add(key, value)
}

func (c *counter) report() ColumnReport {
	r := ColumnReport{Column: c.col.String(), Tally: c.all, Parts: c.scopes}
	for info := range keys.Schema() {
		if p := c.byType[info.Name]; p != nil && info.Column == c.col {
			r.Parts = append(r.Parts, *p)
		}
	}
	if c.unaccounted.Rows > 0 {
		r.Unaccounted = &c.unaccounted
	}
	return r
}

// largest is a heap of the largest contexts, the smallest of them on top.
type largest []ContextReport

// add keeps r if it is among the largest n.
func (l *largest) add(r ContextReport, n int) {
	heap.Push(l, r)
	if len(*l) > n {
		heap.Pop(l)
	}
}

// sorted returns them, the largest first.
func (l largest) sorted() []ContextReport {
	slices.SortFunc(l, func(a, b ContextReport) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Context, b.Context))
	})
	return l
}

// Len returns how many there are; see [heap.Interface].
func (l largest) Len() int { return len(l) }

// Less reports whether i comes out before j; see [heap.Interface].
func (l largest) Less(i, j int) bool { return l[i].Bytes < l[j].Bytes }

// Swap swaps i and j; see [heap.Interface].
func (l largest) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push adds one at the end; see [heap.Interface].
func (l *largest) Push(x any) { *l = append(*l, x.(ContextReport)) }

// Pop takes the last; see [heap.Interface].
func (l *largest) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}
