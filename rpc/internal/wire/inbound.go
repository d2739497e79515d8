package wire

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errInbound is returned for bytes that are no message.
var errInbound = errors.New("wire: malformed message")

// Inbound is a stoav1.GetResponse or MultiGetResponse on its way in. Its bytes are
// appended to Data.
type Inbound struct {
	Data  []byte // set before; grown
	Found bool   // the message has bytes, maybe none
}

// Parse decodes a message that came in one piece. A bytes field that comes twice
// counts the last time, as in all protobuf.
func (in *Inbound) Parse(b []byte) error {
	in.Found = false
	start := len(in.Data)
	f := fields{rest: b}
	for f.next() {
		if f.is(fieldOnly, protowire.BytesType) {
			in.Data, in.Found = append(in.Data[:start], f.bytes...), true
		}
	}
	return f.err
}
