package tasks

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// command describes a command of this package.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	tasks     *rpc.Tasks // of the tenant; so are the others
	approvals *rpc.Approvals
	records   *rpc.Records
	locks     *rpc.Locks
	settings  *rpc.Settings
	sessions  *rpc.Sessions
}

// ofTenant returns a command about what a tenant has, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{c, c.Client.Tasks(tenant), c.Client.Approvals(tenant), c.Client.Records(tenant), c.Client.Locks(tenant), c.Client.Settings(tenant), c.Client.Sessions(tenant)}
	})
}

// field is a text of a document; "" if there is none.
func field(d *rpc.Doc, path string) string {
	value := document.Field(d.JSON, document.ParsePath(path))
	if s, ok := document.Text(value); ok {
		return s
	}
	return string(value)
}

// recordDoc is a record, as JSON.
type recordDoc struct {
	ID       string          `json:"id"`
	Revision uint64          `json:"revision,string"`
	Document json.RawMessage `json:"document"`
}

func newRecordDoc(d *rpc.Doc) recordDoc { return recordDoc{d.ID, d.Revision, d.JSON} }

// emitDoc prints the document of a record; with --json what else is known of it.
func (c *call) emitDoc(d rpc.Doc) error {
	return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "%s\n", d.JSON) })
}

// emitState says in which state a record is.
func (c *call) emitState(d rpc.Doc, state string) error {
	return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "%s is %s\n", d.ID, field(&d, state)) })
}

// rows are lists of records that are shown as a table.
func (c *call) rows(docs []rpc.Doc, columns ...string) error {
	list := make([]recordDoc, 0, len(docs))
	t := cli.Table{}
	for i := range docs {
		list = append(list, newRecordDoc(&docs[i]))
		cells := []string{docs[i].ID}
		for _, path := range columns {
			cells = append(cells, cli.Shorten(field(&docs[i], path), cli.LineText))
		}
		t.Add(cells...)
	}
	return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
}

// changeFlags are those of commands that change a record.
type changeFlags struct {
	revision   uint64
	durability cli.Durability
}

func (f *changeFlags) register(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.revision, "revision", 0, "the revision that is expected (default: any)")
	f.durability.Register(fs)
}

func (f *changeFlags) options() record.UpdateOptions {
	return record.UpdateOptions{Revision: f.revision, Durability: rpc.Durability(f.durability)}
}
