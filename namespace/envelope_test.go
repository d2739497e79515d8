package namespace

import (
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/codec"
)

func sealWith(k codec.Secret, nonce []byte, key codec.Secret) []byte {
	aead, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		panic(err)
	}
	return aead.Seal(nil, nonce, key[:], nil)
}
