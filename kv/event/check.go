package event

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv"
)

// Check looks at the rows of the streams of one tenant, in their order, for what this
// package does not write so. That rows of package kv agree with each other is not looked
// at; kv.Check does that. The zero Check has seen none. It is not safe for concurrent use.
type Check struct {
	groups []string // "stream group" of those that every stream has
}

// Row says what is wrong with a row; "": nothing.
func (c *Check) Row(row kv.Row, value []byte) string {
	switch row.Shape {
	case kv.ShapeEntry:
		return entryFault(row, value)
	case kv.ShapeHead:
		if row.Kind != kv.KindStream || checkStream(string(row.Key)) != nil {
			return fmt.Sprintf("%q is none of the streams %s", row.Key, strings.Join(Streams(), ", "))
		}
	case kv.ShapeGroup:
		return c.group(string(row.Name), string(row.Key))
	case kv.ShapeRecord, kv.ShapeLog:
		return "a record, where only streams are"
	}
	return ""
}

func entryFault(row kv.Row, value []byte) string {
	if checkStream(string(row.Name)) != nil {
		return fmt.Sprintf("entry %d of none of the streams %s", row.Number, strings.Join(Streams(), ", "))
	}
	entry, err := kv.EntryOf(row, value)
	if err == nil {
		_, err = parseEvent(entry.Payload)
	}
	if err != nil {
		return fmt.Sprintf("entry %d: %s", row.Number, err)
	}
	return ""
}

func (c *Check) group(stream, group string) string {
	if checkStream(stream) != nil || checkName("group", group) != nil {
		return fmt.Sprintf("a group %q of %q: no group of a stream is called so", group, stream)
	}
	if slices.Contains(Groups(), group) {
		c.groups = append(c.groups, stream+" "+group)
	}
	return ""
}

// End says which of the groups that every stream has are missing, once all rows were looked
// at; "": none. They are made in one batch, so where none is there none was made yet.
func (c *Check) End() string {
	var missing []string
	for _, stream := range Streams() {
		for _, group := range Groups() {
			if !slices.Contains(c.groups, stream+" "+group) {
				missing = append(missing, group+" of "+stream)
			}
		}
	}
	if len(c.groups) == 0 || len(missing) == 0 {
		return ""
	}
	return "every stream has the same groups, and these are not there: " + strings.Join(missing, ", ")
}
