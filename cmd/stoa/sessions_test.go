package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sessionMark is in the documents of which all blocks of shell are one session, in an empty
// folder, and each block of text is what the one before it prints.
const sessionMark = "<!-- session: "

// block is a fenced block of shell, with the one of text behind it.
var block = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?")

// differs is what is other each time in what is printed: ids, times, sizes and counts.
var differs = regexp.MustCompile(`[0-9a-f]{12,}|[0-9]+`)

// TestSessionsOfDocumentsPrintWhatTheySay pastes each session, and compares what it prints
// with what the document says; -update writes it there.
func TestSessionsOfDocumentsPrintWhatTheySay(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	found := 0
	for path, text := range documents(t) {
		if !strings.Contains(text, sessionMark) {
			continue
		}
		found++
		t.Run(filepath.Base(path), func(t *testing.T) {
			blocks := block.FindAllStringSubmatch(text, -1)
			printed := pasteSession(t, blocks)
			n := -1
			is := block.ReplaceAllStringFunc(text, func(all string) string {
				n++
				if _, _, has := strings.Cut(all, "```text\n"); !has {
					require.Empty(t, printed[n], "what this prints is not in %s:\n%s", path, blocks[n][1])
					return all
				}
				if !*update {
					require.Equal(t, alike(blocks[n][2]), alike(printed[n]),
						"what is printed by this, in %s: go test ./cmd/stoa -run Sessions -update\n%s", path, blocks[n][1])
				}
				return "```sh\n" + blocks[n][1] + "```\n\n```text\n" + printed[n] + "```"
			})
			if *update {
				require.NoError(t, os.WriteFile(filepath.Join("../..", path), []byte(is), 0o644))
			}
		})
	}
	require.Equal(t, 2, found)
}

// alike returns lines without what is other each time: their order by random ids too, and how
// often one comes.
func alike(printed string) []string {
	lines := strings.Split(differs.ReplaceAllString(printed, "#"), "\n")
	slices.Sort(lines)
	return slices.Compact(lines)
}

// pasteSession pastes blocks into one shell, and returns what each has printed.
func pasteSession(t *testing.T, blocks [][]string) (printed []string) {
	const end = "\x01end of a block\x01\n"
	var script strings.Builder
	script.WriteString("set -u\nunset STOA_DIR STOA_SOCKET\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n")
	for _, b := range blocks {
		script.WriteString("set -e\n" + b[1] + "set +e\nprintf '" + end[:len(end)-1] + "\\n'\n")
	}
	p := newPasting(t)
	out, err := p.paste(script.String())
	printed = strings.Split(strings.ReplaceAll(out, p.dir, "/home/you"), end)
	require.NoError(t, err, "it ends in block %d:\n%s\nwhich prints\n%s", len(printed)-1, blocks[min(len(printed), len(blocks))-1][1], printed[len(printed)-1])
	require.Len(t, printed, len(blocks)+1)
	return printed
}
