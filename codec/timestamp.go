package codec

import (
	"cmp"
)

// HybridTimestamp is a point of a hybrid logical clock; the zero one is none, and
// has no stored form.
type HybridTimestamp struct {
	Time uint64 // NTP64: 32 bits of seconds, 32 of fraction, the low 16 a logical counter
	ID   NodeID // the node whose clock it is
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v HybridTimestamp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("HybridTimestamp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (HybridTimestamp) Decode(src []byte) (v HybridTimestamp, err error) {
	c := decoder("HybridTimestamp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v HybridTimestamp) run(c coder) (HybridTimestamp, coder) { v.layout(&c); return v, c }

func (v *HybridTimestamp) layout(c *coder) {
	c.u64("time", &v.Time)
	c.nodeID("id", &v.ID)
}

// Compare orders timestamps by time, then by node: negative where v comes
// before o.
func (v HybridTimestamp) Compare(o HybridTimestamp) int {
	return cmp.Or(cmp.Compare(v.Time, o.Time), v.ID.Compare(o.ID))
}
