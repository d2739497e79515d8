package namespace

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

var update = flag.Bool("update", false, "rewrite the table of README.md and testdata/ops.json")

func TestReadmeTableIsCurrent(t *testing.T) {
	typ, _ := codec.TypeByName("RootOp")
	var b strings.Builder
	b.WriteString("| Tag | Root op | Fields in order |\n|---|---|---|\n")
	var fields []string
	for i, f := range typ.Fields {
		if tag, ok := strings.CutPrefix(f.Kind, "variant "); ok {
			fmt.Fprintf(&b, "| %s | %s | ", tag, f.Name)
			fields = nil
		} else {
			_, field, _ := strings.Cut(f.Name, ".")
			fields = append(fields, field+" "+strings.NewReplacer("<", "\\<", ">", "\\>").Replace(f.Kind))
		}
		if i+1 == len(typ.Fields) || strings.HasPrefix(typ.Fields[i+1].Kind, "variant ") {
			b.WriteString(strings.Join(fields, "; ") + " |\n")
		}
	}
	src, err := os.ReadFile("README.md")
	require.NoError(t, err)
	begin, end := "<!-- begin ops: go test ./namespace -update -->\n", "<!-- end ops -->"
	head, rest, ok := strings.Cut(string(src), begin)
	require.True(t, ok)
	old, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(head+begin+b.String()+end+tail), 0o644))
		return
	}
	require.Equal(t, b.String(), old, "run: go test ./namespace -update")
}
