package records

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// schemaDoc is what schema prints with --json.
type schemaDoc struct {
	Columns []columnDoc `json:"columns"`
	Keys    []keyDoc    `json:"keys"`
	Values  []valueDoc  `json:"values"`
	Scopes  []scopeDoc  `json:"scopes"`
}

type columnDoc struct {
	Number    int    `json:"number"`
	Name      string `json:"name"`
	Holds     string `json:"holds"`
	Key       string `json:"key"`
	Codec     string `json:"codec"` // borsh, raw, or per scope
	NodeLocal bool   `json:"node_local"`
}

type keyDoc struct {
	Column string     `json:"column"`
	Type   string     `json:"type"`
	Prefix string     `json:"prefix,omitempty"` // of the Group column, in hex
	Bytes  int        `json:"bytes"`            // the fewest where more may follow
	More   int        `json:"more,omitempty"`   // the most bytes that may follow
	Fields []fieldDoc `json:"fields"`
	Value  string     `json:"value"`
	Secret bool       `json:"secret"`
}

type valueDoc struct {
	Type   string     `json:"type"`
	Fields []fieldDoc `json:"fields"`
	Secret bool       `json:"secret"`
}

type fieldDoc struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type scopeDoc struct {
	Name     string `json:"name"`
	Holds    string `json:"holds"`
	Fragment string `json:"fragment"`
	Value    string `json:"value"`
}

func newSchema(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "List the columns, key types and value types with their fields",
		Long:  "List what the store holds: all of it, or one column, key type or value type by name.",
		Example: `  stoa schema
  stoa schema GroupMember
  stoa schema --json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteFirst(func() []string {
			return append(append(cli.ColumnNames(), keyTypeNames()...), cli.ValueTypeNames()...)
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			d := fullSchema()
			if len(args) == 1 {
				if d = d.named(args[0]); d.empty() {
					all := append(append(cli.ColumnNames(), keyTypeNames()...), cli.ValueTypeNames()...)
					return cli.Bad(fmt.Errorf("no column, key type or value type %q%s", args[0], cli.DidYouMean(args[0], all)),
						"`stoa schema` lists them")
				}
			}
			return p.Emit(d, d.write)
		},
	}
}

func fullSchema() (d schemaDoc) {
	for c := range column.All {
		s := c.Spec()
		codecName := "borsh"
		switch {
		case s.Raw:
			codecName = "raw"
		case c == column.Generic:
			codecName = "per scope"
		}
		d.Columns = append(d.Columns, columnDoc{int(c), s.Name, s.Holds, s.Key, codecName, s.NodeLocal})
	}
	for i := range keys.Schema() {
		d.Keys = append(d.Keys, describeKey(i))
	}
	for t := range codec.Types() {
		v := valueDoc{Type: t.Name, Fields: []fieldDoc{}, Secret: t.Secret}
		for _, f := range t.Fields {
			v.Fields = append(v.Fields, fieldDoc{f.Name, f.Kind})
		}
		d.Values = append(d.Values, v)
	}
	for s := range keys.Scopes() {
		d.Scopes = append(d.Scopes, scopeDoc{s.Name, s.Holds, s.Fragment, s.Value})
	}
	return d
}

func describeKey(i keys.Info) keyDoc {
	k := keyDoc{
		Column: i.Column.String(), Type: i.Name, Bytes: i.Size, More: i.MaxVar,
		Fields: []fieldDoc{}, Value: i.Value.Name, Secret: i.Secret,
	}
	if i.Tag != 0 {
		k.Prefix = fmt.Sprintf("%02x", i.Tag)
	}
	for _, f := range i.Fields {
		k.Fields = append(k.Fields, fieldDoc{f.Name, f.Kind})
	}
	return k
}

// named returns the part of d that has a name: a column with its key types, a
// key type with its value type, a value type.
func (d schemaDoc) named(name string) schemaDoc {
	part := schemaDoc{Columns: []columnDoc{}, Keys: []keyDoc{}, Values: []valueDoc{}, Scopes: []scopeDoc{}}
	for _, c := range d.Columns {
		if strings.EqualFold(c.Name, name) {
			part.Columns = append(part.Columns, c)
		}
	}
	values := map[string]bool{}
	for _, k := range d.Keys {
		if k.Type == name || strings.EqualFold(k.Column, name) {
			part.Keys = append(part.Keys, k)
			values[k.Value] = true
		}
	}
	for _, v := range d.Values {
		if v.Type == name || values[v.Type] {
			part.Values = append(part.Values, v)
		}
	}
	if strings.EqualFold(name, column.Generic.String()) {
		part.Scopes = d.Scopes
	}
	return part
}

func (d schemaDoc) empty() bool { return len(d.Columns)+len(d.Keys)+len(d.Values) == 0 }

func (d schemaDoc) write(w io.Writer) {
	section(w, "Columns", len(d.Columns), func(t *cli.Table) {
		t.Add("#", "NAME", "HOLDS", "KEY", "VALUES")
		for _, c := range d.Columns {
			t.Add(fmt.Sprint(c.Number), c.Name, c.Holds, c.Key, c.Codec)
		}
	})
	section(w, "Key types", len(d.Keys), func(t *cli.Table) {
		t.Add("COLUMN", "PREFIX", "TYPE", "BYTES", "FIELDS", "VALUE")
		for _, k := range d.Keys {
			size, value := fmt.Sprint(k.Bytes), k.Value
			if k.More > 0 {
				size += "+"
			}
			if k.Secret {
				value += " (secret)"
			}
			t.Add(k.Column, k.Prefix, k.Type, size, fieldList(k.Fields), value)
		}
	})
	section(w, "Value types", len(d.Values), func(t *cli.Table) {
		t.Add("TYPE", "FIELDS")
		for _, v := range d.Values {
			t.Add(v.Type, fieldList(v.Fields))
		}
	})
	section(w, "Scopes of Generic", len(d.Scopes), func(t *cli.Table) {
		t.Add("SCOPE", "HOLDS", "FRAGMENT", "VALUE")
		for _, s := range d.Scopes {
			t.Add(s.Name, s.Holds, s.Fragment, s.Value)
		}
	})
}

// section writes a table under its title, unless it has no rows.
func section(w io.Writer, title string, rows int, fill func(*cli.Table)) {
	if rows == 0 {
		return
	}
	var t cli.Table
	fill(&t)
	fmt.Fprintf(w, "%s\n", title)
	t.Write(w, "  ")
	fmt.Fprintln(w)
}

func fieldList(fields []fieldDoc) string {
	if len(fields) == 0 {
		return "none"
	}
	var parts []string
	for _, f := range fields {
		parts = append(parts, f.Name+" "+f.Kind)
	}
	return strings.Join(parts, "; ")
}
