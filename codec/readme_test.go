package codec

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the table of README.md")

func TestReadmeTableIsCurrent(t *testing.T) { requireTable(t, "types", typeTable()) }

func typeTable() string {
	var b strings.Builder
	b.WriteString("| Type | Go | Fields in order | |\n|---|---|---|---|\n")
	for t := range Types() {
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, f.Name+" "+strings.NewReplacer("<", "\\<", ">", "\\>").Replace(f.Kind))
		}
		if len(fields) == 0 {
			fields = []string{"no bytes"}
		}
		secret := ""
		if t.Secret {
			secret = "secret"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", t.Name, strings.TrimPrefix(t.Go, "codec."), strings.Join(fields, "; "), secret)
	}
	return b.String()
}

// requireTable demands that README.md has the table between the markers of that
// name, or with -update puts it there.
func requireTable(t *testing.T, name, table string) {
	src, err := os.ReadFile("README.md")
	require.NoError(t, err)
	begin, end := "<!-- begin "+name+": go test ./codec -update -->\n", "<!-- end "+name+" -->"
	head, rest, ok := strings.Cut(string(src), begin)
	require.True(t, ok, "no marker of %s", name)
	old, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "no end of %s", name)
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(head+begin+table+end+tail), 0o644))
		return
	}
	require.Equal(t, table, old, "run: go test ./codec -update")
}
