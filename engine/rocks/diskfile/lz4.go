package diskfile

import "fmt"

// maxRatio is more than a byte of LZ4 stands for.
const maxRatio = 256

// lz4 returns the size bytes that src, a block of LZ4, stands for. It returns
// ErrDamaged if that is none.
func lz4(src []byte, size int) ([]byte, error) {
	bad := fmt.Errorf("%w: not a block of LZ4", ErrDamaged)
	if size > maxRatio*(len(src)+1) {
		return nil, bad
	}
	dst := make([]byte, 0, size)
	length := func(n int) (int, bool) {
		if n < 15 {
			return n, true
		}
		for len(src) > 0 {
			b := src[0]
			src = src[1:]
			n += int(b)
			if b < 255 || n > size {
				return n, n <= size
			}
		}
		return 0, false
	}
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		n, ok := length(int(token >> 4))
		if !ok || n > len(src) || len(dst)+n > size {
			return nil, bad
		}
		dst = append(dst, src[:n]...)
		if src = src[n:]; len(src) == 0 { // the last sequence has literals only
			break
		}
		if len(src) < 2 {
			return nil, bad
		}
		back := int(src[0]) | int(src[1])<<8
		src = src[2:]
		n, ok = length(int(token & 15))
		if n += 4; !ok || back == 0 || back > len(dst) || len(dst)+n > size {
			return nil, bad
		}
		for range n { // the two may overlap
			dst = append(dst, dst[len(dst)-back])
		}
	}
	if len(dst) != size {
		return nil, bad
	}
	return dst, nil
}
