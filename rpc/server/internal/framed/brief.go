package framed

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/rpc/stoav1"
)

// waitsForNoDisk reports whether the request of a Brief call says durability WAL. It looks at
// the bytes, since the message is parsed where the call is made; of those that don't parse it
// says no.
func (m *method) waitsForNoDisk(request []byte) bool {
	d := stoav1.Durability_DURABILITY_UNSPECIFIED
	for len(request) > 0 {
		number, typ, n := protowire.ConsumeTag(request)
		if n < 0 {
			return false
		}
		value := request[n:]
		if n = protowire.ConsumeFieldValue(number, typ, value); n < 0 {
			return false
		}
		if number == m.durability && typ == protowire.VarintType {
			said, _ := protowire.ConsumeVarint(value)
			d = stoav1.Durability(said)
		}
		request = value[n:]
	}
	return d == stoav1.Durability_DURABILITY_WAL
}
