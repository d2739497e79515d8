package op

import (
	"reflect"

	"google.golang.org/protobuf/proto"
)

// FieldError says which field of a message makes no sense.
type FieldError struct{ Field, Reason string }

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Mapping carries a Go value into a message and back.
type Mapping[V any] interface {
	fill(m proto.Message, v *V) error
	parse(m proto.Message, v *V) error
}

// Custom is a mapping by two functions, for messages whose fields are not those of V:
// oneofs, and fields that hang on each other.
type Custom[M, V any] struct {
	Fill  func(*M, *V) error
	Parse func(*M, *V) error
}

func (c *Custom[M, V]) fill(m proto.Message, v *V) error { return c.Fill(any(m).(*M), v) }

func (c *Custom[M, V]) parse(m proto.Message, v *V) error { return c.Parse(any(m).(*M), v) }

// bySole is the mapping of a V that is the only field of a message.
type bySole[V any] struct {
	in int
	conv
}

func (b bySole[V]) fill(m proto.Message, v *V) error {
	return b.to(reflect.ValueOf(m).Elem().Field(b.in), reflect.ValueOf(v).Elem())
}

func (b bySole[V]) parse(m proto.Message, v *V) error {
	return b.from(reflect.ValueOf(m).Elem().Field(b.in), reflect.ValueOf(v).Elem())
}

// whole is the mapping of a V that is the message itself.
type whole[V any] struct{}

func (whole[V]) fill(m proto.Message, v *V) error {
	proto.Merge(m, any(*v).(proto.Message))
	return nil
}

func (whole[V]) parse(m proto.Message, v *V) error {
	*v = m.(V)
	return nil
}

// mappingOf returns the mapping of a V for a message: the message itself, its only field,
// if that is a V, or else its fields.
func mappingOf[V any](m proto.Message) Mapping[V] {
	message, value := reflect.TypeOf(m).Elem(), reflect.TypeFor[V]()
	if value == reflect.TypeOf(m) {
		return whole[V]{}
	}
	if all := slotsOf(message); len(all) == 1 && all[0].arm == nil {
		if c, ok := converted(all[0].typ, value, "", all[0].name); ok {
			return bySole[V]{all[0].in, c}
		}
	}
	return byFields[V]{planOf(message, value)}
}
