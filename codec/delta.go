package codec

// ContextDagDeltaValue is a causal delta of a context: column Delta.
type ContextDagDeltaValue struct {
	DeltaID          DeltaID
	Parents          []DeltaID // the heads on which it was made
	Actions          []Action  // what it does to the state, in order
	HLC              HybridTimestamp
	Applied          bool // whether this node has applied it
	ExpectedRootHash Hash // the Merkle root that its author saw after it
	Events           []Event
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ContextDagDeltaValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextDagDeltaValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ContextDagDeltaValue) Decode(src []byte) (v ContextDagDeltaValue, err error) {
	c := decoder("ContextDagDeltaValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ContextDagDeltaValue) run(c coder) (ContextDagDeltaValue, coder) { v.layout(&c); return v, c }

func (v *ContextDagDeltaValue) layout(c *coder) {
	id(c, "delta_id", &v.DeltaID)
	ids(c, "parents", &v.Parents)
	var action Action
	for i := range list(c, "actions", "Action", &v.Actions, leastAction) {
		c.item("actions", i)
		at(v.Actions, i, &action).layout(c)
		c.end()
	}
	c.listEnd()
	c.begin("hlc", "HybridTimestamp")
	v.HLC.layout(c)
	c.end()
	c.bool("applied", &v.Applied)
	id(c, "expected_root_hash", &v.ExpectedRootHash)
	var event Event
	for i := range list(c, "events", "Event", &v.Events, leastEvent) {
		c.item("events", i)
		at(v.Events, i, &event).layout(c)
		c.end()
	}
	c.listEnd()
}
