package op

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
)

// A plan is how the fields of a message are those of a Go struct. It is made once, when it is
// first needed, of their types: a field of the message is the field of the struct that has its name, but
// for the case of letters, or has it in a tag, as `wire:"context_id"`; fields of embedded
// structs are the struct's. A field of the message that the struct lacks is a mistake of
// the program, and panics; one of the struct alone must be zero.
//
// A tag may say more, after a comma: hash, 32 bytes that may be zeros; optional, zeros
// are a field that is not set; or inline, the fields of the struct in it are the struct's.
// The tag * is the field of the message that no other has, and - is not carried.
//
// Several fields of a struct may have the parts of a oneof: pointers, of which one is set.
type plan struct {
	fields []planned
	alone  [][]int // fields of the struct alone
	hook
}

type planned struct {
	in int   // of the message's struct
	at []int // of the Go struct
	conv
}

// plans are those that are made, by one goroutine at a time.
var (
	plans    = map[pair]*plan{}
	planning sync.Mutex
)

// once has plans made when they are first needed.
func once(build func()) func() {
	return sync.OnceFunc(func() {
		planning.Lock()
		defer planning.Unlock()
		build()
	})
}

// planOf makes the plan of a struct for a message, both of them types.
func planOf(message, value reflect.Type) *plan {
	key := pair{message, value}
	if made := plans[key]; made != nil {
		return made
	}
	p := &plan{hook: hooks[key]}
	plans[key] = p // before it is complete: structs may have their own
	complete := false
	defer func() {
		if !complete {
			delete(plans, key)
		}
	}()
	free := slotsOf(message)
	take := func(v *variable, is func(*slot) bool) bool {
		i := slices.IndexFunc(free, func(s slot) bool { return is(&s) })
		if i < 0 {
			return false
		}
		p.fields = append(p.fields, planned{free[i].in, v.at, free[i].convert(v.typ, v.how)})
		free = slices.Delete(free, i, i+1)
		return true
	}
	var last *variable
	var taken []int // an embedded struct that is a field as a whole, before its own fields
	for _, v := range variablesOf(value, nil) {
		switch {
		case taken != nil && len(v.at) > len(taken) && slices.Equal(v.at[:len(taken)], taken):
		case v.tag == "*":
			last = &v
		case take(&v, v.is):
			if v.embedded {
				taken = v.at
			}
		case !v.embedded:
			p.alone = append(p.alone, v.at)
		}
	}
	if last != nil {
		take(last, func(*slot) bool { return true })
	}
	if len(free) > 0 {
		panic(fmt.Sprintf("op: %s has a field %s, and %s has none", message, free[0].gone, value))
	}
	complete = true
	return p
}

// variable is a field of a Go struct.
type variable struct {
	name, tag, how string
	at             []int
	typ            reflect.Type
	embedded       bool
}

// is reports whether a field of a message has the name.
func (v *variable) is(s *slot) bool {
	return v.tag != "" && s.name == v.tag || v.tag == "" && strings.EqualFold(s.gone, v.name)
}

// variablesOf returns the fields of a struct that are carried.
func variablesOf(value reflect.Type, at []int) (all []variable) {
	for _, f := range reflect.VisibleFields(value) {
		v := variable{name: f.Name, at: append(slices.Clip(at), f.Index...), typ: f.Type, embedded: f.Anonymous}
		v.tag, v.how, _ = strings.Cut(tagOf(value, f), ",")
		switch {
		case !f.IsExported() || v.tag == "-":
		case v.how == "inline":
			all = append(all, variablesOf(f.Type, v.at)...)
		default:
			all = append(all, v)
		}
	}
	return all
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
	if p.to != nil {
		return p.to(message, value)
	}
	return nil
}

// parse reads a message into a struct, whose fields are zero. It returns the first
// field that makes no sense.
func (p *plan) parse(message, value reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if err := f.from(message.Field(f.in), made(value, f.at)); err != nil {
			return err
		}
	}
	if p.from != nil {
		return p.from(message, value)
	}
	return nil
}

// made returns a field of a struct, for which it makes what is embedded by a pointer.
func made(value reflect.Value, at []int) reflect.Value {
	for _, i := range at {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				value.Set(reflect.New(value.Type().Elem()))
			}
			value = value.Elem()
		}
		value = value.Field(i)
	}
	return value
}

// byFields is the mapping of a struct by a plan.
type byFields struct{ *plan }

func (b byFields) fill(m proto.Message, v any) error {
	return b.plan.fill(reflect.ValueOf(m).Elem(), reflect.ValueOf(v).Elem())
}

func (b byFields) parse(m proto.Message, v any) error {
	return b.plan.parse(reflect.ValueOf(m).Elem(), reflect.ValueOf(v).Elem())
}
