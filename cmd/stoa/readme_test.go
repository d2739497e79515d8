package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// TestTheREADMEListsTheCommands compares the table of commands in the README of the
// repository with the commands: those that it names are there, and none is left out.
func TestTheREADMEListsTheCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(readme), "| Command | What it does |\n|---|---|\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	root := newRoot(&cli.Process{})
	named := map[string]bool{}
	for row := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		names := regexp.MustCompile("`([a-z ]+)`").FindAllStringSubmatch(cell, -1)
		require.NotEmpty(t, names, row)
		first := strings.Fields(strings.TrimPrefix(names[0][1], "stoa "))
		above := first[:len(first)-1] // the command that the others of the row are below, too
		for i, name := range names {
			path := append(append([]string{}, above...), strings.Fields(name[1])...)
			if i == 0 {
				path = first
			}
			cmd, rest, err := root.Find(path)
			require.NoError(t, err, row)
			require.Empty(t, rest, "%s names %s", row, path)
			require.True(t, cmd.HasParent(), row)
			named[path[0]] = true
		}
	}
	for _, cmd := range root.Commands() {
		require.True(t, named[cmd.Name()], "the table of commands in README.md leaves out %s", cmd.Name())
	}
}

// TestClientsHaveTheSchema compares what clients in other languages are generated of with what
// schema prints; -update writes it.
func TestClientsHaveTheSchema(t *testing.T) {
	said, errs, code := stoa("schema", "--json")
	require.Zero(t, code, errs)
	const path = "../../rpc/clients/schema.json"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(said), 0o644))
		return
	}
	has, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, said == string(has), "%s is not what schema prints: go test ./cmd/stoa -run Schema -update && go test ./rpc/clients -update", path)
}
