package cli

import (
	"fmt"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// ParseColumn returns the column that a user named, in upper or lower case.
func ParseColumn(name string) (column.Column, error) {
	for c := range column.All {
		if strings.EqualFold(c.String(), name) {
			return c, nil
		}
	}
	names := ColumnNames()
	return 0, Bad(fmt.Errorf("no column %q%s", name, DidYouMean(name, names)), "the columns are "+strings.Join(names, ", "))
}

// ValueType returns the value type of that name, or that of the values under
// the key type of that name.
func ValueType(name string) (codec.Type, error) {
	if t, ok := codec.TypeByName(name); ok {
		return t, nil
	}
	if i, ok := keys.ByName(name); ok {
		return i.Value, nil
	}
	return codec.Type{}, Bad(fmt.Errorf("no value type %q%s", name, DidYouMean(name, ValueTypeNames())), "`stoa schema` lists them")
}

// ColumnNames returns the names of all columns.
func ColumnNames() (names []string) {
	for c := range column.All {
		names = append(names, c.String())
	}
	return names
}

// ValueTypeNames returns the names of all value types.
func ValueTypeNames() (names []string) {
	for t := range codec.Types() {
		names = append(names, t.Name)
	}
	return names
}
