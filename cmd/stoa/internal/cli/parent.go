package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoSuchCommand refuses the arguments of a command that only has subcommands.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
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
	return Bad(fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], DidYouMean(args[0], names)),
		"run `"+cmd.CommandPath()+" --help` for the list")
}

// Parent returns a command that only has subcommands.
func Parent(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

// FlagError explains a flag that does not parse, or a command that is not there if that
// is why its flags are not.
func FlagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.Use == cmd.Name() && cmd.HasAvailableSubCommands() {
		return NoSuchCommand(cmd, args) // the flags are of a command that is not there
	}
	return Bad(FlagFault(err), "run `"+cmd.CommandPath()+" --help` for the flags")
}

// FlagFault is what a flag's value is wrong in, in the words of who gave it.
func FlagFault(err error) error {
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

// Exactly refuses any other number of arguments than those that names lists.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		wants := "no arguments"
		if len(names) > 0 {
			wants = strings.NewReplacer("|-", "", "...", "").Replace(strings.Join(names, " and ")) // those are for help
		}
		return Bad(fmt.Errorf("%s wants %s, got %d arguments", cmd.CommandPath(), wants, len(args)),
			"as in: "+strings.TrimSpace(strings.SplitN(cmd.Example, "\n", 2)[0]))
	}
}

// CompleteFirst completes the first argument from names, and no other.
func CompleteFirst(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}
