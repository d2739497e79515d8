package merod

import (
	"math/big"
	"slices"
)

// Base58 writes bytes as Bitcoin does: merod names files of blobs by their ids so.
func Base58(b []byte) string {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var out []byte
	n, radix, digit := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int)
	for n.Sign() > 0 {
		n.DivMod(n, radix, digit)
		out = append(out, digits[digit.Int64()])
	}
	for i := 0; i < len(b) && b[i] == 0; i++ {
		out = append(out, digits[0])
	}
	slices.Reverse(out)
	return string(out)
}
