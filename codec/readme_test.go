package codec

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stoadb/stoa/column/readmetest"
)

var update = flag.Bool("update", false, "rewrite the table of README.md")

func TestReadmeTableIsCurrent(t *testing.T) { readmetest.Table(t, *update, "types", typeTable()) }

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
