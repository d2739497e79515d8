package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// swapFlags are those of cas.
type swapFlags struct {
	kvWriteFlags
	expect   optional
	absent   bool
	strict   bool
	text     bool
	revision uint64
}

func (f *swapFlags) register(fs *pflag.FlagSet) {
	fs.Var(&f.expect, "expect", "the value that is expected, as JSON; null is nothing too")
	fs.BoolVar(&f.absent, "absent", false, "nothing is expected")
	fs.BoolVar(&f.strict, "strict", false, "with --expect null: the value null only")
	fs.Uint64Var(&f.revision, "revision", 0, "the revision that is expected")
	fs.BoolVar(&f.text, "text", false, "VALUE and --expect are text, and strings")
	f.kvWriteFlags.register(fs, "as long as before")
}

func newKVSwap(p *process) *cobra.Command {
	var f swapFlags
	return kvCommand{
		name: "cas", short: "Store a value if the key has what is expected", args: []string{"KEY", "VALUE"},
		long: `Store a value if the key has what is expected: a value, a revision, or nothing. If it has
not, the exit code is 5, and what it has is printed.`,
		example: "leader '\"me\"' --absent --tenant acme --ttl 10s\nleader '\"me\"' --expect '\"you\"' --tenant acme",
		flags:   f.register,
		run:     f.run,
	}.command(p, "kv")
}

func (f *swapFlags) run(c *kvCall) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	expect := kvstorage.Expect{Absent: f.absent, Strict: f.strict, Revision: f.revision}
	if f.expect.set {
		if expect.Value, err = c.valueArgument("--expect", f.expect.text, f.text); err != nil {
			return err
		}
	}
	value, err := c.valueArgument("VALUE", c.args[1], f.text)
	if err != nil {
		return err
	}
	r, err := c.kv.CompareAndSwap(c.args[0], expect, value, o)
	if err != nil {
		return err
	}
	d := struct {
		Swapped bool `json:"swapped"`
		itemDoc
	}{r.Swapped, newItemDoc(&r.Item)}
	err = c.emit(d, func(w io.Writer) {
		switch {
		case r.Swapped:
			d.write(w, "swapped")
		case r.Item.Found:
			fmt.Fprintf(w, "%s\n", r.Item.Value)
		}
	})
	if err == nil && !r.Swapped {
		what := "nothing"
		if r.Item.Found {
			what = fmt.Sprintf("another value or revision, at revision %d", r.Item.Revision)
		}
		err = refused(fmt.Errorf("not swapped: %s has %s", strconv.Quote(c.args[0]), what), "")
	}
	return err
}

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
		Revision uint64          `json:"revision,string"`
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
		return c, fmt.Errorf("op: there is no %q%s", d.Op, didYouMean(d.Op, changeOps[1:]))
	}
	if d.Delta != nil {
		c.Delta = *d.Delta
	}
	if e := d.Expect; e != nil {
		c.Expect = kvstorage.Expect{Absent: e.Absent, Value: e.Value, Strict: e.Strict, Revision: e.Revision}
	}
	return c, nil
}

// parseChanges reads changes, one JSON object after the other.
func parseChanges(text []byte) (changes []kvstorage.Change, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	for {
		var d changeDoc
		err := in.Decode(&d)
		if errors.Is(err, io.EOF) {
			return changes, nil
		}
		var one kvstorage.Change
		if err == nil {
			one, err = d.change()
		}
		if err != nil {
			return nil, bad(fmt.Errorf("change %d: %w", len(changes), err),
				`a change is like {"op":"put","key":"a","value":1,"ttl_seconds":60,"expect":{"absent":true}}; op is put, del, touch, incr or cas`)
		}
		changes = append(changes, one)
	}
}

func newKVBatch(p *process) *cobra.Command {
	var level durability
	return kvCommand{
		name: "batch", short: "Make changes, all of them or none", args: []string{"CHANGES"},
		long: `Make changes one after the other, all of them or none. CHANGES are JSON objects: - reads
them from stdin, @FILE from a file. Each has op (put, del, touch, incr or cas) and key, and
where it needs them value, delta, ttl_seconds, and expect with absent, value, strict or
revision. If one does not find what it expects, nothing is done, and the exit code is 5.`,
		example: `'{"op":"put","key":"a","value":1} {"op":"incr","key":"n"}' --tenant acme` + "\n@changes.jsonl --tenant acme",
		flags:   level.register,
		run: func(c *kvCall) error {
			text, err := c.argument("CHANGES", c.args[0])
			if err != nil {
				return err
			}
			changes, err := parseChanges(text)
			if err != nil {
				return err
			}
			results, err := c.kv.Batch(changes, engine.Durability(level))
			if err != nil {
				return err
			}
			docs := make([]resultDoc, len(results))
			for n := range results {
				docs[n] = resultDoc{changeOps[changes[n].Op], results[n].Item.Found, newItemDoc(&results[n].Item)}
				if changes[n].Op != kvstorage.OpIncrement {
					docs[n].Value = nil
				}
			}
			return c.emit(struct {
				Results []resultDoc `json:"results"`
			}{docs}, func(w io.Writer) { fmt.Fprintf(w, "%s made\n", count(len(results), "change")) })
		},
	}.command(p, "kv")
}

// resultDoc is what became of a change, as JSON.
type resultDoc struct {
	Op    string `json:"op"`
	Found bool   `json:"found"`
	itemDoc
}
