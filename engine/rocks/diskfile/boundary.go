package diskfile

import (
	"encoding/binary"
	"io"
)

// Boundary returns where the last whole record of a log ends that has size bytes.
// It looks at the lengths of fragments only, from from on, which must be 0 or what
// an earlier call has returned: a log grows at its end. It returns what reading
// fails with.
func Boundary(r io.ReaderAt, from, size int64) (int64, error) {
	end := from
	header := make([]byte, logHeader)
	for at := from; ; {
		if rest := logBlock - at%logBlock; rest < logHeader {
			at += rest
		}
		if at+logHeader > size {
			return end, nil
		}
		if _, err := r.ReadAt(header, at); err != nil {
			return from, err
		}
		typ := header[6]
		if typ == fragmentZero || typ > 2*recycled {
			return end, nil
		}
		at += logHeader + int64(binary.LittleEndian.Uint16(header[4:]))
		if typ > recycled {
			at += 4
			typ -= recycled
		}
		if at > size {
			return end, nil
		}
		if typ == fragmentFull || typ == fragmentLast {
			end = at
		}
	}
}
