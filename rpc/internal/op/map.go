package op

// Map carries values between the fields of a message and Go, one way or the other. A
// field that makes no sense is kept as the first error, and what follows is carried
// all the same.
type Map struct {
	parsing bool
	err     error
}

// FieldError says which field of a message makes no sense.
type FieldError struct{ Field, Reason string }

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Parsing reports whether values go from the message to Go.
func (m *Map) Parsing() bool { return m.parsing }

// Fail keeps err, unless it is nil or there is one already.
func (m *Map) Fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// Same carries a field that is the same in Go. Bytes are shared.
func Same[T any](m *Map, field, v *T) {
	if m.parsing {
		*v = *field
	} else {
		*field = *v
	}
}

// Text carries bytes that are a string in Go.
func Text[T ~string](m *Map, field *[]byte, v *T) {
	if m.parsing {
		*v = T(*field)
	} else {
		*field = []byte(*v)
	}
}

// Integer is any integer.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64
}

// Number carries a number that has another type in Go, which has room for it. What is
// negative in Go alone is sent as 0.
func Number[F, V Integer](m *Map, field *F, v *V) {
	if m.parsing {
		*v = V(*field)
	} else if *field = F(*v); *v < 0 && F(0)-1 > 0 {
		*field = 0
	}
}

// Via carries a field by a function for each direction.
func Via[F, V any](m *Map, field *F, v *V, to func(*V) F, from func(F) (V, error)) {
	if !m.parsing {
		*field = to(v)
		return
	}
	got, err := from(*field)
	*v = got
	m.Fail(err)
}

// Always is a function for Via and List that can't fail.
func Always[F, V any](from func(F) V) func(F) (V, error) {
	return func(f F) (V, error) { return from(f), nil }
}

// List carries what a repeated field has, by a function for each direction.
func List[F, V any](m *Map, field *[]F, list *[]V, to func(*V) F, from func(F) (V, error)) {
	if !m.parsing {
		*field = make([]F, len(*list))
		for i := range *list {
			(*field)[i] = to(&(*list)[i])
		}
		return
	}
	*list = make([]V, 0, len(*field))
	for _, f := range *field {
		v, err := from(f)
		if err != nil {
			m.Fail(err)
			return
		}
		*list = append(*list, v)
	}
}
