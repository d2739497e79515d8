package policies

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

func newRecord(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("record", "Read, change and watch the records of collections",
		"  stoa record schema\n  stoa record create intent '{\"actor\":\"user:ann\",\"goal\":\"a quiet week\"}' --tenant acme\n  stoa record list intent --tenant acme --by by_actor=user:ann",
		newCreate(p), newGet(p), newUpdate(p), newTransition(p), newDelete(p), newList(p), newLookup(p), newWatch(p), newHistory(p), newSchema(p),
		newExport(p), newImport(p))
	cmd.Long = `Read, change and watch the records of collections: JSON documents with ids, a schema, states
and indexes. ` + "`stoa record schema`" + ` lists the collections. --tenant, else $STOA_TENANT, says whose;
a user whom the daemon binds to a tenant needs neither.`
	return cmd
}

// recordDoc is a record, as JSON.
type recordDoc struct {
	ID        string          `json:"id"`
	Revision  uint64          `json:"revision,string"`
	Document  json.RawMessage `json:"document,omitempty"`
	Removed   bool            `json:"removed,omitempty"` // by this revision
	WrittenAt string          `json:"written_at,omitempty"`
	ExpiresAt string          `json:"expires_at,omitempty"`
}

func newRecordDoc(d *rpc.Doc) recordDoc {
	return recordDoc{ID: d.ID, Revision: d.Revision, Document: d.JSON, Removed: d.JSON == nil, WrittenAt: cli.Instant(d.Written), ExpiresAt: cli.Instant(d.Expires)}
}

// writeLine writes a record on a line.
func writeLine(w io.Writer, d rpc.Doc) {
	text := cli.Shorten(string(d.JSON), cli.LineText)
	if d.JSON == nil {
		text = "removed"
	}
	fmt.Fprintf(w, "%s  %d  %s\n", d.ID, d.Revision, text)
}

// emitDone says what was done to a record.
func (c *call) emitDone(d rpc.Doc, done string) error {
	return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "%s %s at revision %d\n", done, d.ID, d.Revision) })
}

// changeFlags are those of commands that change a record.
type changeFlags struct {
	revision   uint64
	durability cli.Durability
	guards     cli.Guards
}

func (f *changeFlags) register(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.revision, "revision", 0, "the revision that is expected (default: any)")
	f.durability.Register(fs)
	f.guards.Register(fs)
}

func (f *changeFlags) options() []rpc.RecordOption {
	return append(f.guards.OfRecords(), rpc.AtRevision(f.revision), rpc.RecordDurability(rpc.Durability(f.durability)))
}

func newCreate(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var guards cli.Guards
	return ofTenant(p, "record", command{
		Name: "create", Short: "Make a record", Args: []string{"COLLECTION", "DOCUMENT"},
		Long: `Make a record of a JSON object; - reads it from stdin, @FILE from a file. What it has not, and
the collection declares, is set: id, times, state, defaults.`,
		Example: `intent '{"actor":"user:ann","goal":"a quiet week"}' --tenant acme`,
		Flags: func(fs *pflag.FlagSet) {
			level.Register(fs)
			guards.Register(fs)
		},
		Run: func(c *call) error {
			doc, err := c.JSONArgument("DOCUMENT", c.Args[1])
			if err != nil {
				return err
			}
			d, err := c.records.Create(c.Ctx, c.Args[0], doc, append(guards.OfRecords(), rpc.RecordDurability(rpc.Durability(level)))...)
			if err != nil {
				return err
			}
			return c.emitDone(d, "created")
		},
	})
}

func newGet(p *cli.Process) *cobra.Command {
	return ofTenant(p, "record", command{
		Name: "get", Offline: true, Short: "Print a record", Args: []string{"COLLECTION", "ID"},
		Long:    `Print the document of a record as JSON in canonical form; with --json what else is known of it.`,
		Example: "settings tenant --tenant acme",
		Run: func(c *call) error {
			d, err := c.records.Get(c.Ctx, c.Args[0], c.Args[1])
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "%s\n", d.JSON) })
		},
	})
}

func newUpdate(p *cli.Process) *cobra.Command {
	var f changeFlags
	return ofTenant(p, "record", command{
		Name: "update", Short: "Change a record by a merge patch", Args: []string{"COLLECTION", "ID", "PATCH"},
		Long: `Change a record by a merge patch (RFC 7386): fields of a JSON object take the place of those
that are there, and null removes one; - reads it from stdin, @FILE from a file. One that
changes nothing takes no revision. If the record has another revision than --revision, the
exit code is 5.`,
		Example: `settings tenant '{"default_deny":true}' --tenant acme`,
		Flags:   f.register,
		Run: func(c *call) error {
			patch, err := c.JSONArgument("PATCH", c.Args[2])
			if err != nil {
				return err
			}
			d, err := c.records.Update(c.Ctx, c.Args[0], c.Args[1], patch, f.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(d, "updated")
		},
	})
}

func newTransition(p *cli.Process) *cobra.Command {
	var f changeFlags
	return ofTenant(p, "record", command{
		Name: "transition", Short: "Move a record to a state", Args: []string{"COLLECTION", "ID", "STATE", "[PATCH]"},
		Long: `Move a record to a state, which has to follow the one that it has, with a merge patch of
other fields; ` + "`stoa record schema COLLECTION`" + ` has the states.`,
		Example: "intent int-20251130-abc123 in_planning --tenant acme\n" + `intent int-20251130-abc123 cancelled '{"context":{"why":"rain"}}' --tenant acme`,
		Flags:   f.register,
		Run: func(c *call) error {
			var patch any
			if len(c.Args) > 3 {
				given, err := c.JSONArgument("PATCH", c.Args[3])
				if err != nil {
					return err
				}
				patch = given
			}
			d, err := c.records.Transition(c.Ctx, c.Args[0], c.Args[1], c.Args[2], patch, f.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(d, "moved")
		},
	})
}

func newDelete(p *cli.Process) *cobra.Command {
	var f changeFlags
	return ofTenant(p, "record", command{
		Name: "delete", Short: "Remove a record", Args: []string{"COLLECTION", "ID"},
		Example: "intent int-20251130-abc123 --tenant acme",
		Flags:   f.register,
		Run: func(c *call) error {
			d, err := c.records.Delete(c.Ctx, c.Args[0], c.Args[1], f.options()...)
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "deleted %s, which had revision %d\n", d.ID, d.Revision) })
		},
	})
}
