package op

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
)

// A slot is a field of a message: of its struct, or of one of the structs that a oneof
// may have.
type slot struct {
	name string // in the protocol
	gone string // in Go
	in   int    // of the message's struct
	arm  reflect.Type
	typ  reflect.Type
}

// slotsOf returns the fields of a message.
func slotsOf(message reflect.Type) (all []slot) {
	for i := range message.NumField() {
		f := message.Field(i)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Interface:
			all = append(all, armsOf(message, i)...)
		default:
			all = append(all, slot{name: nameOf(f), gone: f.Name, in: i, typ: f.Type})
		}
	}
	return all
}

// armsOf returns what a oneof may have.
func armsOf(message reflect.Type, in int) (all []slot) {
	of := reflect.New(message)
	m := of.Interface().(proto.Message).ProtoReflect()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		m.Set(fields.Get(i), m.NewField(fields.Get(i)))
		if set := of.Elem().Field(in); !set.IsNil() {
			arm := set.Elem().Type().Elem()
			all = append(all, slot{name: nameOf(arm.Field(0)), gone: arm.Field(0).Name, in: in, arm: arm, typ: arm.Field(0).Type})
			set.SetZero()
		}
		m.Clear(fields.Get(i))
	}
	return all
}

// convert returns how a value goes into the field. One of a oneof is a pointer in Go,
// nil where it is not the one that is set.
func (s slot) convert(value reflect.Type, how string) conv {
	if s.arm == nil {
		return convert(s.typ, value, how, s.name)
	}
	in := value
	if value != s.typ {
		in = value.Elem()
	}
	c := convert(s.typ, in, how, s.name)
	part := func(v reflect.Value) reflect.Value {
		if in == value {
			return v
		}
		return v.Elem()
	}
	return conv{
		to: func(f, v reflect.Value) error {
			if v.IsNil() {
				return nil
			}
			f.Set(reflect.New(s.arm))
			return c.to(f.Elem().Elem().Field(0), part(v))
		},
		from: func(f, v reflect.Value) error {
			if f.IsNil() || f.Elem().Type().Elem() != s.arm {
				return nil
			}
			if in != value {
				v.Set(reflect.New(in))
			}
			return c.from(f.Elem().Elem().Field(0), part(v))
		},
	}
}

// nameOf returns the name that a field has in the protocol.
func nameOf(f reflect.StructField) string {
	_, rest, _ := strings.Cut(f.Tag.Get("protobuf"), "name=")
	name, _, _ := strings.Cut(rest, ",")
	return name
}
