package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// entry is one line of the table of commands.
type entry struct {
	group string // under which heading help lists it
	make  func(*process) *cobra.Command
}

// commands is the table of commands, in the order in which help lists them. A
// new command is a new line here and a file of its name.
func commands() []entry {
	return []entry{
		{"Daemon", newServe},
		{"Daemon", newStatus},
		{"Daemon", newStats},
		{"Daemon", newTop},
		{"Daemon", newCheckpoint},
		{"Daemon", newFlush},
		{"Daemon", newCompact},
		{"Daemon", newReopen},
		{"Daemon", newBench},
		{"Records", newGet},
		{"Records", newPut},
		{"Records", newScan},
		{"Records", newDelete},
		{"Records", newBlob},
		{"Contexts", newContext},
		{"Contexts", newDag},
		{"Key-values", newKV},
		{"Governance", newNamespace},
		{"Governance", newGroup},
		{"Inspection", newInspect},
		{"Inspection", newVerify},
		{"Inspection", newView},
		{"Inspection", newHash},
		{"Inspection", newDiff},
		{"Inspection", newWAL},
		{"Inspection", newExport},
		{"Inspection", newImport},
		{"Inspection", newRestore},
		{"Inspection", newSalvage},
		{"Inspection", newRekey},
		{"Offline", newDecode},
		{"Offline", newEncode},
		{"Offline", newSchema},
		{"Offline", newCompletion},
		{"Offline", newMan},
		{"Offline", newVersion},
	}
}

func addCommands(root *cobra.Command, p *process) {
	root.AddCommand(newConcepts())
	for _, e := range commands() {
		if !root.ContainsGroup(e.group) {
			root.AddGroup(&cobra.Group{ID: e.group, Title: e.group + ":"})
		}
		cmd := e.make(p)
		cmd.GroupID = e.group
		root.AddCommand(cmd)
	}
}

// noSuchCommand refuses the arguments of a command that only has subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	slices.Sort(names)
	return bad(fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], didYouMean(args[0], names)),
		"run `"+cmd.CommandPath()+" --help` for the list")
}

// parent returns a command that only has subcommands.
func parent(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

// flagError explains a flag that does not parse, or a command that is not there if that
// is why its flags are not.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.Use == cmd.Name() && cmd.HasAvailableSubCommands() {
		return noSuchCommand(cmd, args) // the flags are of a command that is not there
	}
	return bad(flagFault(err), "run `"+cmd.CommandPath()+" --help` for the flags")
}

// flagFault is what a flag's value is wrong in, in the words of who gave it.
func flagFault(err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	name, given := "--"+value.GetFlag().Name, value.GetValue()
	var number *strconv.NumError
	switch kind := value.GetFlag().Value.Type(); {
	case kind == "duration":
		return fmt.Errorf("%s: %q is no duration: write it as 90s, 15m or 1h30m", name, given)
	case errors.As(err, &number) && errors.Is(number.Err, strconv.ErrRange):
		return fmt.Errorf("%s: %s is out of range", name, given)
	case kind == "bool":
		return fmt.Errorf("%s: %q is neither true nor false", name, given)
	case errors.As(err, &number):
		return fmt.Errorf("%s: %q is no whole number", name, given)
	}
	return fmt.Errorf("%s: %q: %w", name, given, errors.Unwrap(value))
}
