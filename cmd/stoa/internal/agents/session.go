package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/rpc"
)

func newSession(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("session", "Sign users in for a day, and out",
		"  stoa session create ann --role admin --tenant acme\n  stoa session revoke-all ann --tenant acme",
		newSessionCreate(p), newSessionShow(p), newSessionList(p), newSessionTouch(p), newSessionRevoke(p), newSessionRevokeAll(p), newSessionLookup(p))
	cmd.Long = `Sign users in for a day, and out. The id of a session is a secret: who has it is the user. It is
printed once, when the session is made; from then on a session shows under its handle, @ and 32 hex
digits, which opens nothing. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

// text is a field of a session, for people; "" if there is none.
func text(d *rpc.Doc, field string) string {
	s, _ := document.Text(document.Field(d.JSON, document.Path{field}))
	return s
}

// sessionNamed is the id or the handle that an argument is, or that stdin has for "-".
func (c *call) sessionNamed(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	id, err := c.Argument("SESSION", arg)
	return strings.TrimSpace(string(id)), err
}

// namesSession says in a help how a session is named.
const namesSession = ` SESSION is its id or its handle; - reads it from stdin, so that an id
stands in no list of processes.`

// signingIn are the flags of a new session.
type signingIn struct {
	id, name, ip, agent string
	roles, permissions  []string
	ttl                 time.Duration
	sliding             bool
}

func (f *signingIn) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.id, "id", "", "an id of its own, which is as hard to guess as you saw to (default: made at random)")
	fs.StringVar(&f.name, "name", "", "the name of the user, for people")
	fs.StringSliceVar(&f.roles, "role", nil, "a role; may be repeated")
	fs.StringSliceVar(&f.permissions, "permission", nil, "a permission; may be repeated")
	fs.StringVar(&f.ip, "ip", "", "the address of the client")
	fs.StringVar(&f.agent, "agent", "", "the program of the client")
	fs.DurationVar(&f.ttl, "ttl", 24*time.Hour, "how long it is there: whole seconds, at most 24h")
	fs.BoolVar(&f.sliding, "sliding", false, "so long from each touch on, not from now on")
}

// document is the session of a user as it is asked for.
func (f *signingIn) document(user string) (map[string]any, error) {
	if f.ttl%time.Second != 0 {
		return nil, cli.Bad(fmt.Errorf("--ttl %s: a session is there for whole seconds", f.ttl), "")
	}
	doc := map[string]any{"user_id": user, "ttl_seconds": int64(f.ttl / time.Second), "sliding": f.sliding}
	for field, value := range map[string]string{"session_id": f.id, "user_name": f.name, "ip_address": f.ip, "user_agent": f.agent} {
		if value != "" {
			doc[field] = value
		}
	}
	for field, list := range map[string][]string{"roles": f.roles, "permissions": f.permissions} {
		if len(list) > 0 {
			doc[field] = list
		}
	}
	return doc, nil
}

func newSessionCreate(p *cli.Process) *cobra.Command {
	var flags signingIn
	var level cli.Durability
	return ofTenant(p, "session", command{
		Name: "create", Short: "Sign a user in, and print the id of the session", Args: []string{"USER"},
		Example: "ann --tenant acme\nann --name Ann --role admin --role auditor --ip 192.0.2.7 --ttl 8h --sliding --tenant acme",
		Flags:   func(fs *pflag.FlagSet) { flags.register(fs); level.Register(fs) },
		Run: func(c *call) error {
			doc, err := flags.document(c.Args[0])
			if err != nil {
				return err
			}
			d, err := c.sessions.Create(c.Ctx, doc, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(d.JSON, func(w io.Writer) {
				fmt.Fprintln(w, text(&d, "session_id"))
				c.Guide("it is shown this once; the session is "+d.ID+", until "+text(&d, "expires_at"), "stoa session revoke "+d.ID+c.Again)
			})
		},
	})
}

// withoutID is the document of a session as it is printed: who has its id knows it.
func withoutID(d *rpc.Doc) json.RawMessage {
	return document.Merge(d.JSON, json.RawMessage(`{"session_id":null}`))
}

func newSessionShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "session", command{
		Name: "show", Offline: true, Short: "Print a session, but for its id", Args: []string{"SESSION"},
		Long:    `Print a session, but for its id.` + namesSession,
		Example: "s-1 --tenant acme",
		Run: func(c *call) error {
			ref, err := c.sessionNamed(c.Args[0])
			if err != nil {
				return err
			}
			d, err := c.sessions.Get(c.Ctx, ref)
			if err != nil {
				return err
			}
			return c.Emit(withoutID(&d), func(w io.Writer) { fmt.Fprintf(w, "%s\n", withoutID(&d)) })
		},
	})
}

func newSessionList(p *cli.Process) *cobra.Command {
	var q record.Query
	return ofTenant(p, "session", command{
		Name: "list", Offline: true, Short: "List the sessions of a user, or of all, by their handles", Args: []string{"[USER]"},
		Example: "ann --tenant acme\n--newest --limit 10 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&q.Limit, "limit", 100, "at most so many; 0: all")
			fs.BoolVar(&q.Reverse, "newest", false, "the newest first")
		},
		Run: func(c *call) error {
			user := ""
			if len(c.Args) > 0 {
				user = c.Args[0]
			}
			list, t := []json.RawMessage{}, cli.Table{}
			for d, err := range c.sessions.All(c.Ctx, user, q) {
				if err != nil {
					return err
				}
				list = append(list, d.JSON)
				t.Add(d.ID, text(&d, "user_id"), "until "+text(&d, "expires_at"), "active "+text(&d, "last_active"), text(&d, "ip_address"), cli.Shorten(text(&d, "user_agent"), cli.LineText))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newSessionTouch(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "session", command{
		Name: "touch", Short: "Note that the holder of a session is active", Args: []string{"SESSION"},
		Long: `Note that the holder of a session is active, which keeps one that is sliding. SESSION is its id, and not
its handle; - reads it from stdin, so that it stands in no list of processes.`,
		Example: "s-1 --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			id, err := c.sessionNamed(c.Args[0])
			if err != nil {
				return err
			}
			d, err := c.sessions.Touch(c.Ctx, id, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(withoutID(&d), func(w io.Writer) { fmt.Fprintf(w, "%s is there until %s\n", d.ID, text(&d, "expires_at")) })
		},
	})
}

func newSessionRevoke(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "session", command{
		Name: "revoke", Short: "End a session", Args: []string{"SESSION"},
		Long:    `End a session.` + namesSession,
		Example: "s-2 --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			ref, err := c.sessionNamed(c.Args[0])
			if err != nil {
				return err
			}
			was, err := c.sessions.Revoke(c.Ctx, ref, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{"was": was}, func(w io.Writer) {
				if was {
					fmt.Fprintln(w, "the session has ended")
					return
				}
				fmt.Fprintln(w, "there was no such session")
			})
		},
	})
}

func newSessionRevokeAll(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "session", command{
		Name: "revoke-all", Short: "End all sessions of a user at once", Args: []string{"USER"},
		Example: "eve --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			n, err := c.sessions.RevokeAll(c.Ctx, c.Args[0], rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"revoked": n}, func(w io.Writer) { fmt.Fprintf(w, "%s ended\n", cli.Count(n, "session")) })
		},
	})
}

func newSessionLookup(p *cli.Process) *cobra.Command {
	var secrets cli.Reveal
	return ofTenant(p, "session", command{
		Name: "lookup", Offline: true, Short: "Print what a literal key stands for", Args: []string{"KEY"},
		Long: `Print what a literal key stands for: ade:session:ID the fields of a session, ade:session:index:user:USER
the sessions of a user, by their handles, or by their ids with --reveal-secrets.`,
		Example: "ade:session:s-1 --tenant acme\nade:session:index:user:ann --tenant acme",
		Flags:   secrets.Register,
		Run: func(c *call) error {
			if err := secrets.Check(c.Process); err != nil {
				return err
			}
			value, err := c.sessions.Lookup(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			if !secrets.Asked {
				value = session.Shown(c.Args[0], value)
			}
			return c.Emit(value, func(w io.Writer) { fmt.Fprintf(w, "%s\n", value) })
		},
	})
}
