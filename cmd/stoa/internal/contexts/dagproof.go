package contexts

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
)

func newDagProof(p *cli.Process) *cobra.Command {
	var in bytesFlags
	var out string
	return onContext(p, "dag", command{
		Name: "proof", Offline: true, Args: []string{"KEY"}, Short: "Prove that a key has its value, or that it is absent",
		Long: `Prove that a key of the shared state has its value, or that it is absent, to whoever has
the root. -o writes the proof to a file, which ` + "`stoa dag proof verify`" + ` checks offline.`,
		Example: "counter -o counter.proof\ncounter --json",
		Flags: func(fs *pflag.FlagSet) {
			in.register(fs)
			fs.StringVarP(&out, "output", "o", "", "the file to write the proof to")
		},
		Run: func(c *call) error {
			key, err := in.key("KEY", c.Args[0])
			if err != nil {
				return err
			}
			e, err := c.dag.Prove(c.Ctx, c.context, key)
			if err != nil {
				return err
			}
			return c.emitProof(key, e, out)
		},
		Subs: []*cobra.Command{newDagProofVerify(p)},
	})
}

func (c *call) emitProof(key []byte, e dag.Evidence, out string) error {
	b, err := e.Proof.AppendBinary(nil)
	if err != nil {
		return err
	}
	if out != "" {
		if err := os.WriteFile(out, b, 0o666); err != nil {
			return cli.Bad(fmt.Errorf("-o: %w", err), "")
		}
	}
	d := struct {
		Root   string        `json:"root_hash"`
		AppKey cli.HexBytes  `json:"app_key"`
		Value  *cli.HexBytes `json:"value"` // null: the key is absent
		Proof  cli.HexBytes  `json:"proof"`
		File   string        `json:"file,omitempty"`
	}{Root: e.Root.String(), AppKey: key, Proof: b, File: out}
	if e.Value.Valid {
		d.Value = (*cli.HexBytes)(&e.Value.V)
	}
	return c.Emit(d, func(w io.Writer) {
		var t cli.Table
		t.Add("root", d.Root)
		t.Add("key", bytesText(key))
		if e.Value.Valid {
			t.Add("value", bytesText(e.Value.V))
		} else {
			t.Add("value", "none: the proof is one of absence")
		}
		if out == "" {
			t.Add("proof", fmt.Sprintf("%x", b))
		} else {
			t.Add("proof", fmt.Sprintf("%s in %s", cli.Count(len(b), "byte"), out))
		}
		t.Write(w, "")
	})
}

func newDagProofVerify(p *cli.Process) *cobra.Command {
	var in bytesFlags
	var root string
	var key, value cli.Optional
	cmd := &cobra.Command{
		Use: "verify FILE|-", Short: "Check a proof, offline",
		Long: `Check that a proof holds for a root, which is to come from whom you trust: that it has KEY
with VALUE, or without --value that it has not KEY. It exits 5 if the proof does not show
that.`,
		Example: "  stoa dag proof verify counter.proof --root " + cli.ExampleID + " --key counter --value 1",
		Args:    cli.Exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if root == "" || !key.Given {
				return cli.Bad(errors.New("--root and --key say what the proof is to show"), "")
			}
			r, err := cli.ParseID[codec.Hash]("--root", root)
			if err != nil {
				return err
			}
			k, err := in.key("--key", key.Text)
			if err != nil {
				return err
			}
			proof, err := readProof(p, args[0])
			if err != nil {
				return err
			}
			what := "absent"
			if value.Given {
				what = "included"
				v, err := in.value(p, "--value", value.Text)
				if err != nil {
					return err
				}
				err = proof.VerifyIncluded(r, merkle.HashKey(k), merkle.HashValue(v))
				if err != nil {
					return cli.Refused(err, "")
				}
			} else if err := proof.VerifyAbsent(r, merkle.HashKey(k)); err != nil {
				return cli.Refused(err, "")
			}
			return p.Emit(map[string]any{"holds": true, "key": what}, func(w io.Writer) { fmt.Fprintf(w, "the proof holds: the key is %s\n", what) })
		},
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVar(&root, "root", "", "the root, in hex")
	cmd.Flags().Var(&key, "key", "the key")
	cmd.Flags().Var(&value, "value", "the value that it is to have (- reads stdin, @FILE a file)")
	return cmd
}

// readProof reads a proof from a file or stdin.
func readProof(p *cli.Process, path string) (*merkle.Proof, error) {
	arg := "@" + path
	if path == "-" {
		arg = path
	}
	b, err := p.Argument("the proof", arg)
	if err != nil {
		return nil, err
	}
	proof, err := merkle.ParseProof(b)
	if err != nil {
		return nil, cli.Bad(fmt.Errorf("%s: %w", path, err), "")
	}
	return proof, nil
}
