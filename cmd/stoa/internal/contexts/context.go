package contexts

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
)

func newContext(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("context", "Make, describe and delete contexts, and read their states",
		"  stoa context create\n  stoa context show room\n  stoa context state scan room",
		newContextCreate(p), newContextDelete(p), newContextList(p), newContextShow(p), newContextPlace(p), newContextApplication(p),
		newContextConfig(p), newContextState(p), newContextPrivate(p))
	cmd.Long = `Make, describe and delete contexts, and read their states. The shared state of a
context is changed by its deltas (` + "`stoa dag commit`" + `), its private state by this node
alone.`
	return cmd
}

// contextDoc is a context as JSON.
type contextDoc struct {
	ID           string   `json:"context_id"`
	Root         string   `json:"root_hash"`
	Heads        []string `json:"heads"`
	Applied      uint64   `json:"applied"`
	Pending      int      `json:"pending"`
	PendingBytes int64    `json:"pending_bytes"`
	Refused      int      `json:"refused"`
	Base         string   `json:"base,omitempty"` // of a context that was seeded
	Reseed       bool     `json:"reseed,omitempty"`
	Adopting     bool     `json:"adopting,omitempty"`

	app         *codec.ApplicationMeta
	Application json.RawMessage `json:"application"`
}

func newContextDoc(c *dag.ContextInfo) (d contextDoc, err error) {
	d = contextDoc{
		ID: c.ID.String(), Root: c.Root.String(), Heads: cli.Texts(c.Heads), Applied: c.Applied,
		Pending: c.Pending, PendingBytes: c.PendingBytes, Refused: c.Refused, Reseed: c.Reseed, Adopting: c.Adopting,
		app: &c.Application,
	}
	if !c.Base.IsZero() {
		d.Base = c.Base.String()
	}
	b, err := c.Application.AppendBinary(nil)
	if err != nil {
		return d, err
	}
	typ, err := cli.ValueType("ApplicationMeta")
	if err == nil {
		d.Application, err = typ.JSON(b, true)
	}
	return d, err
}

func (d contextDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("context", d.ID)
	t.Add("root", d.Root)
	for _, h := range d.Heads {
		t.Add("head", h)
	}
	t.Add("applied", cli.Count(d.Applied, "delta"))
	t.Add("pending", fmt.Sprintf("%s, %s", cli.Count(d.Pending, "delta"), cli.SizeText(uint64(d.PendingBytes))))
	t.Add("refused", cli.Count(d.Refused, "delta"))
	if d.Base != "" {
		t.Add("seeded with", d.Base)
	}
	if d.Reseed {
		t.Add("reseed", "deltas have come that may belong beside that: seed it again")
	}
	if d.Adopting {
		t.Add("adopting", "a snapshot is taking its place")
	}
	if !d.app.ApplicationID.IsZero() {
		t.Add("application", strings.TrimSpace(fmt.Sprintf("%s  %s %s", d.app.ApplicationID, d.app.Package, d.app.Version)))
	}
	t.Write(w, "")
}

func newContextCreate(p *cli.Process) *cobra.Command {
	var app applicationFlag
	return ofContexts(p, "context", command{
		Name: "create", Args: []string{"[CONTEXT]"}, Short: "Make an empty context",
		Long: `Make an empty context, and print its id. Without an id it makes a new key, which the
daemon keeps, and whose public half is the id: with it the daemon says which group has
the context, and nobody else can. It exits 5 if there is a context of that id.`,
		Flags: app.register,
		Run: func(c *call) (err error) {
			if len(c.Args) > 0 {
				if c.context, err = cli.ParseID[codec.ContextID]("CONTEXT", c.Args[0]); err != nil {
					return cli.Bad(err, "without an id the daemon makes one; a name is given afterwards: `stoa group register` and `stoa group alias --context`")
				}
			}
			a, err := app.value(p)
			if err != nil {
				return err
			}
			if len(c.Args) == 0 {
				c.context, err = c.dag.NewContext(c.Ctx, a)
			} else {
				err = c.dag.CreateContext(c.Ctx, c.context, a)
			}
			if err != nil {
				return err
			}
			if err := c.done("created"); err != nil {
				return err
			}
			c.guideContext()
			return nil
		},
	})
}

func newContextDelete(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	return onContext(p, "context", command{
		Name: "delete", Short: "Delete a context from this node, with its states and its deltas",
		Long: `Delete a context from this node, with its states and its deltas. The node's keypair
in it stays. It exits 4 if there is no such context.`,
		Example: "\n--yes",
		Flags:   sure.Register,
		Run: func(c *call) error {
			info, err := c.dag.Context(c.Ctx, c.context)
			if err != nil {
				return err
			}
			had := cli.Count(info.Applied, "delta")
			if info.Pending > 0 {
				had += fmt.Sprintf(" and %d that wait", info.Pending)
			}
			err = sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				return fmt.Sprintf("delete the context %s from this node, with its states and %s", c.context, had), nil
			})
			if err != nil {
				return err
			}
			if err := c.dag.DeleteContext(c.Ctx, c.context); err != nil {
				return err
			}
			done := struct {
				ID      string `json:"context_id"`
				Deleted bool   `json:"deleted"`
				Applied uint64 `json:"applied"` // deltas that went
				Pending int    `json:"pending"` // deltas that waited, and went
			}{c.context.String(), true, info.Applied, info.Pending}
			return c.Emit(done, func(w io.Writer) { fmt.Fprintf(w, "deleted %s, %s\n", c.context, had) })
		},
	})
}

