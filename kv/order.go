package kv

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Text that is followed by more within a key is escaped, so that keys sort as
// their texts do and none is taken for the beginning of another: a zero byte
// becomes 00 FF, and 00 01 ends the text.
const (
	zeroEscaped = 0xFF
	textEnd     = 0x01
)

func appendText(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, 0)
		if i < 0 {
			dst = append(dst, text...)
			return append(dst, 0, textEnd)
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, 0, zeroEscaped)
		text = text[i+1:]
	}
}

// cutText returns the text that src begins with, which does not share memory
// with src, and what follows it.
func cutText(src []byte) (text, rest []byte, ok bool) {
	text = []byte{}
	for {
		i := bytes.IndexByte(src, 0)
		if i < 0 || i+1 == len(src) {
			return nil, nil, false
		}
		text = append(text, src[:i]...)
		switch src[i+1] {
		case textEnd:
			return text, src[i+2:], true
		case zeroEscaped:
			text = append(text, 0)
		default:
			return nil, nil, false
		}
		src = src[i+2:]
	}
}

// OrderedScore maps scores to numbers of the same order. NaN has none; the two
// zeros are one.
func OrderedScore(score float64) uint64 {
	if score == 0 {
		score = 0 // minus zero
	}
	bits := math.Float64bits(score)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func scoreOf(ordered uint64) (float64, bool) {
	bits := ^ordered
	if ordered>>63 == 1 {
		bits = ordered &^ (1 << 63)
	}
	score := math.Float64frombits(bits)
	return score, score == score && OrderedScore(score) == ordered
}

func appendU64(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }
