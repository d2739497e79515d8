package keyvalues

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// expectFlags say what is expected of a key.
type expectFlags struct {
	value    cli.Optional
	strict   bool
	text     bool
	revision uint64
}

func (f *expectFlags) register(fs *pflag.FlagSet) {
	fs.Var(&f.value, "expect", "the value that is expected, as JSON; null is nothing too")
	fs.BoolVar(&f.strict, "strict", false, "with --expect null: the value null only")
	fs.Uint64Var(&f.revision, "revision", 0, "the revision that is expected")
}

func (f *expectFlags) given() bool { return f.value.Given || f.revision != 0 }

func (f *expectFlags) expected(c *call) (e kvstorage.Expect, err error) {
	e = kvstorage.Expect{Strict: f.strict, Revision: f.revision}
	if f.value.Given {
		e.Value, err = valueArgument(c.Call.Process, "--expect", f.value.Text, f.text)
	}
	return e, err
}

// otherItem is the failure of a change that did not find what it expects.
func otherItem(what string, i *kvstorage.Item) error {
	found := "nothing"
	if i.Found {
		found = fmt.Sprintf("another value or revision, at revision %d", i.Revision)
	}
	return cli.Refused(fmt.Errorf("not %s: %s has %s", what, strconv.Quote(i.Key), found), "")
}

// swapFlags are those of cas.
type swapFlags struct {
	writeFlags
	expectFlags
	absent bool
}

func (f *swapFlags) register(fs *pflag.FlagSet) {
	f.expectFlags.register(fs)
	fs.BoolVar(&f.absent, "absent", false, "nothing is expected")
	fs.BoolVar(&f.text, "text", false, "VALUE and --expect are text, and strings")
	f.writeFlags.register(fs, "as long as before")
}

func newSwap(p *cli.Process) *cobra.Command {
	var f swapFlags
	return ofTenant(p, "kv", command{
		Name: "cas", Short: "Store a value if the key has what is expected", Args: []string{"KEY", "VALUE"},
		Long: `Store a value if the key has what is expected: a value, a revision, or nothing. If it has
not, the exit code is 5, and what it has is printed.`,
		Example: "leader '\"me\"' --absent --tenant acme --ttl 10s\nleader '\"me\"' --expect '\"you\"' --tenant acme",
		Flags:   f.register,
		Run:     f.run,
	})
}

func (f *swapFlags) run(c *call) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	expect, err := f.expected(c)
	if err != nil {
		return err
	}
	expect.Absent = f.absent
	value, err := valueArgument(c.Call.Process, "VALUE", c.Args[1], f.text)
	if err != nil {
		return err
	}
	r, err := c.kv.CompareAndSwapJSON(c.Ctx, c.Args[0], expect, json.RawMessage(value), o...)
	if err != nil {
		return err
	}
	d := struct {
		Swapped bool `json:"swapped"`
		itemDoc
	}{r.Swapped, newItemDoc(&r.Item)}
	err = c.Emit(d, func(w io.Writer) {
		switch {
		case r.Swapped:
			d.write(w, "swapped")
		case r.Item.Found:
			fmt.Fprintf(w, "%s\n", r.Item.Value)
		}
	})
	if err == nil && !r.Swapped {
		err = otherItem("swapped", &r.Item)
	}
	return err
}
