package policies

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/policy"
)

// exportForms are what policy export writes, by the name of the form.
var exportForms = map[string]func(*call, *bufio.Writer) error{"csv": (*call).writeCSV, "redis": (*call).writeRedis}

func newPolicyExport(p *cli.Process) *cobra.Command {
	var form string
	return ofTenant(p, "policy", command{
		Name: "export", Offline: true, Short: "Print records as tables for SQL, or as commands for Redis", Args: []string{"COLLECTION"},
		Long: `Print the records of policy, ledger, agent, intent, claim or delegation, in force or not, for
another store: as csv a line with the names of the columns and one for each record, in which
objects and arrays are JSON; as redis a command a line, for redis-cli. ` + "`stoa record export`" + `
prints documents that ` + "`stoa record import`" + ` reads.`,
		Example: "policy --tenant acme > policies.csv\nledger --as redis --tenant acme",
		Flags:   func(fs *pflag.FlagSet) { fs.StringVar(&form, "as", "csv", "csv or redis") },
		Check: func() error {
			if exportForms[form] == nil {
				return cli.Bad(fmt.Errorf("--as: %q is neither csv nor redis", form), "")
			}
			return nil
		},
		Run: func(c *call) error {
			w := bufio.NewWriter(c.Stdout)
			return errors.Join(exportForms[form](c, w), w.Flush())
		},
	})
}

func (c *call) writeCSV(w *bufio.Writer) error {
	columns, err := policy.Columns(c.Args[0])
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	cells := make([]string, len(columns))
	for row, err := range c.policy.Rows(c.Ctx, c.Args[0]) {
		if err != nil {
			out.Flush()
			return err
		}
		for i, value := range row {
			if cells[i], err = cell(value); err != nil {
				return err
			}
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cell is a value as a cell of a table has it: of a text what it says, nothing for null.
func cell(value json.RawMessage) (text string, err error) {
	switch {
	case string(value) == "null":
		return "", nil
	case strings.HasPrefix(string(value), `"`):
		err = json.Unmarshal(value, &text)
		return text, err
	}
	return string(value), nil
}

func (c *call) writeRedis(w *bufio.Writer) error {
	for args, err := range c.policy.Commands(c.Ctx, c.Args[0]) {
		if err != nil {
			return err
		}
		for i, arg := range args {
			if i > 0 {
				_ = w.WriteByte(' ') // Flush returns the error
			}
			_, _ = w.WriteString(redisQuoted(arg)) // likewise
		}
		_ = w.WriteByte('\n') // likewise
	}
	return nil
}

// redisQuoted is an argument as redis-cli reads it from a line: bare, or between quotes
// that know \" and \\ and \xHH.
func redisQuoted(arg string) string {
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'\`, r) || r == 0x7f }) {
		return arg
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(arg) {
		switch c := arg[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// version reads the number of a version.
func version(what, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("%s: %q is no version", what, text), "versions are 1 to 9: collections are called policy, policy.v2, and so on")
	}
	return n, nil
}

func newMigrate(p *cli.Process) *cobra.Command {
	return ofTenant(p, "policy", command{
		Name: "migrate", Short: "Copy the records of a version of a collection to another", Args: []string{"COLLECTION", "FROM", "TO"},
		Long: `Copy the records of a version of a collection to another, as an import does: records of the
same id are replaced, others stay. Version 1 is the collection itself; no decision looks at
the others.`,
		Example: "policy 1 2 --tenant acme",
		Run: func(c *call) error {
			from, err := version("FROM", c.Args[1])
			if err != nil {
				return err
			}
			to, err := version("TO", c.Args[2])
			if err != nil {
				return err
			}
			n, err := c.policy.Migrate(c.Ctx, c.Args[0], from, to)
			if err != nil {
				return err
			}
			d := struct {
				Copied int `json:"copied"`
			}{n}
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "copied %s\n", cli.Count(n, "record")) })
		},
	})
}

func newDrop(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	var d durable
	return ofTenant(p, "policy", command{
		Name: "drop", Short: "Remove all records of a version of a collection", Args: []string{"COLLECTION", "VERSION"},
		Example: "policy 2 --tenant acme\npolicy 2 --yes --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			sure.Register(fs)
			d.level.Register(fs)
		},
		Run: func(c *call) error {
			n, err := version("VERSION", c.Args[1])
			if err != nil {
				return err
			}
			name := policy.VersionName(c.Args[0], n)
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) { return "remove all records of " + name, nil }); err != nil {
				return err
			}
			dropped, err := c.policy.Drop(c.Ctx, c.Args[0], n, d.options()...)
			if err != nil {
				return err
			}
			done := struct {
				Dropped int `json:"dropped"`
			}{dropped}
			return c.Emit(done, func(w io.Writer) { fmt.Fprintf(w, "removed %s\n", cli.Count(dropped, "record")) })
		},
	})
}
