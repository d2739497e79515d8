package wire

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/rpc/stoav1"
)

func appendBytesField[T ~[]byte | string](dst []byte, field protowire.Number, b T) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return append(protowire.AppendVarint(dst, uint64(len(b))), b...)
}

func appendNumberField(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

// KVGet is a stoav1.KvGetRequest on its way out.
type KVGet struct {
	Tenant []byte // not kept
	Key    string
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

// KVPut is a stoav1.KvPutRequest with a small value on its way out.
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
