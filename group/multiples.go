package group

import (
	"crypto/sha512"
	"slices"

	"filippo.io/edwards25519"

	"github.com/stoadb/stoa/codec"
)

// multiples is a table of a point: row j has the multiples 1 to 2^(width-1) of the point
// times 2^(width·j). So a multiple of it is one addition for each width bits, without
// doubling, whatever the order of the point.
type multiples struct {
	width int
	rows  [][]affine
}

// scalarBits is the length of a reduced scalar.
const scalarBits = 253

const (
	baseWidth = 8 // 0.5 MB, once
	keyWidth  = 6 // 165 kB for each signer
)

func multiplesOfBase() *multiples {
	return newMultiples(baseWidth, edwards25519.NewGeneratorPoint())
}

// multiplesOfKey returns the table of the negated point of a key that has verified.
func multiplesOfKey(signer codec.Identity) *multiples {
	a, err := new(edwards25519.Point).SetBytes(signer[:])
	if err != nil {
		panic("group: a key that has verified is no point: " + err.Error())
	}
	return newMultiples(keyWidth, a.Negate(a))
}

func newMultiples(width int, of *edwards25519.Point) *multiples {
	half := 1 << (width - 1)
	all := make([]edwards25519.Point, half*(scalarBits/width+1))
	first := new(edwards25519.Point).Set(of)
	for row := range slices.Chunk(all, half) {
		row[0].Set(first)
		for i := 1; i < half; i++ {
			row[i].Add(&row[i-1], first)
		}
		first.Add(&row[half-1], &row[half-1]) // 2^width times the first
	}
	return &multiples{width, slices.Collect(slices.Chunk(affineOf(all), half))}
}

// addTo adds scalar, reduced and little endian, times the point to sum.
func (m *multiples) addTo(sum *extended, scalar []byte) {
	carry := 0
	for j, row := range m.rows {
		d := window(scalar, j*m.width, m.width) + carry
		carry = 0
		if d > len(row) { // a negative digit, and one more of the next
			d -= 2 * len(row)
			carry = 1
		}
		switch {
		case d > 0:
			sum.add(&row[d-1])
		case d < 0:
			sum.subtract(&row[-d-1])
		}
	}
}

// window returns the bits of scalar from one on, at most 8.
func window(scalar []byte, from, width int) int {
	at := from / 8
	v := int(scalar[at])
	if at+1 < len(scalar) {
		v |= int(scalar[at+1]) << 8
	}
	return v >> (from % 8) & (1<<width - 1)
}

// commitment returns S·B - k·A of a message, of whose signer key is the table: it is R, byte for byte, of a
// signature that is good, as crypto/ed25519 asks; false where S is not reduced.
func commitment(base, key *multiples, m *SignedMessage) (sum extended, ok bool) {
	if _, err := new(edwards25519.Scalar).SetCanonicalBytes(m.Signature[32:]); err != nil {
		return sum, false
	}
	h := sha512.New()
	h.Write(m.Signature[:32])
	h.Write(m.Signer[:])
	h.Write(m.Message)
	var digest [sha512.Size]byte
	k, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(digest[:0]))
	if err != nil {
		return sum, false
	}
	sum = identityPoint()
	base.addTo(&sum, m.Signature[32:])
	key.addTo(&sum, k.Bytes())
	return sum, true
}
