package keyvalues

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// changeDoc is a change of a batch, as JSON.
type changeDoc struct {
	Op         string          `json:"op"`
	Key        string          `json:"key"`
	Value      json.RawMessage `json:"value"`
	Delta      *int64          `json:"delta"`
	TTLSeconds *int64          `json:"ttl_seconds"`
	Expect     *struct {
		Absent   bool            `json:"absent"`
		Value    json.RawMessage `json:"value"`
		Strict   bool            `json:"strict"`
		Revision json.RawMessage `json:"revision"` // a number, or its digits in a string, as they are printed
	} `json:"expect"`
}

// changeOps are the operations of a batch by name.
var changeOps = []string{kvstorage.OpPut: "put", kvstorage.OpDelete: "del", kvstorage.OpTouch: "touch", kvstorage.OpIncrement: "incr", kvstorage.OpSwap: "cas"}

func (d *changeDoc) change() (c kvstorage.Change, err error) {
	c = kvstorage.Change{Key: d.Key, Value: d.Value, Delta: 1, TTLSeconds: d.TTLSeconds}
	for op, name := range changeOps {
		if name == d.Op && name != "" {
			c.Op = kvstorage.Op(op)
		}
	}
	if c.Op == 0 {
		return c, fmt.Errorf("op: there is no %q%s", d.Op, cli.DidYouMean(d.Op, changeOps[1:]))
	}
	if d.Delta != nil {
		c.Delta = *d.Delta
	}
	if e := d.Expect; e != nil {
		c.Expect = kvstorage.Expect{Absent: e.Absent, Value: e.Value, Strict: e.Strict}
		if len(e.Revision) > 0 {
			text := strings.Trim(string(e.Revision), `"`)
			if c.Expect.Revision, err = strconv.ParseUint(text, 10, 64); err != nil {
				return c, fmt.Errorf("expect.revision: %q is no revision", text)
			}
		}
	}
	return c, nil
}

// parseChanges reads changes: JSON objects one after the other, or in an array.
func parseChanges(text []byte) (changes []kvstorage.Change, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	inArray := bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("["))
	if inArray {
		_, _ = in.Token() // it is there
	}
	for {
		var one kvstorage.Change
		err := errEndOfChanges
		if !inArray || in.More() {
			var d changeDoc
			if err = in.Decode(&d); err == nil {
				one, err = d.change()
			}
		} else if _, wrong := in.Token(); wrong != nil { // the end of the array
			err = wrong
		} else if _, more := in.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something stands behind the array")
		}
		if errors.Is(err, errEndOfChanges) || !inArray && errors.Is(err, io.EOF) {
			return changes, nil
		}
		if err != nil {
			return nil, cli.Bad(fmt.Errorf("change %d: %s", len(changes)+1, changeFault(err)),
				`a change is like {"op":"put","key":"a","value":1,"ttl_seconds":60,"expect":{"absent":true}}; op is put, del, touch, incr or cas`)
		}
		changes = append(changes, one)
	}
}

// errEndOfChanges ends an array of changes.
var errEndOfChanges = errors.New("no more changes")

// changeFault says what a change is wrong in, in the words of who wrote it.
func changeFault(err error) string {
	var typ *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typ) && typ.Field == "":
		return "it is of type " + typ.Value + ", and has to be an object"
	case errors.As(err, &typ):
		return typ.Field + ": it can't be of type " + typ.Value
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the JSON is cut short"
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "there is no field " + name
	}
	return err.Error()
}

func newBatch(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var guards cli.Guards
	return ofTenant(p, "kv", command{
		Name: "batch", Short: "Make changes, all of them or none", Args: []string{"CHANGES"},
		Long: `Make changes one after the other, all of them or none. CHANGES are JSON objects, one after
the other or in an array: - reads them from stdin, @FILE from a file. Each has op (put, del,
touch, incr or cas) and key, and where it needs them value, delta, ttl_seconds, and expect
with absent, value, strict or revision. If one does not find what it expects, nothing is
done, and the exit code is 5.`,
		Example: `'{"op":"put","key":"a","value":1} {"op":"incr","key":"n"}' --tenant acme` + "\n@changes.jsonl --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			level.Register(fs)
			guards.Register(fs)
		},
		Run: func(c *call) error {
			text, err := c.Argument("CHANGES", c.Args[0])
			if err != nil {
				return err
			}
			changes, err := parseChanges(text)
			if err != nil {
				return err
			}
			results, err := c.kv.Batch(c.Ctx, changes, engine.Durability(level), guards.OfWrites()...)
			if err != nil {
				return err
			}
			return c.emitResults(changes, results)
		},
	})
}

// resultDoc is what became of a change, as JSON.
type resultDoc struct {
	Op      string `json:"op"`
	Found   bool   `json:"found"`
	Swapped *bool  `json:"swapped,omitempty"`
	itemDoc
}

// emitResults says what became of the changes of a batch.
func (c *call) emitResults(changes []kvstorage.Change, results []kvstorage.Result) error {
	docs, idle := make([]resultDoc, len(results)), 0
	for n := range results {
		r := &results[n]
		docs[n] = resultDoc{Op: changeOps[changes[n].Op], Found: r.Item.Found, itemDoc: newItemDoc(&r.Item)}
		docs[n].Revision = r.Revision
		if changes[n].Op == kvstorage.OpSwap {
			docs[n].Swapped = &r.Swapped
		}
		if changes[n].Op != kvstorage.OpIncrement {
			docs[n].Value = nil
		}
		if r.Revision == 0 {
			idle++
		}
	}
	return c.Emit(struct {
		Results []resultDoc `json:"results"`
	}{docs}, func(w io.Writer) {
		fmt.Fprintf(w, "%s made", cli.Count(len(results)-idle, "change"))
		if idle > 0 {
			fmt.Fprintf(w, ", %s found nothing to change", cli.Count(idle, "other"))
		}
		fmt.Fprintln(w)
	})
}
