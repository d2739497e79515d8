package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// parseColumn returns the column that a user named, in upper or lower case.
func parseColumn(name string) (column.Column, error) {
	for c := range column.All {
		if strings.EqualFold(c.String(), name) {
			return c, nil
		}
	}
	names := columnNames()
	return 0, bad(fmt.Errorf("no column %q%s", name, didYouMean(name, names)), "the columns are "+strings.Join(names, ", "))
}

// keyType returns the key type of that name.
func keyType(name string) (keys.Info, error) {
	if i, ok := keys.ByName(name); ok {
		return i, nil
	}
	return keys.Info{}, bad(fmt.Errorf("no key type %q%s", name, didYouMean(name, keyTypeNames())), "`stoa schema` lists them")
}

// valueType returns the value type of that name, or that of the values under
// the key type of that name.
func valueType(name string) (codec.Type, error) {
	if t, ok := codec.TypeByName(name); ok {
		return t, nil
	}
	if i, ok := keys.ByName(name); ok {
		return i.Value, nil
	}
	return codec.Type{}, bad(fmt.Errorf("no value type %q%s", name, didYouMean(name, valueTypeNames())), "`stoa schema` lists them")
}

func columnNames() (names []string) {
	for c := range column.All {
		names = append(names, c.String())
	}
	return names
}

func keyTypeNames() (names []string) {
	for i := range keys.Schema() {
		names = append(names, i.Name)
	}
	return names
}

func valueTypeNames() (names []string) {
	for t := range codec.Types() {
		names = append(names, t.Name)
	}
	return names
}

// completeFirst completes the first argument from names, and no other.
func completeFirst(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// exactly refuses any other number of arguments than those that names lists.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		wants := "no arguments"
		if len(names) > 0 {
			wants = strings.Join(names, " and ")
		}
		return bad(fmt.Errorf("%s wants %s, got %d arguments", cmd.CommandPath(), wants, len(args)),
			"as in: "+strings.TrimSpace(strings.SplitN(cmd.Example, "\n", 2)[0]))
	}
}
