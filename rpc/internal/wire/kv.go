package wire

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/rpc/stoav1"
)

// KVItem is a message on its way in whose only field is a stoav1.KvItem, which is not
// set if nothing is found: the answer to most calls of the Kv service.
type KVItem struct {
	Found                            bool
	Value                            []byte // the caller's
	Revision, ExpiresMS, RemainingMS uint64
	CreatedRevision, WrittenMS       uint64
}

func appendBytesField[T []byte | string](dst []byte, field protowire.Number, b T) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return append(protowire.AppendVarint(dst, uint64(len(b))), b...)
}

func appendNumberField(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

// Parse decodes a message that came in one piece. It copies the value.
func (i *KVItem) Parse(b []byte) error {
	*i = KVItem{}
	f := fields{rest: b}
	for f.next() {
		if !f.is(fieldOnly, protowire.BytesType) {
			continue
		}
		i.Found = true
		if err := i.parseItem(f.bytes); err != nil {
			return err
		}
	}
	i.Value = bytes.Clone(i.Value)
	return f.err
}

func (i *KVItem) parseItem(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(2, protowire.BytesType):
			i.Value = f.bytes
		case f.is(3, protowire.VarintType):
			i.Revision = f.value
		case f.is(4, protowire.VarintType):
			i.ExpiresMS = f.value
		case f.is(5, protowire.VarintType):
			i.RemainingMS = f.value
		case f.is(6, protowire.VarintType):
			i.CreatedRevision = f.value
		case f.is(7, protowire.VarintType):
			i.WrittenMS = f.value
		}
	}
	return f.err
}

// KVGet is a stoav1.KvGetRequest on its way out, and the answer to it.
type KVGet struct {
	Tenant []byte // not kept
	Key    string
	Answer KVItem
}

// AppendTo appends the message to dst.
func (g *KVGet) AppendTo(dst []byte) []byte {
	if len(g.Tenant) > 0 {
		dst = appendBytesField(dst, 1, g.Tenant)
	}
	if g.Key != "" {
		dst = appendBytesField(dst, 2, g.Key)
	}
	return dst
}

// MaxKVPut is the length of the longest value that a KVPut carries.
const MaxKVPut = 16 << 10

// KVPut is a stoav1.KvPutRequest with a small value on its way out, and the answer
// to it.
type KVPut struct {
	KVGet             // what it has in common
	Value      []byte // not kept
	TTLSeconds *int64 // nil: not set
	Durability stoav1.Durability
}

// AppendTo appends the message to dst.
func (p *KVPut) AppendTo(dst []byte) []byte {
	dst = p.KVGet.AppendTo(dst)
	if len(p.Value) > 0 {
		dst = appendBytesField(dst, 3, p.Value)
	}
	if p.TTLSeconds != nil { // 0 is not the same
		dst = protowire.AppendVarint(protowire.AppendTag(dst, 4, protowire.VarintType), uint64(*p.TTLSeconds))
	}
	return appendNumberField(dst, 5, uint64(p.Durability))
}

var kvPuts = sync.Pool{New: func() any { return new(KVPut) }}

// NewKVPut returns a KVPut, whose KVGet may serve alone, to be given back by Free.
func NewKVPut() *KVPut { return kvPuts.Get().(*KVPut) }

// Free gives p back.
func (p *KVPut) Free() {
	*p = KVPut{}
	kvPuts.Put(p)
}
