package op

import "reflect"

// optional carries zeros as a field that is not set.
func optional(c conv) conv {
	return conv{
		to: func(f, v reflect.Value) error {
			if unset(v) {
				return nil
			}
			return c.to(f, v)
		},
		from: func(f, v reflect.Value) error {
			if unset(f) {
				return nil
			}
			return c.from(f, v)
		},
	}
}

// unset reports whether v is what a field is that is not set.
func unset(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// pointer carries nil as a field that is not set.
func pointer(field, value reflect.Type, how, name string) (conv, bool) {
	c, ok := converted(field, value.Elem(), how, name)
	return conv{
		to: func(f, v reflect.Value) error {
			if v.IsNil() {
				return nil
			}
			return c.to(f, v.Elem())
		},
		from: func(f, v reflect.Value) error {
			if unset(f) {
				return nil
			}
			v.Set(reflect.New(value.Elem()))
			return c.from(f, v.Elem())
		},
	}, ok
}

// isOption says whether values are those of codec.Option.
func isOption(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 2 && t.Field(0).Name == "V" && t.Field(1).Name == "Valid"
}

// option carries none as a field that is not set, or is nil.
func option(field, value reflect.Type, how, name string) (conv, bool) {
	scalar := field.Kind() == reflect.Pointer && field.Elem().Kind() != reflect.Struct
	in := field
	if scalar {
		in = field.Elem()
	}
	c, ok := converted(in, value.Field(0).Type, how, name)
	return conv{
		to: func(f, v reflect.Value) error {
			if !v.Field(1).Bool() {
				return nil
			}
			if scalar {
				f.Set(reflect.New(in))
				f = f.Elem()
			}
			return c.to(f, v.Field(0))
		},
		from: func(f, v reflect.Value) error {
			if unset(f) {
				return nil
			}
			if scalar {
				f = f.Elem()
			}
			v.Field(1).SetBool(true)
			return c.from(f, v.Field(0))
		},
	}, ok
}
