package tasks

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/redisdump"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newImport(p *cli.Process) *cobra.Command {
	var m importer
	var taken string
	var sure cli.Confirmation
	return ofTenant(p, "task", command{
		Name: "import", Short: "Bring what agents kept in Redis: tasks, approvals, locks, sessions, settings", Args: []string{"FILE"},
		Long: `Bring what agents kept in Redis under the keys ade:… to a tenant: tasks with their previews,
approvals, delegation policies, locks and sessions with the time that they have left, the
capacity of agents, configuration and features. FILE has the commands that make the keys, one
a line, as they are typed into redis-cli; - reads it from stdin. Keys of the first version, which are
called lock:… and have numbers for the status of an approval, come as those of the second.

The whole file is looked at first: what can't be read, or would be refused, ends the import
with its line, its key and what is wrong, and nothing is changed. What follows from the rest
(indexes, queues, statistics), and what has no meaning any more (events, jobs, counters of the
last minute, what is over), is left out and counted; --json lists every key. Each record is
imported whole or not at all, and what comes by it is escalated, timed out and archived when
it is due, at once if it was due before.

To import a file again changes nothing: what is there as it is counts as the same, and no time
begins anew. What is there as another stays, and the exit code is 5; so it is for locks that
others hold by now. --replace puts what the file has in its place, but for locks and sessions.
A lock has a new token: its holder learns it by asking for the lock again. Agents are to be
heard of soon, or their locks are free. A session shows under its handle, since its id is a
secret, which opens it as before.

Times to live in the file, and what has no time of its own, count from when the file was last
written, unless --taken says when that was; stdin has no such time, so that it needs --taken.`,
		Example: "redis-commands.txt --tenant acme --dry-run\nredis-commands.txt --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&m.dry, "dry-run", false, "change nothing: say what would be imported")
			fs.BoolVar(&m.replace, "replace", false, "replace what is there as another; asks first")
			fs.StringVar(&taken, "taken", "", "when the file was made, such as 2026-03-18T15:30:00Z (default: when FILE was last written)")
			sure.Register(fs)
		},
		Run: func(c *call) error {
			d, err := readDump(c, taken)
			if err != nil {
				return err
			}
			m.now = time.Now()
			t, err := redisdump.Translate(d, m.now)
			if err != nil {
				return inDump(c.Args[0], err)
			}
			if m.replace && !m.dry {
				err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
					return "replace what is there as another by what " + c.Args[0] + " has", nil
				})
				if err != nil {
					return err
				}
			}
			m.call = c
			if err := m.all(t); err != nil {
				return err
			}
			return m.tell(d)
		},
	})
}

// readDump reads the file that a command names.
func readDump(c *call, taken string) (*redisdump.Dump, error) {
	var at time.Time
	if taken != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, taken); err != nil {
			return nil, cli.Bad(fmt.Errorf("--taken: %q is no time such as 2026-03-18T15:30:00Z", taken), "")
		}
	}
	from := c.Stdin
	if name := c.Args[0]; name == "-" && at.IsZero() {
		return nil, cli.Bad(errors.New("FILE: stdin does not say when it was made, from which its times count"),
			"--taken says it, as in --taken "+time.Now().UTC().Format(time.RFC3339)+"; the same is to be said each time that it is imported")
	} else if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.Bad(fmt.Errorf("FILE: %w", err), "")
		}
		defer f.Close()
		about, err := f.Stat()
		if err != nil {
			return nil, cli.Bad(fmt.Errorf("FILE: %w", err), "")
		}
		if from = f; at.IsZero() {
			at = about.ModTime()
		}
	}
	d, err := redisdump.Read(from, at)
	return d, inDump(c.Args[0], err)
}

// inDump is an error about a file, of which nothing is imported.
func inDump(name string, err error) error {
	var e *redisdump.Error
	if errors.As(err, &e) {
		return cli.Bad(fmt.Errorf("%s: %w", name, err), "nothing was imported")
	}
	return err
}
