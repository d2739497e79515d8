package contexts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// stateKind is one of the two states of a context.
type stateKind struct {
	name string // of its commands
	said string // as in "the shared state"
	get  func(*rpc.Dag, context.Context, codec.ContextID, []byte) ([]byte, error)
	scan func(*rpc.Dag, context.Context, codec.ContextID, engine.Range) iter.Seq2[dag.StateEntry, error]
}

func sharedState() stateKind {
	return stateKind{"state", "shared", (*rpc.Dag).State, (*rpc.Dag).ScanState}
}

func privateState() stateKind {
	return stateKind{"private", "private", (*rpc.Dag).Private, (*rpc.Dag).ScanPrivate}
}

func newContextState(p *cli.Process) *cobra.Command {
	return cli.Parent("state", "Read the shared state of a context",
		"  stoa context state get room counter\n  stoa context state scan room",
		newStateGet(p, sharedState()), newStateScan(p, sharedState()))
}

func newContextPrivate(p *cli.Process) *cobra.Command {
	return cli.Parent("private", "Read and write the private state of a context, which this node alone has",
		"  stoa context private put room draft hello\n  stoa context private scan room",
		newStateGet(p, privateState()), newPrivatePut(p), newPrivateDelete(p), newStateScan(p, privateState()))
}

// entryDoc is an entry of a state as JSON.
type entryDoc struct {
	AppKey cli.HexBytes `json:"app_key"`
	Value  cli.HexBytes `json:"value"`
}

func newStateGet(p *cli.Process, kind stateKind) *cobra.Command {
	var in bytesFlags
	var asRaw bool
	return onContext(p, "context "+kind.name, command{
		Name: "get", Offline: true, Args: []string{"KEY"}, Short: "Read one value",
		Long: "Read the value that the " + kind.said + " state has under a key. It exits 4 if there is none.", Example: "counter\n636f756e746572 --hex --raw",
		Flags: func(fs *pflag.FlagSet) {
			in.register(fs)
			fs.BoolVar(&asRaw, "raw", false, "print the value as it is")
		},
		Check: func() error {
			if asRaw && p.JSON {
				return cli.Bad(errors.New("--raw and --json exclude each other"), "")
			}
			return nil
		},
		Run: func(c *call) error {
			key, err := in.key("KEY", c.Args[0])
			if err != nil {
				return err
			}
			value, err := kind.get(c.dag, c.Ctx, c.context, key)
			if errors.Is(err, engine.ErrNotFound) {
				return cli.Fail(cli.ExitNotFound, fmt.Errorf("context %s has nothing under %s", c.context, bytesText(key)), "")
			}
			if err != nil {
				return err
			}
			if asRaw {
				_, err := p.Stdout.Write(value)
				return err
			}
			return c.Emit(entryDoc{key, value}, func(w io.Writer) { fmt.Fprintln(w, bytesText(value)) })
		},
	})
}

func newStateScan(p *cli.Process, kind stateKind) *cobra.Command {
	var in bytesFlags
	var prefix, from, to string
	var limit int
	var reverse bool
	return onContext(p, "context "+kind.name, command{
		Name: "scan", Offline: true, Short: "List keys and values in their order",
		Long: "List the keys of the " + kind.said + " state, in their order, with their values.", Example: "\n--prefix user/ --limit 10 --json",
		Flags: func(fs *pflag.FlagSet) {
			in.register(fs)
			fs.StringVar(&prefix, "prefix", "", "what all keys begin with")
			fs.StringVar(&from, "from", "", "the first key to list, or its beginning")
			fs.StringVar(&to, "to", "", "the first key not to list any more, or its beginning")
			fs.IntVar(&limit, "limit", 0, "the most keys to list; 0: all")
			fs.BoolVar(&reverse, "reverse", false, "from the last key to the first")
		},
		Run: func(c *call) error {
			r, err := in.window(prefix, from, to)
			if err != nil {
				return err
			}
			if limit < 0 {
				return cli.Bad(fmt.Errorf("--limit: %d is less than 0", limit), "")
			}
			r.Limit, r.Reverse = limit, reverse
			return c.emitEntries(kind.scan(c.dag, c.Ctx, c.context, r))
		},
	})
}

// window returns the keys that begin with prefix, from one to another.
func (f *bytesFlags) window(prefix, from, to string) (r engine.Range, err error) {
	p, err := f.key("--prefix", prefix)
	if err != nil {
		return r, err
	}
	r = engine.Prefixed(p)
	start, err := f.key("--from", from)
	if err != nil {
		return r, err
	}
	if string(start) > string(r.Start) {
		r.Start = start
	}
	end, err := f.key("--to", to)
	if err == nil && len(end) > 0 && (r.End == nil || string(end) < string(r.End)) {
		r.End = end
	}
	return r, err
}

func (c *call) emitEntries(all iter.Seq2[dag.StateEntry, error]) error {
	return cli.List(c.Process, "key", all, func(e dag.StateEntry) (any, error) { return entryDoc{e.AppKey, e.Value}, nil }, func(w io.Writer, e dag.StateEntry) {
		fmt.Fprintf(w, "%s  %s\n", cli.Shorten(bytesText(e.AppKey), cli.LineText), cli.Shorten(bytesText(e.Value), cli.LineText))
	})
}

func newPrivatePut(p *cli.Process) *cobra.Command {
	var in bytesFlags
	var level cli.Durability
	return onContext(p, "context private", command{
		Name: "put", Args: []string{"KEY", "VALUE"}, Short: "Store one value",
		Long:    "Store a value under a key of the private state. A VALUE of - is read from stdin, @FILE from\na file.",
		Example: "draft hello\n6b 0001 --hex --durability wal",
		Flags: func(fs *pflag.FlagSet) {
			in.register(fs)
			level.Register(fs)
		},
		Run: func(c *call) error {
			key, err := in.written("KEY", c.Args[0])
			if err != nil {
				return err
			}
			value, err := in.value(p, "VALUE", c.Args[1])
			if err != nil {
				return err
			}
			if _, err := c.dag.WritePrivate(c.Ctx, c.context, []codec.Action{codec.Put(key, value)}, engine.Durability(level)); err != nil {
				return err
			}
			return c.wrote(key, map[string]any{"app_key": cli.HexBytes(key), "bytes": len(value)}, "stored")
		},
	})
}

func newPrivateDelete(p *cli.Process) *cobra.Command {
	var in bytesFlags
	var level cli.Durability
	return onContext(p, "context private", command{
		Name: "delete", Args: []string{"KEY"}, Short: "Delete one value",
		Long: "Delete what the private state has under a key. It is no error if there is nothing.", Example: "draft",
		Flags: func(fs *pflag.FlagSet) {
			in.register(fs)
			level.Register(fs)
		},
		Run: func(c *call) error {
			key, err := in.key("KEY", c.Args[0])
			if err != nil {
				return err
			}
			deleted, err := c.dag.WritePrivate(c.Ctx, c.context, []codec.Action{codec.Delete(key)}, engine.Durability(level))
			if err != nil {
				return err
			}
			said := map[bool]string{true: "deleted", false: "nothing is stored under"}[deleted > 0]
			return c.wrote(key, map[string]any{"app_key": cli.HexBytes(key), "deleted": deleted > 0}, said)
		},
	})
}

// wrote says what was done to a key.
func (c *call) wrote(key []byte, doc map[string]any, what string) error {
	return c.Emit(doc, func(w io.Writer) { fmt.Fprintf(w, "%s %s\n", what, bytesText(key)) })
}
