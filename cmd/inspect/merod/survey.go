package merod

import (
	"cmp"
	"context"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
)

// Overview is what is in a database.
type Overview struct {
	Where     string   `json:"where"`
	Newest    string   `json:"newest_merod_since,omitempty"` // see Database
	Columns   []Column `json:"columns"`
	Rows      uint64   `json:"rows"`
	Explained uint64   `json:"explained"`
	// Unexplained are the first of those rows that are not, by their keys.
	Unexplained []Row `json:"unexplained,omitempty"`
}

// Column is what is in a column family.
type Column struct {
	Column string `json:"column"`
	Known  bool   `json:"known"`
	inspect.Tally
	Kinds []Kinds `json:"kinds,omitempty"`
}

// Kinds are the rows of a kind in a layout; both are empty for those that are not known.
type Kinds struct {
	Type   string `json:"type"`
	Layout string `json:"layout"`
	inspect.Tally
}

// mostExamples is how many rows that are not explained an overview has.
const mostExamples = 10

// stride is how many rows are read between two looks at who waits.
const stride = 1000

// Survey reads every row. Progress, unless it is nil, is told how many more were read.
func Survey(ctx context.Context, d *Database, progress func(rows uint64)) (*Overview, error) {
	v := &Overview{Where: d.Where, Newest: d.Newest, Columns: []Column{}}
	for _, family := range d.Families() {
		c := Column{Column: family}
		_, c.Known = layouts.rulesFor(family, nil)
		kinds := map[[2]string]*Kinds{}
		for row, err := range d.each(ctx, family, progress) {
			if err != nil {
				return nil, err
			}
			name, layout := Kind(family, row.Key, row.Value)
			k := kinds[[2]string{name, layout}]
			if k == nil {
				k = &Kinds{Type: name, Layout: layout}
				kinds[[2]string{name, layout}] = k
			}
			k.Add(row.Key, row.Value)
			c.Add(row.Key, row.Value)
			if layout == "" && len(v.Unexplained) < mostExamples {
				v.Unexplained = append(v.Unexplained, Explain(family, row.Key, row.Value))
			}
		}
		for _, k := range kinds {
			c.Kinds = append(c.Kinds, *k)
			if k.Layout != "" {
				v.Explained += k.Rows
			}
		}
		slices.SortFunc(c.Kinds, func(a, b Kinds) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(b.Layout, a.Layout)) })
		v.Rows += c.Rows
		v.Columns = append(v.Columns, c)
	}
	return v, nil
}
