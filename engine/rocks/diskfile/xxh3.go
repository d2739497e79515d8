package diskfile

import (
	"encoding/binary"
	"math/bits"
)

// XXH3 of 64 bits, without a seed, which is the checksum of blocks of tables.
const (
	prime32a = 0x9E3779B1
	prime32b = 0x85EBCA77
	prime32c = 0xC2B2AE3D
	prime64a = 0x9E3779B185EBCA87
	prime64b = 0xC2B2AE3D27D4EB4F
	prime64c = 0x165667B19E3779F9
	prime64d = 0x85EBCA77C2B2AE63
	prime64e = 0x27D4EB2F165667C5
)

// secret3 is the constant that XXH3 mixes with, 192 bytes.
const secret3 = "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e" +
	"\x2b\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func le32(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }

// key64 returns 8 bytes of the secret.
func key64(at int) uint64 { return le64([]byte(secret3[at : at+8])) }

func folded(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func avalanche3(h uint64) uint64 {
	h ^= h >> 37
	h *= 0x165667919E3779F9
	return h ^ h>>32
}

func avalanche64(h uint64) uint64 {
	h ^= h >> 33
	h *= prime64b
	h ^= h >> 29
	h *= prime64c
	return h ^ h>>32
}

func mix16(b []byte, at int) uint64 { return folded(le64(b)^key64(at), le64(b[8:])^key64(at+8)) }

// xxh3 returns the hash of b.
func xxh3(b []byte) uint64 {
	n := len(b)
	switch {
	case n > 240:
		return long3(b)
	case n > 16:
		return middle3(b)
	case n > 8:
		lo, hi := le64(b)^key64(24)^key64(32), le64(b[n-8:])^key64(40)^key64(48)
		return avalanche3(uint64(n) + bits.ReverseBytes64(lo) + hi + folded(lo, hi))
	case n > 3:
		h := (le32(b[n-4:]) + le32(b)<<32) ^ key64(8) ^ key64(16)
		h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
		h *= 0x9FB21C651E98DF25
		h ^= h>>35 + uint64(n)
		h *= 0x9FB21C651E98DF25
		return h ^ h>>28
	case n > 0:
		combined := uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | uint64(n)<<8
		return avalanche64(combined ^ (key64(0)&0xFFFFFFFF ^ key64(0)>>32))
	}
	return avalanche64(key64(56) ^ key64(64))
}

// middle3 is the hash of 17 to 240 bytes.
func middle3(b []byte) uint64 {
	n := len(b)
	acc := uint64(n) * prime64a
	if n <= 128 {
		for i := (n - 1) / 32; i >= 0; i-- {
			acc += mix16(b[16*i:], 32*i) + mix16(b[n-16*(i+1):], 32*i+16)
		}
		return avalanche3(acc)
	}
	for i := range 8 {
		acc += mix16(b[16*i:], 16*i)
	}
	acc = avalanche3(acc)
	for i := 8; i < n/16; i++ {
		acc += mix16(b[16*i:], 16*(i-8)+3)
	}
	return avalanche3(acc + mix16(b[n-16:], 136-17))
}

// long3 is the hash of more than 240 bytes.
func long3(b []byte) uint64 {
	const stripe, block = 64, 1024
	acc := [8]uint64{prime32c, prime64a, prime64b, prime64c, prime64d, prime32b, prime64e, prime32a}
	n := len(b)
	for i := 0; i < (n-1)/stripe; i++ {
		accumulate(&acc, b[i*stripe:], i%(block/stripe)*8)
		if i%(block/stripe) == block/stripe-1 {
			for j := range acc {
				acc[j] = (acc[j] ^ acc[j]>>47 ^ key64(128+8*j)) * prime32a
			}
		}
	}
	accumulate(&acc, b[n-stripe:], 192-stripe-7)
	h := uint64(n) * prime64a
	for i := range 4 {
		h += folded(acc[2*i]^key64(11+16*i), acc[2*i+1]^key64(11+16*i+8))
	}
	return avalanche3(h)
}

func accumulate(acc *[8]uint64, b []byte, at int) {
	for i := range acc {
		v := le64(b[8*i:])
		k := v ^ key64(at+8*i)
		acc[i^1] += v
		acc[i] += k & 0xFFFFFFFF * (k >> 32)
	}
}