// done says what was done to the context.
func (c *call) done(what string) error {
	return c.Emit(map[string]any{"context_id": c.context.String(), what: true}, func(w io.Writer) { fmt.Fprintf(w, "%s %s\n", what, c.context) })
}

func newContextShow(p *cli.Process) *cobra.Command {
	return onContext(p, "context", command{
		Name: "show", Offline: true, Short: "Describe a context", Long: "Describe a context: its root, its heads, what waits. It exits 4 if there is none.",
		Run: func(c *call) error {
			info, err := c.dag.Context(c.Ctx, c.context)
			if err != nil {
				return err
			}
			d, err := newContextDoc(&info)
			if err != nil {
				return err
			}
			if err := c.Emit(d, d.write); err != nil {
				return err
			}
			if info.Applied == 0 && info.Pending == 0 {
				c.Guide("nothing was written to it that is here: what another node has comes by stoa sync")
			}
			return nil
		},
	})
}

func newContextList(p *cli.Process) *cobra.Command {
	return ofContexts(p, "context", command{
		Name: "list", Offline: true, Short: "List all contexts in the order of their ids", Example: "\n--json",
		Run: func(c *call) error {
			return cli.List(c.Process, "context", c.dag.Contexts(c.Ctx), func(i dag.ContextInfo) (any, error) { return newContextDoc(&i) }, func(w io.Writer, i dag.ContextInfo) {
				fmt.Fprintf(w, "%s  %s, root %s\n", i.ID, cli.Count(i.Applied, "delta"), i.Root)
			})
		},
	})
}

func newContextApplication(p *cli.Process) *cobra.Command {
	return onContext(p, "context", command{
		Name: "application", Args: []string{"JSON"}, Short: "Replace the application that a context runs",
		Long:    "Replace the application that a context runs. JSON has the fields of ApplicationMeta\n(`stoa schema ApplicationMeta`); - reads it from stdin, @FILE from a file.",
		Example: cli.ExampleApplication,
		Run: func(c *call) error {
			app := applicationFlag{cli.Optional{Text: c.Args[0], Given: true}}
			a, err := app.value(p)
			if err != nil {
				return err
			}
			if err := c.dag.SetApplication(c.Ctx, c.context, a); err != nil {
				return err
			}
			return c.done("changed")
		},
	})
}

// applicationFlag is an application as JSON. One that is not set is none.
type applicationFlag struct{ json cli.Optional }

func (f *applicationFlag) register(fs *pflag.FlagSet) {
	fs.Var(&f.json, "application", "what it runs, as JSON with the fields of ApplicationMeta (- reads stdin, @FILE a file)")
}

func (f *applicationFlag) value(p *cli.Process) (a codec.ApplicationMeta, err error) {
	if !f.json.Given {
		return a, nil
	}
	text, err := p.Argument("the application", f.json.Text)
	if err != nil {
		return a, err
	}
	typ, err := cli.ValueType("ApplicationMeta")
	if err != nil {
		return a, err
	}
	b, err := typ.FromJSON(text)
	if err != nil {
		return a, cli.Bad(err, "`stoa schema ApplicationMeta` lists its fields")
	}
	return a.Decode(b)
}

func newContextConfig(p *cli.Process) *cobra.Command {
	var application, members bool
	return onContext(p, "context", command{
		Name: "config", Offline: true, Short: "Show or raise the revision counters of a context",
		Long: "Show the revision counters of a context, or raise them by one.", Example: "\n--bump-members",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&application, "bump-application", false, "raise the revision of its application by one")
			fs.BoolVar(&members, "bump-members", false, "raise the revision of its members by one")
		},
		Run: func(c *call) (err error) {
			var v codec.ContextConfigValue
			if application || members {
				v, err = c.dag.BumpConfig(c.Ctx, c.context, application, members)
			} else {
				v, err = c.dag.Config(c.Ctx, c.context)
			}
			if err != nil {
				return err
			}
			d := struct {
				ID          string `json:"context_id"`
				Application uint64 `json:"application_revision,string"`
				Members     uint64 `json:"members_revision,string"`
			}{c.context.String(), v.ApplicationRevision, v.MembersRevision}
			return c.Emit(d, func(w io.Writer) {
				var t cli.Table
				t.Add("application revision", strconv.FormatUint(d.Application, 10))
				t.Add("members revision", strconv.FormatUint(d.Members, 10))
				t.Write(w, "")
			})
		},
	})
}

// guideContext says what a context that is new is for.
func (c *call) guideContext() {
	id := c.context.String()[:cli.ShortDigits]
	c.Guide("to change its state:        stoa dag commit "+id+" --put KEY=VALUE"+c.Again,
		"to share it with a group:   stoa group register GROUP "+id+c.Again)
}
