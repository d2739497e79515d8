package policies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// value returns the JSON that a value of a flag is: itself, or the text as a string.
func value(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text) // texts have JSON
	return b
}

// filter returns what INDEX, or INDEX=VALUE, finds records by.
func filter(by string) (f rpc.RecordFilter, err error) {
	index, text, given := strings.Cut(by, "=")
	if f.Index = index; index == "" {
		return f, cli.Bad(fmt.Errorf("--by: %q names no index", by), "as in: --by by_status=active")
	}
	if !given {
		return f, nil
	}
	v := value(text)
	if !bytes.HasPrefix(bytes.TrimSpace(v), []byte("[")) {
		f.Equal = []json.RawMessage{v}
		return f, nil
	}
	return f, json.Unmarshal(v, &f.Equal)
}

// listFlags are those of list.
type listFlags struct {
	by           []string
	from, to     cli.Optional
	all, reverse bool
	limit        int
	cursor       string
}

func (f *listFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.by, "by", nil, "INDEX or INDEX=VALUE: what records are found by, JSON or text; an array has values of several fields (repeatable)")
	fs.Var(&f.from, "from", "from this value on, of the field that follows those of the last --by")
	fs.Var(&f.to, "to", "up to this value, but without it")
	fs.BoolVar(&f.all, "all", false, "list those that are not in force too")
	fs.BoolVar(&f.reverse, "reverse", false, "the last one first")
	fs.IntVar(&f.limit, "limit", 0, "list a page of so many, at most 10000 (default: all)")
	fs.StringVar(&f.cursor, "cursor", "", "of the page before")
}

func (f *listFlags) query() (q rpc.RecordQuery, err error) {
	q = rpc.RecordQuery{All: f.all, Reverse: f.reverse, Cursor: f.cursor, Limit: f.limit}
	for _, by := range f.by {
		one, err := filter(by)
		if err != nil {
			return q, err
		}
		q.Filters = append(q.Filters, one)
	}
	if !f.from.Given && !f.to.Given {
		return q, nil
	}
	if len(q.Filters) == 0 {
		return q, cli.Bad(errors.New("--from and --to bound a field of an index"), "as in: --by by_due --from 2025-11-30T00:00:00Z")
	}
	last := &q.Filters[len(q.Filters)-1]
	if f.from.Given {
		last.From = value(f.from.Text)
	}
	if f.to.Given {
		last.To = value(f.to.Text)
	}
	return q, nil
}

func newList(p *cli.Process) *cobra.Command {
	var f listFlags
	return ofTenant(p, "record", command{
		Name: "list", Offline: true, Short: "List the records of a collection", Args: []string{"COLLECTION"},
		Long: `List the records of a collection that are in force, in order of their creation, or those
that every --by finds, in order of the first one's values. With --limit it is a page; the
cursor of the next one is printed after it.`,
		Example: "policy --tenant acme\nintent --tenant acme --by by_actor=user:ann --limit 20 --json",
		Flags:   f.register,
		Run:     f.run,
	})
}

func (f *listFlags) run(c *call) error {
	q, err := f.query()
	if err != nil {
		return err
	}
	if f.limit == 0 && f.cursor == "" {
		return c.emitDocs("record", c.records.All(c.Ctx, c.Args[0], q))
	}
	page, err := c.records.List(c.Ctx, c.Args[0], q)
	if err != nil {
		return err
	}
	d := struct {
		Records []recordDoc `json:"records"`
		Next    string      `json:"next,omitempty"`
	}{Records: []recordDoc{}, Next: page.Next}
	for n := range page.Docs {
		d.Records = append(d.Records, newRecordDoc(&page.Docs[n]))
	}
	return c.Emit(d, func(w io.Writer) {
		for _, doc := range page.Docs {
			writeLine(w, doc)
		}
		if d.Next != "" {
			fmt.Fprintf(w, "next: --cursor %s\n", d.Next)
		}
	})
}

// emitDocs prints records as they come.
func (c *call) emitDocs(noun string, docs iter.Seq2[rpc.Doc, error]) error {
	return cli.List(c.Process, noun, docs, func(d rpc.Doc) (any, error) { return newRecordDoc(&d), nil }, writeLine)
}

func newHistory(p *cli.Process) *cobra.Command {
	return ofTenant(p, "record", command{
		Name: "history", Offline: true, Short: "List what a record was at its revisions", Args: []string{"COLLECTION", "ID"},
		Long:    "List what a record was at its revisions that are kept, oldest first.",
		Example: "settings tenant --tenant acme",
		Run:     func(c *call) error { return c.emitDocs("revision", c.records.History(c.Ctx, c.Args[0], c.Args[1])) },
	})
}

func newLookup(p *cli.Process) *cobra.Command {
	return ofTenant(p, "record", command{
		Name: "lookup", Offline: true, Short: "Print what a literal key stands for", Args: []string{"KEY"},
		Long: `Print what a literal key stands for, as JSON: the document of a record, the ids of those that
an index has, or a number; ` + "`stoa record schema COLLECTION`" + ` has the patterns of keys.`,
		Example: "intent:active --tenant acme\nintent:by_actor:user:ann --tenant acme",
		Run: func(c *call) error {
			found, err := c.records.Lookup(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(found, func(w io.Writer) { fmt.Fprintf(w, "%s\n", found) })
		},
	})
}

func newSchema(p *cli.Process) *cobra.Command {
	return ofTenant(p, "record", command{
		Name: "schema", Offline: true, Short: "List the collections, or print what one is declared to be", Args: []string{"[COLLECTION]"},
		Example: "\nintent --json",
		Run: func(c *call) error {
			if c.arg(0) != "" {
				return c.emitDeclaration(c.arg(0))
			}
			sets, err := c.Client.Collections(c.Ctx)
			if err != nil {
				return err
			}
			return c.Emit(sets, func(w io.Writer) { writeSets(w, sets) })
		},
	})
}

// writeSets writes collections; those that are called after another, as its versions are,
// on its line.
func writeSets(w io.Writer, sets []rpc.Collection) {
	after := map[string][]string{}
	for _, set := range sets {
		after[set.Name] = nil
	}
	var first []rpc.Collection
	for _, set := range sets {
		of, _, dotted := strings.Cut(set.Name, ".")
		if _, there := after[of]; dotted && there {
			after[of] = append(after[of], set.Name)
		} else {
			first = append(first, set)
		}
	}
	t := cli.Table{}
	for _, set := range first {
		if list := after[set.Name]; len(list) > 0 {
			set.About += " Also: " + strings.Join(list, ", ") + "."
		}
		t.Add(set.Name, set.About)
	}
	t.Write(w, "")
}

func (c *call) emitDeclaration(collection string) error {
	text, err := c.Client.RecordSchema(c.Ctx, collection)
	if err != nil {
		return err
	}
	return c.Emit(text, func(w io.Writer) {
		var indented bytes.Buffer
		if json.Indent(&indented, text, "", "  ") == nil {
			fmt.Fprintf(w, "%s\n", indented.Bytes())
		}
	})
}
