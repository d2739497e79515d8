package main

import (
	"encoding/json"
	"strings"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/keys"
)

// recordLine returns a record for people, on one line; long fields are cut.
func recordLine(r inspect.Record) (string, error) {
	info, ok := keys.ByName(r.Type)
	if !ok {
		return strings.TrimRight(r.Column+" "+shortened(r.KeyHex, lineText)+"  "+r.Fault, " "), nil
	}
	d := rowDoc{Column: r.Column, Type: r.Type, Key: r.Key, Value: r.Value}
	if d.Value == nil {
		d.Value = json.RawMessage("{}")
	}
	line, err := d.line(info)
	switch {
	case r.Sealed != "":
		line += "  sealed=" + r.Sealed
	case r.Fault != "":
		line += "  does not parse: " + r.Fault
	}
	return line, err
}
