package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
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
	walk(newRoot(&process{}))
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.Equal(t, cmd.IsAdditionalHelpTopicCommand(), cmd.Example == "", cmd.CommandPath()) // a topic does nothing
		for line := range strings.Lines(cmd.Example) {
			require.True(t, strings.HasPrefix(line, "  "), cmd.CommandPath())
			require.Contains(t, line, "stoa ", cmd.CommandPath())
		}
		_, errs, code := stoa(append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		require.Zero(t, code, errs)
	})
}

func TestEveryCommandTakesJSON(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		require.NotNil(t, cmd.Flag("json"), cmd.CommandPath())
	})
}

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]size{
		"0": 0, "1048576": 1 << 20, "64KiB": 64 << 10, "256 MiB": 256 << 20, "1.5GiB": 3 << 29, "10GB": 1e10, "7B": 7,
	} {
		var s size
		require.NoError(t, s.Set(text), text)
		require.Equal(t, want, s, text)
	}
	for _, text := range []string{"", "MiB", "-1", "1e400", "NaN", "12 parsecs", "99999999999999999999"} {
		require.Error(t, new(size).Set(text), text)
	}
}

func TestTyposFindTheirWord(t *testing.T) {
	require.Equal(t, ": did you mean GroupMember?", didYouMean("groupmembr", []string{"GroupMember", "Alias"}))
	require.Equal(t, "", didYouMean("xyz", []string{"GroupMember", "Alias"}))
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 4, distance("", "four"))
}
