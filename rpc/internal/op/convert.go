package op

import (
	"errors"
	"fmt"
	"reflect"
)

// conv is how a Go value goes into a field, and back.
type conv struct {
	to   func(field, value reflect.Value) error
	from func(field, value reflect.Value) error
}

// pair are two types of which one is in messages and the other in Go.
type pair struct{ field, value reflect.Type }

// pairs are those that have functions of their own; they are given the field's name.
// Nothing is added once the program runs.
var pairs = map[pair]func(name string) conv{}

// Pair has values of type V carried as fields of type F by two functions, in all
// operations. Packages do so as they are initialized; the result is nothing.
func Pair[F, V any](to func(*V) F, from func(name string, f F) (V, error)) struct{} {
	pairs[pair{reflect.TypeFor[F](), reflect.TypeFor[V]()}] = func(name string) conv {
		return conv{
			to: func(field, value reflect.Value) error {
				*field.Addr().Interface().(*F) = to(value.Addr().Interface().(*V))
				return nil
			},
			from: func(field, value reflect.Value) error {
				v, err := from(name, *field.Addr().Interface().(*F))
				*value.Addr().Interface().(*V) = v
				return err
			},
		}
	}
	return struct{}{}
}

// Always makes of a function that can't fail one for Pair.
func Always[F, V any](from func(F) V) func(string, F) (V, error) {
	return func(_ string, f F) (V, error) { return from(f), nil }
}

// convert is converted, and panics where there is no way.
func convert(field, value reflect.Type, how, name string) conv {
	c, ok := converted(field, value, how, name)
	if !ok {
		panic(fmt.Sprintf("op: no way from %s to the field %s, which is %s", value, name, field))
	}
	return c
}

var (
	raw     = reflect.TypeFor[[]byte]()
	rawList = reflect.TypeFor[[][]byte]()
)

// converted returns how a value goes into a field, as the tag of the value says.
func converted(field, value reflect.Type, how, name string) (conv, bool) {
	if how == "optional" {
		c, ok := converted(field, value, "hash", name)
		return optional(c), ok
	}
	if by, ok := pairs[pair{field, value}]; ok {
		return by(name), true
	}
	if by, ok := vias[value]; ok {
		return by(field, how, name)
	}
	switch {
	case field.Kind() == reflect.String && value.Kind() == reflect.String:
		return text(field, value, name), true
	case field == value:
		return same, true
	case field == raw && isFixed(value):
		return fixed(how, name), true
	case field == rawList && value.Kind() == reflect.Slice && isFixed(value.Elem()):
		return ids(value, name), true
	case field == raw && value.Kind() == reflect.String, field == raw && value.ConvertibleTo(raw) && value.Kind() == reflect.Slice:
		return converting(field, value), true
	case isInteger(field) && isInteger(value):
		return number(field, value, name), true
	case isOption(value):
		return option(field, value, how, name)
	case value.Kind() == reflect.Pointer:
		return pointer(field, value, how, name)
	case field.Kind() == reflect.Pointer && value.Kind() == reflect.Struct:
		return nested(planOf(field.Elem(), value), field, name), true
	case field.Kind() == reflect.Slice && value.Kind() == reflect.Slice:
		each, ok := converted(field.Elem(), value.Elem(), "", name)
		return list(each, field, value), ok
	}
	return conv{}, false
}

// isFixed says whether values are some number of bytes, as ids, keys and signatures.
func isFixed(t reflect.Type) bool {
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

// same shares bytes.
var same = conv{
	to:   func(field, value reflect.Value) error { field.Set(value); return nil },
	from: func(field, value reflect.Value) error { value.Set(field); return nil },
}

func converting(field, value reflect.Type) conv {
	return conv{
		to:   func(f, v reflect.Value) error { f.Set(v.Convert(field)); return nil },
		from: func(f, v reflect.Value) error { v.Set(f.Convert(value)); return nil },
	}
}

// number carries integers of two types. What is negative goes into a field that can't
// be as 0; what Go has no room for is refused.
func number(field, value reflect.Type, name string) conv {
	unsigned := field.Kind() >= reflect.Uint
	return conv{
		to: func(f, v reflect.Value) error {
			if !unsigned || !v.CanInt() || v.Int() >= 0 {
				f.Set(v.Convert(field))
			}
			return nil
		},
		from: func(f, v reflect.Value) error {
			if v.Set(f.Convert(value)); !v.Convert(field).Equal(f) {
				return &FieldError{name, fmt.Sprintf("%v is out of range", f)}
			}
			return nil
		},
	}
}

// fixed carries the bytes of an array. Zeros are refused, unless it is a hash.
func fixed(how, name string) conv {
	return conv{
		to: func(f, v reflect.Value) error {
			n := v.Len()
			f.SetBytes(append(make([]byte, 0, n), v.Slice(0, n).Bytes()...))
			return nil
		},
		from: func(f, v reflect.Value) error {
			if b := f.Bytes(); len(b) != v.Len() {
				return &FieldError{name, fmt.Sprintf("%d bytes instead of %d", len(b), v.Len())}
			}
			if reflect.Copy(v, f); how == "" && v.IsZero() {
				return &FieldError{name, "all zeros, which is no id"}
			}
			return nil
		},
	}
}

func ids(value reflect.Type, name string) conv {
	return optional(list(fixed("hash", name), rawList, value))
}

// nested carries the fields of a message in another. An error names them with the name
// of the field that has the message.
func nested(p *plan, field reflect.Type, name string) conv {
	return conv{
		to: func(f, v reflect.Value) error {
			f.Set(reflect.New(field.Elem()))
			return p.fill(f.Elem(), v)
		},
		from: func(f, v reflect.Value) error {
			if f.IsNil() {
				f = reflect.New(field.Elem())
			}
			return inField(name, p.parse(f.Elem(), v))
		},
	}
}

// inField returns err with the name of the field that has the one which it is about.
func inField(name string, err error) error {
	var e *FieldError
	if errors.As(err, &e) {
		return &FieldError{name + "." + e.Field, e.Reason}
	}
	return err
}

func list(each conv, field, value reflect.Type) conv {
	return conv{
		to: func(f, v reflect.Value) error {
			n := v.Len()
			f.Set(reflect.MakeSlice(field, n, n))
			for i := range n {
				if err := each.to(f.Index(i), v.Index(i)); err != nil {
					return err
				}
			}
			return nil
		},
		from: func(f, v reflect.Value) error {
			n := f.Len()
			v.Set(reflect.MakeSlice(value, n, n))
			for i := range n {
				if err := each.from(f.Index(i), v.Index(i)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
