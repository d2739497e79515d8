package codec

// ActionKind says what an [Action] does. The zero ActionKind puts.
type ActionKind uint8

// The kinds of action.
const (
	ActionPut    ActionKind = iota // write Value under Key
	ActionDelete                   // remove Key
)

var actionKinds = []string{"put", "delete"}

// String returns "put", "delete", or "ActionKind(n)".
func (k ActionKind) String() string { return enumName("ActionKind", uint8(k), actionKinds) }

// The fewest bytes that an Action and an Event take.
const (
	leastAction = 1 + 4
	leastEvent  = 4 + 4
)

// Put returns the action that writes value under key. It keeps both slices.
func Put(key, value []byte) Action { return Action{Kind: ActionPut, Key: key, Value: value} }

// Delete returns the action that removes key. It keeps the slice.
func Delete(key []byte) Action { return Action{Kind: ActionDelete, Key: key} }

// Action is one change that a delta makes to the state of its context.
type Action struct {
	Kind  ActionKind
	Key   []byte
	Value []byte // of ActionPut only
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v Action) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Action", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (Action) Decode(src []byte) (v Action, err error) {
	c := decoder("Action", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v Action) run(c coder) (Action, coder) { v.layout(&c); return v, c }

func (v *Action) layout(c *coder) {
	c.variant((*uint8)(&v.Kind), actionKinds)
	c.bytes("key", &v.Key)
	if v.Kind == ActionPut {
		c.bytes("value", &v.Value)
	} else {
		c.absent("value", len(v.Value) == 0)
	}
	c.end()
}

// Event is something that a delta tells the application's handlers.
type Event struct {
	Kind string
	Data []byte
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v Event) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Event", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (Event) Decode(src []byte) (v Event, err error) {
	c := decoder("Event", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v Event) run(c coder) (Event, coder) { v.layout(&c); return v, c }

func (v *Event) layout(c *coder) {
	c.string("kind", &v.Kind)
	c.bytes("data", &v.Data)
}
