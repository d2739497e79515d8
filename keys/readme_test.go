package keys

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stoadb/stoa/column/readmetest"
)

var update = flag.Bool("update", false, "rewrite the tables of README.md")

func TestReadmeTablesAreCurrent(t *testing.T) {
	readmetest.Table(t, *update, "key types", keyTable())
	readmetest.Table(t, *update, "scopes", scopeTable())
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
