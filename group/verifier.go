package group

import (
	"sync"

	"github.com/stoadb/stoa/codec"
)

// Verifier verifies signatures as [Verify] does, bit for bit, and faster where few sign
// much: of those it keeps multiples of their keys. The zero Verifier is ready to use, and
// nil remembers nothing. It is safe for concurrent use.
type Verifier struct {
	mu    sync.RWMutex
	base  *multiples // of the base point; nil: nobody has signed often
	known map[codec.Identity]*multiples
	often map[codec.Identity]int // good signatures of those who are not known
}

const (
	// A table costs as much as some six verifications. So many signatures come before
	// it, so that also where the tables of more signers than are known keep replacing
	// each other it costs little.
	signaturesBefore = 32
	mostKnown        = 64   // signers with a table of 98 kB each
	mostCounted      = 4096 // signers who might get one
)

// VerifyMessage is as the function of that name.
func (v *Verifier) VerifyMessage(signer codec.Identity, message []byte, sig codec.Signature) error {
	if v == nil {
		return VerifyMessage(signer, message, sig)
	}
	v.mu.RLock()
	base, key := v.base, v.known[signer]
	v.mu.RUnlock()
	// What the tables do not confirm is for crypto/ed25519 to say.
	if key != nil && Sound(signer) && Sound([32]byte(sig[:32])) && verifies(base, key, &signer, message, &sig) {
		return nil
	}
	if err := VerifyMessage(signer, message, sig); err != nil {
		return err
	}
	if key == nil {
		v.count(signer)
	}
	return nil
}

// VerifyOp is as the function of that name.
func (v *Verifier) VerifyOp(encoded []byte, signer codec.Identity) error {
	message := append(append(make([]byte, 0, len(DomainGroup)+len(encoded)), DomainGroup...), Unsigned(encoded)...)
	return v.VerifyMessage(signer, message, codec.Signature(encoded[len(encoded)-signatureSize:]))
}

// count notes a good signature, and makes a table for whoever has signed often.
func (v *Verifier) count(signer codec.Identity) {
	v.mu.Lock()
	if v.known[signer] != nil { // since this one was looked at
		v.mu.Unlock()
		return
	}
	if v.often == nil || len(v.often) >= mostCounted {
		v.often = map[codec.Identity]int{}
	}
	v.often[signer]++
	due := v.often[signer] == signaturesBefore // one of those who verify at the same time
	v.mu.Unlock()
	if !due {
		return
	}
	key, base := multiplesOfKey(signer), v.baseTable()
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.often, signer)
	if v.known == nil {
		v.known = map[codec.Identity]*multiples{}
	}
	for other := range v.known { // any
		if len(v.known) < mostKnown {
			break
		}
		delete(v.known, other)
	}
	v.base, v.known[signer] = base, key
}

func (v *Verifier) baseTable() *multiples {
	v.mu.RLock()
	base := v.base
	v.mu.RUnlock()
	if base == nil {
		base = multiplesOfBase()
	}
	return base
}
