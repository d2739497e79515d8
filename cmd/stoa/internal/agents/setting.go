package agents

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc"
)

func newSetting(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("setting", "Configure a tenant's locks, tasks and approvals, and switch features on and off",
		"  stoa setting list --tenant acme\n  stoa setting set feature:batch_approvals enabled --tenant acme",
		newSettingList(p), newSettingGet(p), newSettingSet(p), newSettingReset(p), newSettingWatch(p))
	cmd.Long = `Configure a tenant's locks, tasks and approvals, and switch features on and off. What is set takes
effect at once. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

// settingDoc is a setting, as JSON.
type settingDoc struct {
	Name     string          `json:"name"`
	Value    json.RawMessage `json:"value"`
	Set      bool            `json:"set"`
	Default  json.RawMessage `json:"default"`
	About    string          `json:"about"`
	Revision uint64          `json:"revision,string"`
}

func newSettingDoc(s *rpc.Setting) settingDoc {
	return settingDoc{s.Name, s.Value, s.Set, s.Default, s.About, s.Revision}
}

// plainly is a value as a person writes it: a word without its quotes.
func plainly(value json.RawMessage) string {
	var word string
	if json.Unmarshal(value, &word) == nil {
		return word
	}
	return string(value)
}

// emitSetting says what a setting is.
func (c *call) emitSetting(s rpc.Setting) error {
	return c.Emit(newSettingDoc(&s), func(w io.Writer) {
		if s.Set {
			fmt.Fprintf(w, "%s is %s\n", s.Name, plainly(s.Value))
			return
		}
		fmt.Fprintf(w, "%s is %s, the default\n", s.Name, plainly(s.Value))
	})
}

func newSettingList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "setting", command{
		Name: "list", Offline: true, Short: "List all settings with what they are", Example: "--tenant acme\n--json --tenant acme",
		Run: func(c *call) error {
			all, err := c.settings.List(c.Ctx)
			if err != nil {
				return err
			}
			list, t := make([]settingDoc, 0, len(all)), cli.Table{}
			for i := range all {
				s := &all[i]
				list = append(list, newSettingDoc(s))
				how := "default"
				if s.Set {
					how = "set"
				}
				t.Add(s.Name, plainly(s.Value), how, s.About)
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newSettingGet(p *cli.Process) *cobra.Command {
	return ofTenant(p, "setting", command{
		Name: "get", Offline: true, Short: "Print what a setting is", Args: []string{"NAME"},
		Example: "config:lock:default_ttl --tenant acme",
		Run: func(c *call) error {
			s, err := c.settings.Get(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.emitSetting(s)
		},
	})
}

func newSettingSet(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "setting", command{
		Name: "set", Short: "Set a setting", Args: []string{"NAME", "VALUE"},
		Long: `Set a setting to a JSON value: a number of seconds, a feature's word (enabled or disabled, without
quotes if you like), thresholds. - reads it from stdin, @FILE from a file. A user whom the daemon
binds to a tenant may only read settings.`,
		Example: "config:lock:default_ttl 45 --tenant acme\nfeature:batch_approvals enabled --tenant acme\n" +
			`config:risk:thresholds '{"medium":30,"high":60,"critical":90}' --tenant acme`,
		Flags: level.Register,
		Run: func(c *call) error {
			value, err := c.Argument("VALUE", c.Args[1])
			if err != nil {
				return err
			}
			if !json.Valid(value) { // a word
				if value, err = json.Marshal(string(value)); err != nil {
					return err
				}
			}
			s, err := c.settings.Set(c.Ctx, c.Args[0], value, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.emitSetting(s)
		},
	})
}

func newSettingReset(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "setting", command{
		Name: "reset", Short: "Have a setting be its default again", Args: []string{"NAME"},
		Example: "config:lock:default_ttl --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			if _, err := c.settings.Delete(c.Ctx, c.Args[0], rpc.Durability(level)); err != nil {
				return err
			}
			s, err := c.settings.Get(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.emitSetting(s)
		},
	})
}

// settingEvent is what a watcher is told, as JSON.
type settingEvent struct {
	Event    string      `json:"event"`
	Revision uint64      `json:"revision,string"`
	Setting  *settingDoc `json:"setting,omitempty"`
}

func newSettingWatch(p *cli.Process) *cobra.Command {
	count := 0
	return ofTenant(p, "setting", command{
		Name: "watch", Short: "Print what is set, and changes as they are made",
		Long: `Print what is set, a line that says that this was it (synced), and then every change as it is made,
until Ctrl-C or the end of the daemon.`,
		Example: "--tenant acme",
		Flags:   func(fs *pflag.FlagSet) { fs.IntVar(&count, "count", 0, "end after so many lines (default: never)") },
		Run: func(c *call) error {
			n := 0
			for e, err := range c.settings.Watch(c.Ctx, rpc.Once()) {
				if err != nil {
					return c.UntilInterrupted(err)
				}
				said := settingEvent{Event: e.Kind.String(), Revision: e.Revision}
				if e.Kind == kv.EventPut || e.Kind == kv.EventDelete {
					doc := newSettingDoc(&e.Setting)
					said.Setting = &doc
				}
				err := c.Emit(said, func(w io.Writer) {
					if said.Setting == nil {
						fmt.Fprintf(w, "%d  %s\n", e.Revision, said.Event)
						return
					}
					fmt.Fprintf(w, "%d  %s  %s  %s\n", e.Revision, said.Event, e.Setting.Name, plainly(e.Setting.Value))
				})
				if n++; err != nil || n == count {
					return err
				}
			}
			return nil
		},
	})
}
