package op

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/grpc"
)

// Entry is an operation.
type Entry interface {
	// About returns what is known of the operation besides its messages.
	About() *Method
	// Plan plans how the messages are mapped, which the first call does otherwise, and
	// panics if they are not what Go has.
	Plan()
	// Register adds the operation to a service.
	Register(h Host, d *grpc.ServiceDesc)
}

// entries are the operations of each service, such as stoa.v1.Kv. They are listed as the
// variables of package rpc that they are the values of are made; none is added later.
var entries = map[string][]Entry{}

// enter adds an operation to those of its service. It panics for one that everybody
// might call because nobody has thought of it.
func enter(e Entry) {
	if e.About().Role == 0 {
		panic("op: " + e.About().Name + " names no role")
	}
	service, _, _ := strings.Cut(e.About().Name, ".")
	entries[pkg+service] = append(entries[pkg+service], e)
}

// Entries returns the operations of a service, such as stoa.v1.Kv.
func Entries(service string) []Entry { return entries[service] }

// Methods returns those of all operations, in the order of their numbers.
func Methods() []*Method {
	var all []*Method
	for _, service := range entries {
		for _, e := range service {
			all = append(all, e.About())
		}
	}
	slices.SortFunc(all, func(a, b *Method) int { return cmp.Compare(a.Number, b.Number) })
	return all
}
