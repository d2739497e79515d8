package keys

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the tables of README.md")

func TestReadmeTablesAreCurrent(t *testing.T) {
	requireTable(t, "key types", keyTable())
	requireTable(t, "scopes", scopeTable())
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("| Key type | Column | Prefix | Fields | Bytes | Value | |\n|---|---|---|---|---|---|---|\n")
	for i := range Schema() {
		var fields []string
		for _, f := range i.Fields {
			size := fmt.Sprint(f.Bytes)
			if f.Bytes == 0 {
				size = "var"
			}
			fields = append(fields, fmt.Sprintf("%s %s", f.Name, size))
		}
		tag, size, secret := "", fmt.Sprint(i.Size), ""
		if i.Tag != 0 {
			tag = fmt.Sprintf("%02X", i.Tag)
		}
		if i.MaxVar > 0 {
			size += fmt.Sprintf("–%d", i.Size+i.MaxVar)
		}
		if i.Secret {
			secret = "secret"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` | %s |\n", i.Name, i.Column, tag,
			strings.Join(fields, " ‖ "), size, i.Value.Go, secret)
	}
	return b.String()
}

func scopeTable() string {
	var b strings.Builder
	b.WriteString("| Scope | Holds | Fragment | Value |\n|---|---|---|---|\n")
	for s := range Scopes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, s.Holds, s.Fragment, s.Value)
	}
	return b.String()
}

// requireTable demands that README.md has the table between the markers of that
// name, or with -update puts it there.
func requireTable(t *testing.T, name, table string) {
	src, err := os.ReadFile("README.md")
	require.NoError(t, err)
	begin, end := "<!-- begin "+name+": go test ./keys -update -->\n", "<!-- end "+name+" -->"
	head, rest, ok := strings.Cut(string(src), begin)
	require.True(t, ok, "no marker of %s", name)
	old, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "no end of %s", name)
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(head+begin+table+end+tail), 0o644))
		return
	}
	require.Equal(t, table, old, "run: go test ./keys -update")
}
