package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                          nil,
		"  # nothing":               nil,
		"status":                    {"status"},
		" kv  put\ta#b 1 # comment": {"kv", "put", "a#b", "1"},
		`put 'a b' "c\"d" e\ f`:     {"put", "a b", `c"d`, "e f"},
		`put "a\nb\\" 'c\d' ''`:     {"put", `a\nb\`, `c\d`, ""},
		`put '{"a":"b c"}'`:         {"put", `{"a":"b c"}`},
		`a"b"'c'`:                   {"abc"},
	} {
		got, err := split(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for line, want := range map[string]string{`a 'b`: "a quote has no end", `a "b\"`: "a quote has no end", `a\`: `nothing follows the \`} {
		_, err := split(line)
		require.EqualError(t, err, want, line)
	}
	for _, word := range []string{"", "a", "a b", "it's", `"`, `\`, "#", "ä", "$HOME", "a\tb"} {
		got, err := split("x " + cli.Quoted(word) + " y")
		require.NoError(t, err)
		require.Equal(t, []string{"x", word, "y"}, got)
	}
}

func TestHistory(t *testing.T) {
	p := &cli.Process{Env: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	h := openHistory(p)
	for i := range maxHistory + 2 {
		h.Add(fmt.Sprint("line ", i))
	}
	h.Add(fmt.Sprint("line ", maxHistory+1))
	h.Add(" a secret")
	h.Add("")
	h.close()
	again := openHistory(p)
	require.Equal(t, maxHistory, again.Len())
	require.Equal(t, fmt.Sprint("line ", maxHistory+1), again.At(0))
	require.Equal(t, "line 2", again.At(maxHistory-1))
	info, err := os.Stat(again.path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(again.path))
	require.NoError(t, err)
	require.Len(t, left, 1)

	require.Equal(t, "/h/.local/state/stoa/history", openHistory(&cli.Process{Env: []string{"HOME=/h"}}).path)
	nowhere := openHistory(&cli.Process{})
	nowhere.Add("a")
	nowhere.close()
	require.Equal(t, 1, nowhere.Len())
}

// answering is a shell whose commands print what is given for their words.
func answering(answers map[string]string) *shell {
	return &shell{p: &cli.Process{Ctx: context.Background()}, run: func(_ context.Context, args []string, _ io.Reader, stdout, _ io.Writer, _ []string) int {
		fmt.Fprint(stdout, answers[strings.Join(args, " ")])
		return cli.ExitOK
	}}
}

func TestCompletion(t *testing.T) {
	s := answering(map[string]string{
		"__completeNoDesc st":                  "stats\nstatus\nstream\n:4\n",
		"__completeNoDesc stat":                "stats\nstatus\n:4\n",
		"__completeNoDesc group members ":      "home\nthe kitchen\n:4\n",
		"__completeNoDesc group members t":     "the kitchen\n:4\n",
		"__completeNoDesc group members the k": "the kitchen\n:4\n",
		"__completeNoDesc group members x":     ":4\n",
		"__completeNoDesc e":                   ":4\n",
		"__completeNoDesc group members 'a":    "",
	})
	for line, want := range map[string]struct{ line, shown string }{
		"st|":                     {line: "st|", shown: "stats  status  stream\n"},
		"stat|":                   {line: "stat|", shown: "stats  status\n"},
		"stoa stat| --json":       {line: "stoa stat| --json", shown: "stats  status\n"},
		"group members |":         {line: "group members |", shown: "home  the kitchen\n"},
		"group members t|":        {line: "group members 'the kitchen' |"},
		"group members t| --json": {line: "group members 'the kitchen' | --json"},
		"group members 'the k|":   {line: "group members 'the kitchen' |"},
		`group members the\ k|`:   {line: "group members 'the kitchen' |"},
		"group members x|":        {line: "group members x|"},
		"e|":                      {line: "exit |"},
	} {
		var shown strings.Builder
		at := strings.Index(line, "|")
		got, pos, ok := s.complete(&shown, strings.Replace(line, "|", "", 1), at)
		require.True(t, ok)
		require.Equal(t, want.line, got[:pos]+"|"+got[pos:], line)
		require.Equal(t, want.shown, shown.String(), line)
	}
	many := answering(map[string]string{"__completeNoDesc ": strings.Join(slices.Repeat([]string{"a", "b"}, maxShown), "\n") + "\n:0\n"})
	var shown strings.Builder
	many.complete(&shown, "", 0)
	require.Equal(t, maxShown+1, len(strings.Fields(shown.String())))
	require.True(t, strings.HasSuffix(shown.String(), "…\n"))
}
