package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// transcript is a run of a command in a script.
type transcript struct {
	args []string
	code string // "0": it must succeed
	then string // what follows in the script
}

var runLine = regexp.MustCompile(`^(?:exec stoa|exits ([0-9]) )(.*?)(?: &\w*&)?$`)

// transcripts returns the runs of all scripts.
func transcripts(t *testing.T) (all []transcript) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		text, _, _ = bytes.Cut(text, []byte("\n-- ")) // the files
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			found := runLine.FindStringSubmatch(strings.ReplaceAll(line, "'", ""))
			if found == nil {
				continue
			}
			r := transcript{args: strings.Fields(found[2]), code: "0"}
			if found[1] != "" {
				r.code = found[1]
			}
			if i+1 < len(lines) {
				r.then = lines[i+1]
			}
			all = append(all, r)
		}
	}
	return all
}

// shown reports whether a script looks at what the command has printed, or, of one
// that goes on in the background, waits for it.
func (r transcript) shown() bool {
	return regexp.MustCompile(`^(! )?(stdout|stderr|cmp|cmpenv|capture|nodeid|cp stdout|exists|await) ?`).MatchString(r.then)
}

// TestEveryCommandHasATranscript demands a script that runs each command as text and
// as JSON, without an error of usage, and looks at what it prints. bench would take
// minutes.
func TestEveryCommandHasATranscript(t *testing.T) {
	root := newRoot(&cli.Process{})
	seen := map[string][2]bool{}
	for _, r := range transcripts(t) {
		if r.code == "1" || !r.shown() {
			continue
		}
		cmd, _, err := root.Find(r.args)
		if err != nil || !cmd.HasParent() {
			continue
		}
		forms := seen[namedPath(cmd)]
		if slices.Contains(r.args, "--json") {
			forms[1] = true
		} else {
			forms[0] = true
		}
		seen[namedPath(cmd)] = forms
	}
	everyLeaf(func(path string, _ *cobra.Command) {
		for i, form := range []string{"text", "JSON"} {
			if !seen[path][i] && path != "stoa bench" {
				t.Errorf("%s: no script in testdata/script shows what it prints as %s", path, form)
			}
		}
	})
}
