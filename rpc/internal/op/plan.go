package op

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
)

// A plan is how the fields of a message are those of a Go struct. It is made once, of
// their types: a field of the message is the field of the struct that has its name, but
// for the case of letters, or has it in a tag, as `wire:"context_id"`; fields of embedded
// structs are the struct's. A field of the message that the struct lacks is a mistake of
// the program, which ends it as it begins; one of the struct alone must be zero.
//
// A tag may say more, after a comma: optional, an id that may be zeros, which is an empty
// field; or hash, 32 bytes that may be zeros.
type plan struct {
	fields []planned
	alone  [][]int // fields of the struct alone
}

type planned struct {
	name string // in the message
	in   int    // of the message's struct
	at   []int  // of the Go struct
	conv
}

// planOf makes the plan of a struct for a message, both of them types.
func planOf(message, value reflect.Type) *plan {
	p := new(plan)
	taken := map[int]bool{}
	for _, v := range reflect.VisibleFields(value) {
		if !v.IsExported() {
			continue
		}
		name, how, _ := strings.Cut(v.Tag.Get("wire"), ",")
		f, ok := fieldOf(message, v.Name, name)
		switch {
		case ok && !taken[f.Index[0]]:
			taken[f.Index[0]] = true
			p.fields = append(p.fields, planned{nameOf(f), f.Index[0], v.Index, convert(f.Type, v.Type, how, nameOf(f))})
		case !v.Anonymous:
			p.alone = append(p.alone, v.Index)
		}
	}
	for i := range message.NumField() {
		if f := message.Field(i); f.IsExported() && !taken[i] {
			panic(fmt.Sprintf("op: %s has a field %s, and %s has none", message, f.Name, value))
		}
	}
	return p
}

func fieldOf(message reflect.Type, name, tagged string) (reflect.StructField, bool) {
	for i := range message.NumField() {
		f := message.Field(i)
		if f.IsExported() && (tagged != "" && nameOf(f) == tagged || tagged == "" && strings.EqualFold(f.Name, name)) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// nameOf returns the name that a field has in the protocol.
func nameOf(f reflect.StructField) string {
	_, rest, _ := strings.Cut(f.Tag.Get("protobuf"), "name=")
	name, _, _ := strings.Cut(rest, ",")
	return name
}

// fill writes a struct into a message. It returns the first field of the struct that is
// set and that the message lacks.
func (p *plan) fill(message, value reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if err := f.to(message.Field(f.in), value.FieldByIndex(f.at)); err != nil {
			return err
		}
	}
	for _, at := range p.alone {
		if !value.FieldByIndex(at).IsZero() {
			return fmt.Errorf("op: %s has no field for %s", message.Type(), value.Type().FieldByIndex(at).Name)
		}
	}
	return nil
}

// parse reads a message into a struct, whose fields are zero. It returns the first
// field that makes no sense.
func (p *plan) parse(message, value reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if err := f.from(message.Field(f.in), value.FieldByIndex(f.at)); err != nil {
			return err
		}
	}
	return nil
}

// byFields is the mapping of a V by a plan.
type byFields[V any] struct{ *plan }

func (b byFields[V]) fill(m proto.Message, v *V) error {
	return b.plan.fill(reflect.ValueOf(m).Elem(), reflect.ValueOf(v).Elem())
}

func (b byFields[V]) parse(m proto.Message, v *V) error {
	return b.plan.parse(reflect.ValueOf(m).Elem(), reflect.ValueOf(v).Elem())
}

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
	sole, n := 0, 0
	for i := range message.NumField() {
		if message.Field(i).IsExported() {
			sole, n = i, n+1
		}
	}
	if n == 1 {
		f := message.Field(sole)
		if c, ok := converted(f.Type, value, "", nameOf(f)); ok {
			return bySole[V]{sole, c}
		}
	}
	return byFields[V]{planOf(message, value)}
}
