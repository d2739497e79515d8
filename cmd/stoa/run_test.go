package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// everyCommand visits the commands of the program.
func everyCommand(visit func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		visit(cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&cli.Process{}))
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.Equal(t, cmd.IsAdditionalHelpTopicCommand(), cmd.Example == "", cmd.CommandPath()) // a topic does nothing
		for line := range strings.Lines(cmd.Example) {
			require.True(t, strings.HasPrefix(line, "  "), cmd.CommandPath())
			require.Contains(t, line, "stoa ", cmd.CommandPath())
			require.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), cmd.CommandPath())
		}
		_, errs, code := stoa(append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		require.Zero(t, code, errs)
	})
}

// What is in backquotes in the text of a flag is taken for the name of its value.
func TestFlagsNameTheirValuesInAWord(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			require.NotContains(t, name, " ", "%s --%s", cmd.CommandPath(), f.Name)
		})
	})
}

func TestEveryCommandTakesJSON(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		require.NotNil(t, cmd.Flag("json"), cmd.CommandPath())
	})
}
