package op

import (
	"reflect"

	"google.golang.org/protobuf/proto"
)

// FieldError says which field of a message makes no sense.
type FieldError struct{ Field, Reason string }

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Mapping carries a Go value, of which it is given a pointer, into a message and back.
type Mapping interface {
	fill(m proto.Message, v any) error
	parse(m proto.Message, v any) error
}

// Custom is a mapping by two functions, for messages whose fields are not those of V:
// oneofs, and fields that hang on each other.
type Custom[M, V any] struct {
	Fill  func(*M, *V) error
	Parse func(*M, *V) error
}

func (c *Custom[M, V]) fill(m proto.Message, v any) error { return c.Fill(any(m).(*M), v.(*V)) }

func (c *Custom[M, V]) parse(m proto.Message, v any) error { return c.Parse(any(m).(*M), v.(*V)) }

// bySole is the mapping of what is the only field of a message.
type bySole struct {
	in int
	conv
}

func (b bySole) fill(m proto.Message, v any) error {
	return b.to(reflect.ValueOf(m).Elem().Field(b.in), reflect.ValueOf(v).Elem())
}

func (b bySole) parse(m proto.Message, v any) error {
	return b.from(reflect.ValueOf(m).Elem().Field(b.in), reflect.ValueOf(v).Elem())
}

// whole is the mapping of what is the message itself.
type whole struct{}

func (whole) fill(m proto.Message, v any) error {
	proto.Merge(m, reflect.ValueOf(v).Elem().Interface().(proto.Message))
	return nil
}

func (whole) parse(m proto.Message, v any) error {
	reflect.ValueOf(v).Elem().Set(reflect.ValueOf(m))
	return nil
}

// mappingOf returns the mapping of values of a type for a message: the message itself, its only field,
// if that is what the values are, or else its fields.
func mappingOf(m proto.Message, value reflect.Type) Mapping {
	message := reflect.TypeOf(m).Elem()
	if value == reflect.TypeOf(m) {
		return whole{}
	}
	if all := slotsOf(message); len(all) == 1 && all[0].arm == nil {
		if c, ok := converted(all[0].typ, value, "", all[0].name); ok {
			return bySole{all[0].in, c}
		}
	}
	return byFields{planOf(message, value)}
}
