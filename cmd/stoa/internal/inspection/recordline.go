package inspection

import (
	"encoding/json"
	"strings"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/keys"
)

// recordLine returns a record for people, on one line; long fields are cut.
func recordLine(r inspect.Record) (string, error) {
	info, ok := keys.ByName(r.Type)
	if !ok {
		return strings.TrimRight(r.Column+" "+cli.Shorten(r.KeyHex, cli.LineText)+"  "+r.Fault, " "), nil
	}
	if r.Document != nil && r.Fault == "" {
		return r.Type + "  " + cli.DocumentLine(r.Document), nil
	}
	value := r.Value
	if value == nil {
		value = json.RawMessage("{}")
	}
	line, err := cli.RecordLine(info, r.Key, value)
	if r.KV != nil && err == nil {
		line, err = cli.KeyValuesLine(info, r.KV, value)
	}
	switch {
	case r.Sealed != "":
		line += "  sealed=" + r.Sealed
	case r.Fault != "":
		line += "  does not parse: " + r.Fault
	}
	return line, err
}
