package kvstorage

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
)

// Surface is the name under which hosts offer the operations of [Storage.Call].
const Surface = "kvStorage"

// arg is an argument: what it may be, and by which other names it goes.
type arg struct {
	name    string
	is      func(json.RawMessage) bool
	aliases []string
}

var (
	anything = func(json.RawMessage) bool { return true }
	keyArg   = arg{"key", isText, nil}
	ttlArg   = arg{"ttlSeconds", isNumber, nil}
)

// operation is one that Call knows.
type operation struct {
	name    string
	aliases []string
	args    []arg
	run     func(s *Storage, ctx context.Context, tenant string, a arguments) (any, error)
}

// operations are those of both vocabularies of the source. They are never
// written to.
var operations = []operation{
	{"get", nil, []arg{keyArg}, callGet},
	{"put", []string{"set"}, []arg{keyArg, {"value", anything, nil}, ttlArg}, callPut},
	{"delete", []string{"del"}, []arg{keyArg}, callDelete},
	{"list", nil, []arg{{"prefix", isText, nil}, {"cursor", isText, nil}, {"limit", isNumber, nil}, {"values", isFlag, nil}}, callList},
	{"increment", []string{"incr"}, []arg{keyArg, {"delta", isInteger, nil}, ttlArg}, callIncrement},
	{"compareAndSwap", []string{"cas"}, []arg{keyArg, {"expect", anything, []string{"expectedValue"}}, {"newValue", anything, []string{"set"}},
		{"expectAbsent", isFlag, nil}, {"strict", isFlag, nil}, ttlArg}, callSwap},
	{"touch", []string{"expire"}, []arg{keyArg, ttlArg}, callTouch},
	{"capabilities", nil, nil, callCapabilities},
}

// Call is an operation with its arguments as a JSON object, and its result as
// one, which names everything in both vocabularies. An operation, a surface or
// an argument that there is not is invalid_argument.
func (s *Storage) Call(ctx context.Context, surface, op, tenant string, args []byte) (json.RawMessage, error) {
	out, err := s.call(ctx, surface, op, tenant, args)
	if err != nil {
		return nil, s.clientError(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // values stay canonical
	if err := encoder.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

func (s *Storage) call(ctx context.Context, surface, name, tenant string, args []byte) (any, error) {
	if surface != Surface {
		return nil, refuse(InvalidArgument, "surface", "the surface is %s", Surface)
	}
	op := operationOf(name)
	if op == nil {
		return nil, refuse(InvalidArgument, "op", "there is no such operation")
	}
	canonical, err := canonical("args", args)
	if err != nil {
		return nil, err
	}
	a, err := op.arguments(canonical)
	if err != nil {
		return nil, err
	}
	return op.run(s, ctx, tenant, a)
}

func operationOf(name string) *operation {
	for i := range operations {
		for _, known := range append([]string{operations[i].name}, operations[i].aliases...) {
			if known == name {
				return &operations[i]
			}
		}
	}
	return nil
}

// arguments returns the arguments under their first names.
func (op *operation) arguments(canonical json.RawMessage) (arguments, error) {
	var allowed []string
	kinds := map[string]func(json.RawMessage) bool{}
	for _, arg := range op.args {
		for _, name := range append([]string{arg.name}, arg.aliases...) {
			allowed, kinds[name] = append(allowed, name), arg.is
		}
	}
	a, err := parseArguments(canonical, allowed...)
	if err != nil {
		return nil, err
	}
	if err := a.check(kinds); err != nil {
		return nil, err
	}
	for _, arg := range op.args {
		for _, alias := range arg.aliases {
			if a[alias] == nil {
				continue
			}
			if a[arg.name] != nil {
				return nil, refuse(InvalidArgument, arg.name, "it is given under two names")
			}
			a[arg.name] = a[alias]
		}
	}
	return a, nil
}

// need returns an error unless the arguments are there.
func (a arguments) need(names ...string) error {
	for _, name := range names {
		if a[name] == nil {
			return refuse(InvalidArgument, name, "it is required")
		}
	}
	return nil
}

func (a arguments) ttl() WriteOptions {
	if a["ttlSeconds"] == nil {
		return WriteOptions{}
	}
	n := a.number("ttlSeconds")
	return WriteOptions{TTLSeconds: &n}
}

// answer is an item as JSON: what is there, and how long.
type answer struct {
	Key         *string         `json:"key,omitempty"`
	Found       bool            `json:"found"`
	Value       json.RawMessage `json:"value"`
	Revision    string          `json:"revision,omitempty"`
	ExpiresAt   string          `json:"expiresAt,omitempty"`
	RemainingMS *int64          `json:"ttlRemainingMs"`
}

func (i Item) answer() answer {
	a := answer{Found: i.Found, Value: i.Value}
	if i.Revision != 0 {
		a.Revision = strconv.FormatUint(i.Revision, 10)
	}
	if !i.Expires.IsZero() {
		ms := i.Remaining.Milliseconds()
		a.ExpiresAt, a.RemainingMS = i.Expires.Format("2006-01-02T15:04:05.000Z07:00"), &ms
	}
	return a
}

func callGet(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	i, err := s.Get(ctx, tenant, a.text("key"))
	return i.answer(), err
}

func callPut(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	if err := a.need("value"); err != nil {
		return nil, err
	}
	i, err := s.Put(ctx, tenant, a.text("key"), a["value"], a.ttl())
	return i.answer(), err
}

func callDelete(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	d, err := s.Delete(ctx, tenant, a.text("key"), WriteOptions{})
	return map[string]bool{"deleted": d.Existed, "existed": d.Existed}, err
}

func callList(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	page, err := s.List(ctx, tenant, ListOptions{Prefix: a.text("prefix"), Cursor: a.text("cursor"), Limit: int(min(max(a.number("limit"), -1), 1<<30))})
	if err == nil && a["limit"] != nil && a.number("limit") < 1 {
		err = refuse(InvalidArgument, "limit", "a page has at least 1 key")
	}
	out := struct {
		Keys  []string `json:"keys"`
		Items []answer `json:"items,omitempty"`
		Next  string   `json:"nextCursor,omitempty"`
	}{Keys: []string{}, Next: page.Next}
	for _, i := range page.Items {
		out.Keys = append(out.Keys, i.Key)
		if a.flag("values") {
			one := i.answer()
			one.Key = &i.Key
			out.Items = append(out.Items, one)
		}
	}
	return out, err
}

func callIncrement(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	delta := int64(1)
	if a["delta"] != nil {
		delta = a.number("delta")
	}
	i, err := s.Increment(ctx, tenant, a.text("key"), delta, a.ttl())
	return i.answer(), err
}

func callSwap(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	if err := a.need("newValue"); err != nil {
		return nil, err
	}
	expect := Expect{Absent: a.flag("expectAbsent"), Value: a["expect"], Strict: a.flag("strict")}
	r, err := s.CompareAndSwap(ctx, tenant, a.text("key"), expect, a["newValue"], a.ttl())
	return struct {
		Swapped bool            `json:"swapped"`
		Actual  json.RawMessage `json:"actual"`
		answer
	}{r.Swapped, r.Item.Value, r.Item.answer()}, err
}

func callTouch(s *Storage, ctx context.Context, tenant string, a arguments) (any, error) {
	i, err := s.Touch(ctx, tenant, a.text("key"), a.ttl())
	return i.answer(), err
}

func callCapabilities(s *Storage, _ context.Context, _ string, _ arguments) (any, error) {
	return s.Capability(), nil
}
