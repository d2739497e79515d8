package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/enginetest"
)

// snippet is a fenced block of a document.
type snippet struct {
	at   string // the document
	text string
}

// documents returns the Markdown of the repository, by path.
func documents(t *testing.T) map[string]string {
	all := map[string]string{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			b, err := fs.ReadFile(root, path)
			all[path] = string(b)
			return err
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 15)
	return all
}

// snippets returns the fenced blocks of these languages in all documents.
func snippets(t *testing.T, languages ...string) (list []snippet) {
	fenced := regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")
	for path, text := range documents(t) {
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			for _, l := range languages {
				if block[1] == l {
					list = append(list, snippet{path, block[2]})
				}
			}
		}
	}
	return list
}

// shells are the languages of blocks that are pasted.
var shells = []string{"sh", "console", "bash", "shell"}

// notPasted are the lines of shell that no test can paste, and why.
var notPasted = []struct {
	line *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`^(STOA_[A-Z_]+=\S+ )?make `), "it runs for minutes or hours; TestTargetsOfDocumentsAreThere looks for its target"},
	{regexp.MustCompile(`^eval "\$\(make -s env\)"$`), "it sets the compiler's flags, and the tests of engine/rocks are built by them"},
	{regexp.MustCompile(`^go test ./fuzz .*-fuzztime`), "it fuzzes for ten minutes"},
	{regexp.MustCompile(`^grpcurl `), "grpcurl is another project's; rpc/server lists the services by reflection in its own tests"},
}

// TestShellOfDocumentsWorksAsPasted pastes every fenced block of shell of the READMEs
// beside a daemon, line by line where they are printed.
func TestShellOfDocumentsWorksAsPasted(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	p := newPasting(t)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "README.md"), readme, 0o600))
	p.serve("stoa-data")
	defer p.stop()
	pasted, excused, all := 0, map[string]bool{}, documents(t)
	for _, s := range snippets(t, shells...) {
		if strings.Contains(all[s.at], sessionMark) {
			continue // TestSessionsOfDocumentsPrintWhatTheySay pastes it
		}
		var lines []string
		for line := range strings.Lines(s.text) {
			line = strings.TrimSpace(strings.TrimPrefix(line, "$ "))
			why := ""
			for _, n := range notPasted {
				if n.line.MatchString(line) {
					why = n.why
				}
			}
			if why == "" && line != "" {
				lines = append(lines, line)
			}
			excused[why] = true
		}
		if len(lines) == 0 {
			continue
		}
		pasted += len(lines)
		out, err := p.paste("set -eu; unset STOA_DIR\n" + strings.Join(lines, "\n"))
		require.NoError(t, err, "%s:\n%s", s.at, out)
	}
	require.GreaterOrEqual(t, pasted, 10, "the session of README.md")
	for _, n := range notPasted {
		require.True(t, excused[n.why], "no document has what notPasted excuses: %s", n.line)
	}
}

// TestGoOfDocumentsRuns runs every whole program of Go of the documents beside a daemon.
func TestGoOfDocumentsRuns(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	enginetest.SkipUnderRace(t, "package rpc and its examples are tested there")
	p := newPasting(t)
	p.serve("stoa-data")
	defer p.stop()
	ran := 0
	for _, s := range snippets(t, "go") {
		if !strings.HasPrefix(s.text, "package main\n") {
			continue
		}
		ran++
		source, program := filepath.Join(p.dir, "main.go"), filepath.Join(p.dir, "program")
		require.NoError(t, os.WriteFile(source, []byte(s.text), 0o600))
		build := exec.Command("go", "build", "-o", program, source) // in the module
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		said, err := build.CombinedOutput()
		require.NoError(t, err, "%s:\n%s", s.at, said)
		out, err := p.paste(program)
		require.NoError(t, err, "%s:\n%s", s.at, out)
		require.NotEmpty(t, out, s.at)
	}
	require.Equal(t, 2, ran)
}

// TestTargetsOfDocumentsAreThere looks for each `make` of the documents in the Makefile.
func TestTargetsOfDocumentsAreThere(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	called := regexp.MustCompile("(?m)(?:`|^    )(?:STOA_[A-Z_]+=\\S+ )?make ([a-z][a-z-]*)")
	all := documents(t)
	for _, s := range snippets(t, shells...) {
		all[s.at] += "\n    " + strings.ReplaceAll(s.text, "\n", "\n    ") // as it is written indented
	}
	found := 0
	for path, text := range all {
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			found++
			there := strings.Contains(string(makefile), "\n"+m[1]+":")
			require.True(t, there, "%s names make %s", path, m[1])
		}
	}
	require.Greater(t, found, 30)
}

// TestCommandsOfDocumentsAreThere parses each `stoa …` within the text of the documents: the
// command is there, and has the flags. What ends with … may go on.
func TestCommandsOfDocumentsAreThere(t *testing.T) {
	called := regexp.MustCompile("`(?:STOA_[A-Z_]+=\\S+ )?stoa ([a-z][^`]*)`")
	found := 0
	for path, text := range documents(t) {
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "format VERSION ") {
				continue // the bytes of a file, engine/rocks/README.md
			}
			found++
			words := strings.Fields(strings.TrimPrefix(m[1], "help "))
			cmd, rest, err := newRoot(&cli.Process{}).Find(words)
			require.NoError(t, err, "%s: stoa %s", path, m[1])
			require.True(t, cmd.HasParent(), "%s: stoa %s", path, m[1])
			for i, word := range rest {
				if word == "--" { // what follows is another program's
					break
				}
				if strings.HasPrefix(word, "-") {
					require.True(t, hasFlag(cmd, word), "%s: stoa %s", path, m[1])
				} else if i == 0 && cmd.HasSubCommands() {
					require.Equal(t, "…", word, "%s: stoa %s", path, m[1])
				}
			}
		}
	}
	require.Greater(t, found, 90)
}

// hasFlag reports whether a command has the flag that a word of its command line sets, or
// with … at its end one that begins so.
func hasFlag(cmd *cobra.Command, word string) (has bool) {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if start, goesOn := strings.CutSuffix(name, "…"); goesOn {
		return strings.Contains(cmd.UsageString(), "--"+start)
	}
	return cmd.Flag(name) != nil || cmd.InheritedFlags().Lookup(name) != nil || cmd.Flags().ShorthandLookup(name) != nil && len(name) == 1
}

// TestSettingsOfDocumentsAreFlags looks for each setting of the TOML of the documents among
// the flags of serve.
func TestSettingsOfDocumentsAreFlags(t *testing.T) {
	serve, _, err := newRoot(&cli.Process{}).Find([]string{"serve"})
	require.NoError(t, err)
	found := 0
	for _, s := range snippets(t, "toml") {
		for _, m := range regexp.MustCompile(`(?m)^([a-z-]+) *=`).FindAllStringSubmatch(s.text, -1) {
			found++
			require.NotNil(t, serve.Flag(m[1]), "%s: %s", s.at, m[1])
		}
	}
	require.Positive(t, found)
}
