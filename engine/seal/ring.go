package seal

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/engine"
)

// KeyID names one of the keys that secrets are sealed with.
type KeyID [8]byte

// ring is the row stoa.seal: the keys that the secrets of a store are sealed with,
// the current one first, wrapped with the key that the store is opened with.
// README.md has its format.
type ring struct {
	sealing bool // plain secrets may still be there
	kind    byte // of the key that it is wrapped with
	stretch stretch
	keys    []sealingKey
}

// sealingKey seals secrets.
type sealingKey struct {
	id   KeyID
	raw  [keyBytes]byte
	aead cipher.AEAD
}

const (
	ringMagic  = "STSK\x01"
	ringHeader = len(ringMagic) + 1 + 1 + 16 + 4 + 4 + 1 + 1
	ringEntry  = 8 + chacha20poly1305.NonceSizeX + keyBytes + chacha20poly1305.Overhead
	maxKeys    = 16

	stateSealing = 1
	stateSealed  = 2

	kindKey        = 1
	kindPassphrase = 2
)

// newRing returns a ring with a fresh key, to be wrapped with k.
func newRing(k Key, random io.Reader) (*ring, error) {
	r := &ring{sealing: true}
	if err := r.rewrap(k, random); err != nil {
		return nil, err
	}
	return r, r.add(random)
}

// rewrap makes k what the ring is wrapped with.
func (r *ring) rewrap(k Key, random io.Reader) error {
	r.kind, r.stretch = kindKey, stretch{}
	if k.passphrase {
		r.kind = kindPassphrase
		r.stretch = stretch{time: stretchTime, memory: stretchMemory, threads: stretchThreads}
		if _, err := io.ReadFull(random, r.stretch.salt[:]); err != nil {
			return fmt.Errorf("seal: draw a salt: %w", err)
		}
	}
	return nil
}

// add draws a key and makes it the current one.
func (r *ring) add(random io.Reader) error {
	var k sealingKey
	if _, err := io.ReadFull(random, k.id[:]); err != nil {
		return fmt.Errorf("seal: draw a key: %w", err)
	}
	if _, err := io.ReadFull(random, k.raw[:]); err != nil {
		return fmt.Errorf("seal: draw a key: %w", err)
	}
	if err := k.prepare(); err != nil {
		return err
	}
	r.keys = append([]sealingKey{k}, r.keys...)
	return nil
}

func (k *sealingKey) prepare() (err error) {
	k.aead, err = chacha20poly1305.NewX(k.raw[:])
	return err
}

// find returns the key of that id, or nil.
func (r *ring) find(id KeyID) *sealingKey {
	for i := range r.keys {
		if r.keys[i].id == id {
			return &r.keys[i]
		}
	}
	return nil
}

// header returns the bytes before the keys, with which these are bound.
func (r *ring) header() []byte {
	state := byte(stateSealed)
	if r.sealing {
		state = stateSealing
	}
	b := append([]byte(ringMagic), state, r.kind)
	b = append(b, r.stretch.salt[:]...)
	b = binary.LittleEndian.AppendUint32(b, r.stretch.time)
	b = binary.LittleEndian.AppendUint32(b, r.stretch.memory)
	return append(b, r.stretch.threads, byte(len(r.keys)))
}

// wrap returns the bytes of the ring, wrapped with k.
func (r *ring) wrap(k Key, random io.Reader) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(k.wrapping(r.stretch))
	if err != nil {
		return nil, err
	}
	header := r.header()
	b := header
	for _, key := range r.keys {
		b = append(b, key.id[:]...)
		nonce := make([]byte, aead.NonceSize())
		if _, err := io.ReadFull(random, nonce); err != nil {
			return nil, fmt.Errorf("seal: draw a nonce: %w", err)
		}
		b = append(b, nonce...)
		b = aead.Seal(b, nonce, key.raw[:], append(header[:ringHeader:ringHeader], key.id[:]...))
	}
	return b, nil
}

// unwrap returns the ring whose bytes are b. It returns ErrWrongKey, or
// engine.ErrCorrupt if b is none.
func unwrap(b []byte, k Key) (*ring, error) {
	if len(b) < ringHeader || string(b[:len(ringMagic)]) != ringMagic {
		return nil, fmt.Errorf("%w: stoa.seal is no ring of keys that this build knows", engine.ErrCorrupt)
	}
	r := &ring{sealing: b[len(ringMagic)] == stateSealing, kind: b[len(ringMagic)+1]}
	rest := b[len(ringMagic)+2:]
	copy(r.stretch.salt[:], rest)
	r.stretch.time = binary.LittleEndian.Uint32(rest[16:])
	r.stretch.memory = binary.LittleEndian.Uint32(rest[20:])
	r.stretch.threads = rest[24]
	n := int(rest[25])
	s := r.stretch
	switch {
	case n == 0 || n > maxKeys || len(b) != ringHeader+n*ringEntry:
		return nil, fmt.Errorf("%w: stoa.seal counts %d keys in %d bytes", engine.ErrCorrupt, n, len(b))
	case r.kind == kindPassphrase && (s.time == 0 || s.time > maxStretchTime || s.memory > maxStretchMemory || s.threads == 0):
		return nil, fmt.Errorf("%w: stoa.seal asks for argon2id out of its limits", engine.ErrCorrupt)
	case k.passphrase != (r.kind == kindPassphrase):
		return nil, fmt.Errorf("%w: the store wants %s", ErrWrongKey, kindName(r.kind))
	}
	aead, err := chacha20poly1305.NewX(k.wrapping(s))
	if err != nil {
		return nil, err
	}
	for at := ringHeader; at < len(b); at += ringEntry {
		key := sealingKey{id: KeyID(b[at:])}
		box := b[at+len(key.id):][:ringEntry-len(key.id)]
		raw, err := aead.Open(nil, box[:aead.NonceSize()], box[aead.NonceSize():], append(b[:ringHeader:ringHeader], key.id[:]...))
		if err != nil {
			return nil, fmt.Errorf("%w, or stoa.seal is damaged", ErrWrongKey)
		}
		copy(key.raw[:], raw)
		if err := key.prepare(); err != nil {
			return nil, err
		}
		r.keys = append(r.keys, key)
	}
	return r, nil
}

func kindName(kind byte) string {
	if kind == kindPassphrase {
		return "a passphrase"
	}
	return "a key file"
}
