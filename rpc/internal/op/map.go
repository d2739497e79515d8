package op

import "google.golang.org/protobuf/proto"

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
