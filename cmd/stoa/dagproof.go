package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
)

func newDagProof(p *process) *cobra.Command {
	var in bytesFlags
	var out string
	return daemonCommand{
		about: aboutContext,
		name:  "proof", offline: true, args: []string{"KEY"}, short: "Prove that a key has its value, or that it is absent",
		long: `Prove that a key of the shared state has its value, or that it is absent, to whoever has
the root. -o writes the proof to a file, which ` + "`stoa dag proof verify`" + ` checks offline.`,
		example: "counter -o counter.proof\ncounter --json",
		flags: func(fs *pflag.FlagSet) {
			in.register(fs)
			fs.StringVarP(&out, "output", "o", "", "the file to write the proof to")
		},
		run: func(c *daemonCall) error {
			key, err := in.key("KEY", c.args[0])
			if err != nil {
				return err
			}
			e, err := c.dag.Prove(c.ctx, c.context, key)
			if err != nil {
				return err
			}
			return c.emitProof(key, e, out)
		},
		subs: []*cobra.Command{newDagProofVerify(p)},
	}.command(p, "dag")
}

func (c *daemonCall) emitProof(key []byte, e dag.Evidence, out string) error {
	b, err := e.Proof.AppendBinary(nil)
	if err != nil {
		return err
	}
	if out != "" {
		if err := os.WriteFile(out, b, 0o666); err != nil {
			return bad(fmt.Errorf("-o: %w", err), "")
		}
	}
	d := struct {
		Root   string    `json:"root_hash"`
		AppKey hexBytes  `json:"app_key"`
		Value  *hexBytes `json:"value"` // null: the key is absent
		Proof  hexBytes  `json:"proof"`
		File   string    `json:"file,omitempty"`
	}{Root: e.Root.String(), AppKey: key, Proof: b, File: out}
	if e.Value.Valid {
		d.Value = (*hexBytes)(&e.Value.V)
	}
	return c.emit(d, func(w io.Writer) {
		var t table
		t.add("root", d.Root)
		t.add("key", bytesText(key))
		if e.Value.Valid {
			t.add("value", bytesText(e.Value.V))
		} else {
			t.add("value", "none: the proof is one of absence")
		}
		if out == "" {
			t.add("proof", fmt.Sprintf("%x", b))
		} else {
			t.add("proof", fmt.Sprintf("%s in %s", count(len(b), "byte"), out))
		}
		t.write(w, "")
	})
}

func newDagProofVerify(p *process) *cobra.Command {
	var in bytesFlags
	var root string
	var key, value optional
	cmd := &cobra.Command{
		Use: "verify FILE|-", Short: "Check a proof, offline",
		Long: `Check that a proof holds for a root, which is to come from whom you trust: that it has KEY
with VALUE, or without --value that it has not KEY. It exits 5 if the proof does not show
that.`,
		Example: "  stoa dag proof verify counter.proof --root " + exampleID + " --key counter --value 1",
		Args:    exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if root == "" || !key.set {
				return bad(errors.New("--root and --key say what the proof is to show"), "")
			}
			r, err := parseID32[codec.Hash]("--root", root)
			if err != nil {
				return err
			}
			k, err := in.key("--key", key.text)
			if err != nil {
				return err
			}
			proof, err := p.readProof(args[0])
			if err != nil {
				return err
			}
			what := "absent"
			if value.set {
				what = "included"
				v, err := in.value(p, "--value", value.text)
				if err != nil {
					return err
				}
				err = proof.VerifyIncluded(r, merkle.HashKey(k), merkle.HashValue(v))
				if err != nil {
					return refused(err, "")
				}
			} else if err := proof.VerifyAbsent(r, merkle.HashKey(k)); err != nil {
				return refused(err, "")
			}
			return p.emit(map[string]any{"holds": true, "key": what}, func(w io.Writer) { fmt.Fprintf(w, "the proof holds: the key is %s\n", what) })
		},
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVar(&root, "root", "", "the root, in hex")
	cmd.Flags().Var(&key, "key", "the key")
	cmd.Flags().Var(&value, "value", "the value that it is to have (- reads stdin, @FILE a file)")
	return cmd
}

// readProof reads a proof from a file or stdin.
func (p *process) readProof(path string) (*merkle.Proof, error) {
	arg := "@" + path
	if path == "-" {
		arg = path
	}
	b, err := p.argument("the proof", arg)
	if err != nil {
		return nil, err
	}
	proof, err := merkle.ParseProof(b)
	if err != nil {
		return nil, bad(fmt.Errorf("%s: %w", path, err), "")
	}
	return proof, nil
}
