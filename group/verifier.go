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
	mostKnown        = 64   // signers with a table of 165 kB each
	mostCounted      = 4096 // signers who might get one
)

// SignedMessage is a message whose signature is to be verified.
type SignedMessage struct {
	Signer    codec.Identity
	Message   []byte // begins with its domain
	Signature codec.Signature
}

// MessageOf returns what is signed of an op in its encoding.
func MessageOf(encoded []byte, signer codec.Identity) SignedMessage {
	message := append(append(make([]byte, 0, len(DomainGroup)+len(encoded)), DomainGroup...), Unsigned(encoded)...)
	return SignedMessage{signer, message, codec.Signature(encoded[len(encoded)-signatureSize:])}
}

// VerifyAll reports which signatures are good, as [VerifyMessage] says of each. For many it takes less than
// for one after the other.
func (v *Verifier) VerifyAll(all []SignedMessage) (good []bool) {
	good = make([]bool, len(all))
	keys := make([]*multiples, len(all))
	if v != nil {
		v.confirm(all, keys, good)
	}
	for i := range all { // what the tables do not confirm is for crypto/ed25519 to say
		m := &all[i]
		if good[i] || VerifyMessage(m.Signer, m.Message, m.Signature) != nil {
			continue
		}
		if good[i] = true; v != nil && keys[i] == nil {
			v.count(m.Signer)
		}
	}
	return good
}

// confirm notes the tables that there are for messages, and which are good by these.
func (v *Verifier) confirm(all []SignedMessage, keys []*multiples, good []bool) {
	v.mu.RLock()
	base := v.base
	for i := range all {
		keys[i] = v.known[all[i].Signer]
	}
	v.mu.RUnlock()
	sums, of := make([]extended, 0, len(all)), make([]int, 0, len(all))
	for i := range all {
		m := &all[i]
		if keys[i] == nil || !Sound(m.Signer) || !Sound([32]byte(m.Signature[:32])) {
			continue
		}
		if sum, ok := commitment(base, keys[i], m); ok {
			sums, of = append(sums, sum), append(of, i)
		}
	}
	for j, r := range encodings(sums) {
		good[of[j]] = r == [32]byte(all[of[j]].Signature[:32])
	}
}

// VerifyMessage is as the function of that name.
func (v *Verifier) VerifyMessage(signer codec.Identity, message []byte, sig codec.Signature) error {
	if !v.VerifyAll([]SignedMessage{{signer, message, sig}})[0] {
		return ErrSignature
	}
	return nil
}

// VerifyOp is as the function of that name.
func (v *Verifier) VerifyOp(encoded []byte, signer codec.Identity) error {
	m := MessageOf(encoded, signer)
	return v.VerifyMessage(m.Signer, m.Message, m.Signature)
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
