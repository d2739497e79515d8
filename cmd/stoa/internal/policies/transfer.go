package policies

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newExport(p *cli.Process) *cobra.Command {
	return ofTenant(p, "record", command{
		Name: "export", Offline: true, Short: "Print the documents of a collection, one a line", Args: []string{"COLLECTION"},
		Long:    "Print the documents of a collection, in force or not, one a line, in order of their creation.",
		Example: "policy --tenant acme > policies.jsonl",
		Run: func(c *call) error {
			w := bufio.NewWriter(c.Stdout)
			for doc, err := range c.records.Export(c.Ctx, c.Args[0]) {
				if err != nil {
					return err
				}
				if _, err := w.Write(append(doc, '\n')); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	})
}

func newImport(p *cli.Process) *cobra.Command {
	return ofTenant(p, "record", command{
		Name: "import", Short: "Store the documents of a file, one a line", Args: []string{"COLLECTION", "FILE"},
		Long: `Store the documents that ` + "`stoa record export`" + ` has printed; - reads them from stdin. A
record that is there is replaced, others stay. They hold to the schema, and neither states
nor what other records demand are looked at. It ends at the first line that is refused;
what stands well before it is stored, and may be imported again.`,
		Example: "policy policies.jsonl --tenant acme",
		Run: func(c *call) error {
			lines := io.Reader(c.Stdin)
			if c.Args[1] != "-" {
				f, err := os.Open(c.Args[1])
				if err != nil {
					return cli.Bad(err, "")
				}
				defer f.Close()
				lines = f
			}
			stored, err := c.records.Import(c.Ctx, c.Args[0], lines)
			if err != nil {
				return err
			}
			d := struct {
				Stored int `json:"stored"`
			}{stored}
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "stored %s\n", cli.Count(stored, "record")) })
		},
	})
}
