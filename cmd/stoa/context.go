package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
)

func newContext(p *process) *cobra.Command {
	cmd := parent("context", "Make, describe and delete contexts, and read their states",
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
		ID: c.ID.String(), Root: c.Root.String(), Heads: texts(c.Heads), Applied: c.Applied,
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
	typ, err := valueType("ApplicationMeta")
	if err == nil {
		d.Application, err = typ.JSON(b, true)
	}
	return d, err
}

// texts returns ids in hex; none is an empty list.
func texts[T fmt.Stringer](ids []T) []string {
	list := make([]string, len(ids))
	for i := range ids {
		list[i] = ids[i].String()
	}
	return list
}

func (d contextDoc) write(w io.Writer) {
	var t table
	t.add("context", d.ID)
	t.add("root", d.Root)
	for _, h := range d.Heads {
		t.add("head", h)
	}
	t.add("applied", count(d.Applied, "delta"))
	t.add("pending", fmt.Sprintf("%s, %s", count(d.Pending, "delta"), sizeText(uint64(d.PendingBytes))))
	t.add("refused", count(d.Refused, "delta"))
	if d.Base != "" {
		t.add("seeded with", d.Base)
	}
	if d.Reseed {
		t.add("reseed", "deltas have come that may belong beside that: seed it again")
	}
	if d.Adopting {
		t.add("adopting", "a snapshot is taking its place")
	}
	if !d.app.ApplicationID.IsZero() {
		t.add("application", strings.TrimSpace(fmt.Sprintf("%s  %s %s", d.app.ApplicationID, d.app.Package, d.app.Version)))
	}
	t.write(w, "")
}

func newContextCreate(p *process) *cobra.Command {
	var app applicationFlag
	return daemonCommand{
		name: "create", about: aboutNewContext, short: "Make an empty context",
		long: `Make an empty context, and print its id. Without an id it makes a new key, which the
daemon keeps, and whose public half is the id: with it the daemon says which group has
the context, and nobody else can. It exits 5 if there is a context of that id.`,
		flags: app.register,
		run: func(c *daemonCall) error {
			a, err := app.value(p)
			if err != nil {
				return err
			}
			if c.fresh {
				c.context, err = c.dag.NewContext(c.ctx, a)
			} else {
				err = c.dag.CreateContext(c.ctx, c.context, a)
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
	}.command(p, "context")
}

func newContextDelete(p *process) *cobra.Command {
	var sure confirmation
	return daemonCommand{
		about: aboutContext,
		name:  "delete", short: "Delete a context from this node, with its states and its deltas",
		long: `Delete a context from this node, with its states and its deltas. The node's keypair
in it stays. It exits 4 if there is no such context.`,
		example: "\n--yes",
		flags:   sure.register,
		run: func(c *daemonCall) error {
			info, err := c.dag.Context(c.ctx, c.context)
			if err != nil {
				return err
			}
			had := count(info.Applied, "delta")
			if info.Pending > 0 {
				had += fmt.Sprintf(" and %d that wait", info.Pending)
			}
			err = sure.confirm(c.ctx, c.process, func() (string, error) {
				return fmt.Sprintf("delete the context %s from this node, with its states and %s", c.context, had), nil
			})
			if err != nil {
				return err
			}
			if err := c.dag.DeleteContext(c.ctx, c.context); err != nil {
				return err
			}
			done := struct {
				ID      string `json:"context_id"`
				Deleted bool   `json:"deleted"`
				Applied uint64 `json:"applied"` // deltas that went
				Pending int    `json:"pending"` // deltas that waited, and went
			}{c.context.String(), true, info.Applied, info.Pending}
			return c.emit(done, func(w io.Writer) { fmt.Fprintf(w, "deleted %s, %s\n", c.context, had) })
		},
	}.command(p, "context")
}

// done says what was done to the context.
func (c *daemonCall) done(what string) error {
	return c.emit(map[string]any{"context_id": c.context.String(), what: true}, func(w io.Writer) { fmt.Fprintf(w, "%s %s\n", what, c.context) })
}

func newContextShow(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "show", offline: true, short: "Describe a context", long: "Describe a context: its root, its heads, what waits. It exits 4 if there is none.",
		run: func(c *daemonCall) error {
			info, err := c.dag.Context(c.ctx, c.context)
			if err != nil {
				return err
			}
			d, err := newContextDoc(&info)
			if err != nil {
				return err
			}
			if err := c.emit(d, d.write); err != nil {
				return err
			}
			if info.Applied == 0 && info.Pending == 0 {
				c.guide("nothing was written to it that is here: what another node has comes by stoa dag since, and stoa dag add")
			}
			return nil
		},
	}.command(p, "context")
}

func newContextList(p *process) *cobra.Command {
	return daemonCommand{
		name: "list", offline: true, short: "List all contexts in the order of their ids", example: "\n--json",
		run: func(c *daemonCall) error {
			return list(c, "context", c.dag.Contexts(c.ctx), func(i dag.ContextInfo) (any, error) { return newContextDoc(&i) }, func(w io.Writer, i dag.ContextInfo) {
				fmt.Fprintf(w, "%s  %s, root %s\n", i.ID, count(i.Applied, "delta"), i.Root)
			})
		},
	}.command(p, "context")
}

func newContextApplication(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "application", args: []string{"JSON"}, short: "Replace the application that a context runs",
		long:    "Replace the application that a context runs. JSON has the fields of ApplicationMeta\n(`stoa schema ApplicationMeta`); - reads it from stdin, @FILE from a file.",
		example: exampleApplication,
		run: func(c *daemonCall) error {
			app := applicationFlag{optional{c.args[0], true}}
			a, err := app.value(p)
			if err != nil {
				return err
			}
			if err := c.dag.SetApplication(c.ctx, c.context, a); err != nil {
				return err
			}
			return c.done("changed")
		},
	}.command(p, "context")
}

// applicationFlag is an application as JSON. One that is not set is none.
type applicationFlag struct{ json optional }

func (f *applicationFlag) register(fs *pflag.FlagSet) {
	fs.Var(&f.json, "application", "what it runs, as JSON with the fields of ApplicationMeta (- reads stdin, @FILE a file)")
}

func (f *applicationFlag) value(p *process) (a codec.ApplicationMeta, err error) {
	if !f.json.set {
		return a, nil
	}
	text, err := p.argument("the application", f.json.text)
	if err != nil {
		return a, err
	}
	typ, err := valueType("ApplicationMeta")
	if err != nil {
		return a, err
	}
	b, err := typ.FromJSON(text)
	if err != nil {
		return a, bad(err, "`stoa schema ApplicationMeta` lists its fields")
	}
	return a.Decode(b)
}

func newContextConfig(p *process) *cobra.Command {
	var application, members bool
	return daemonCommand{
		about: aboutContext,
		name:  "config", offline: true, short: "Show or raise the revision counters of a context",
		long: "Show the revision counters of a context, or raise them by one.", example: "\n--bump-members",
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&application, "bump-application", false, "raise the revision of its application by one")
			fs.BoolVar(&members, "bump-members", false, "raise the revision of its members by one")
		},
		run: func(c *daemonCall) (err error) {
			var v codec.ContextConfigValue
			if application || members {
				v, err = c.dag.BumpConfig(c.ctx, c.context, application, members)
			} else {
				v, err = c.dag.Config(c.ctx, c.context)
			}
			if err != nil {
				return err
			}
			d := struct {
				ID          string `json:"context_id"`
				Application uint64 `json:"application_revision,string"`
				Members     uint64 `json:"members_revision,string"`
			}{c.context.String(), v.ApplicationRevision, v.MembersRevision}
			return c.emit(d, func(w io.Writer) {
				var t table
				t.add("application revision", strconv.FormatUint(d.Application, 10))
				t.add("members revision", strconv.FormatUint(d.Members, 10))
				t.write(w, "")
			})
		},
	}.command(p, "context")
}
