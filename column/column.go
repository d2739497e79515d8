// Package column names the columns of the store, one RocksDB column family
// each, and says how each is laid out and tuned.
//
// Start at Column; Spec holds what an engine needs to know about one.
package column

import "fmt"

// Column is one of the eleven columns of the store. Its number is the column's
// number in batch bytes and on the wire. The zero Column is not a column.
type Column uint8

// The columns, in the order in which their families are created.
const (
	Meta         Column = 1 + iota // context id -> context metadata
	Config                         // context id -> revision counters
	Identity                       // context id -> this node's keypair, secret
	State                          // context id, app key -> shared state, raw bytes
	PrivateState                   // context id, app key -> node-local state, raw bytes
	Delta                          // context id, delta id -> causal delta
	Blobs                          // blob id -> manifest; blob id, index -> chunk
	Application                    // application id -> application record
	Alias                          // kind, scope, name -> id
	Generic                        // scope, fragment -> per scope
	Group                          // prefix byte, ids -> governance
	end
)

// Count is the number of columns.
const Count = int(end) - 1

// Valid reports whether c is a column.
func (c Column) Valid() bool { return c >= Meta && c < end }

// String returns the name of c, or "Column(n)" if c is not a column.
func (c Column) String() string {
	if !c.Valid() {
		return fmt.Sprintf("Column(%d)", uint8(c))
	}
	return specs[c].Name
}

// Parse returns the column with the given name, exactly as Spec.Name has it.
func Parse(name string) (Column, bool) {
	for c := range All {
		if specs[c].Name == name {
			return c, true
		}
	}
	return 0, false
}

// All yields every column in the order of their numbers.
func All(yield func(Column) bool) {
	for c := Meta; c < end; c++ {
		if !yield(c) {
			return
		}
	}
}
