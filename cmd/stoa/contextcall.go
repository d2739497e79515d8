package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
)

// deltaArg returns the delta of the context that an argument is.
func (c *daemonCall) deltaArg(what, text string) (codec.DeltaID, error) {
	return find[codec.DeltaID](c.find, what, text, naming.Query{Kind: naming.Delta, Context: c.context})
}

// deltaArgs is deltaArg for each of a list.
func (c *daemonCall) deltaArgs(what string, texts []string) (ids []codec.DeltaID, err error) {
	for _, text := range texts {
		id, err := c.deltaArg(what, text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// atLeast refuses fewer arguments than those that names lists.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return exactly(names...)(cmd, args)
		}
		return nil
	}
}

// parseID32 returns the id that an argument is in hex.
func parseID32[T ~[32]byte](what, text string) (id T, err error) {
	b, err := parseHex(what, text)
	if err != nil {
		return id, err
	}
	if len(b) != len(id) {
		return id, bad(fmt.Errorf("%s: %s of hex, not %d", what, count(len(b), "byte"), len(id)), "")
	}
	return T(b), nil
}

// list emits each of what a page after page yields, as a line of JSON or of
// text, and then says how many there were.
func list[T any](c *daemonCall, noun string, all func(yield func(T, error) bool), doc func(T) (any, error), text func(io.Writer, T)) error {
	n := 0
	for v, err := range all {
		if err != nil {
			return err
		}
		n++
		d, err := doc(v)
		if err != nil {
			return err
		}
		if err := c.emit(d, func(w io.Writer) { text(w, v) }); err != nil {
			return err
		}
	}
	if !c.json {
		fmt.Fprintln(c.stderr, count(n, noun))
	}
	return nil
}
