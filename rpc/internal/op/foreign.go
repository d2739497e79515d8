package op

import (
	"fmt"
	"reflect"
)

// What is said of types of other packages, which know nothing of messages. Nothing is
// added once the program runs.
var (
	tags  = map[reflect.Type]map[string]string{} // by the name of a field
	hooks = map[pair]hook{}
	vias  = map[reflect.Type]func(field reflect.Type, how, name string) (conv, bool){}
)

// Tags has fields of V carried as if they had tags: pairs are names of fields and their
// tags in turn. The name * is all fields that are not named. Packages say so as they are
// initialized, as for Pair.
func Tags[V any](pairs ...string) struct{} {
	t, of := reflect.TypeFor[V](), map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if _, ok := t.FieldByName(pairs[i]); !ok && pairs[i] != "*" {
			panic(fmt.Sprintf("op: %s has no field %s", t, pairs[i]))
		}
		of[pairs[i]] = pairs[i+1]
	}
	tags[t] = of
	return struct{}{}
}

// tagOf returns the tag of a field of a struct, or of one that is embedded in it.
func tagOf(t reflect.Type, f reflect.StructField) string {
	if n := len(f.Index); n > 1 {
		t = t.FieldByIndex(f.Index[:n-1]).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	of := tags[t]
	if tag, ok := of[f.Name]; ok {
		return tag
	}
	if tag, ok := of["*"]; ok {
		return tag
	}
	return f.Tag.Get("wire")
}

// hook is what follows the fields of a message.
type hook struct {
	to   func(message, value reflect.Value) error
	from func(message, value reflect.Value) error
}

// Also has more done where values of type V are carried as messages M, after their
// fields: to when a message is filled, from when it is read. Either may be nil.
func Also[M, V any](to, from func(*M, *V) error) struct{} {
	var h hook
	if to != nil {
		h.to = func(m, v reflect.Value) error { return to(m.Addr().Interface().(*M), v.Addr().Interface().(*V)) }
	}
	if from != nil {
		h.from = func(m, v reflect.Value) error { return from(m.Addr().Interface().(*M), v.Addr().Interface().(*V)) }
	}
	hooks[pair{reflect.TypeFor[M](), reflect.TypeFor[V]()}] = h
	return struct{}{}
}

// Via has values of type V carried as a W is, which is nearer to messages.
func Via[V, W any](to func(*V) W, from func(*W) (V, error)) struct{} {
	vias[reflect.TypeFor[V]()] = func(field reflect.Type, how, name string) (conv, bool) {
		c, ok := converted(field, reflect.TypeFor[W](), how, name)
		return conv{
			to: func(f, v reflect.Value) error {
				w := to(v.Addr().Interface().(*V))
				return c.to(f, reflect.ValueOf(&w).Elem())
			},
			from: func(f, v reflect.Value) error {
				var w W
				err := c.from(f, reflect.ValueOf(&w).Elem())
				if err == nil {
					*v.Addr().Interface().(*V), err = from(&w)
				}
				return err
			},
		}, ok
	}
	return struct{}{}
}

// Fields carries values of type V as messages M by the names of their fields, outside of
// operations.
type Fields[M, V any] struct{ plan func() *plan }

// NewFields returns how, which the first use plans.
func NewFields[M, V any]() Fields[M, V] {
	var p *plan
	build := once(func() { p = planOf(reflect.TypeFor[M](), reflect.TypeFor[V]()) })
	return Fields[M, V]{func() *plan {
		build()
		return p
	}}
}

// Message returns v as a message.
func (f Fields[M, V]) Message(v *V) (*M, error) {
	m := new(M)
	return m, f.plan().fill(reflect.ValueOf(m).Elem(), reflect.ValueOf(v).Elem())
}

// Value returns what a message says, nil being an empty one.
func (f Fields[M, V]) Value(m *M) (v V, err error) {
	if m == nil {
		m = new(M)
	}
	return v, f.plan().parse(reflect.ValueOf(m).Elem(), reflect.ValueOf(&v).Elem())
}
