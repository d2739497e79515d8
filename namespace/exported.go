package namespace

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/argon2"

	"github.com/stoadb/stoa/codec"
)

// ErrExport is returned for an exported identity that does not open: the passphrase or
// the namespace is another, or its bytes are damaged.
var ErrExport = errors.New("namespace: the exported identity does not open")

// domainExport begins what an exported identity is bound to.
const domainExport = "stoa.identity.v1"

// The form of an exported identity: a version, the salt of argon2id, and what is sealed
// under the key that it makes of the passphrase.
const (
	exportVersion = 1
	exportSalt    = 16
)

// ExportSealed returns the identity of this node in a namespace sealed under a passphrase,
// or [ErrNoIdentity], or [ErrExport] for an empty passphrase.
func (s *Store) ExportSealed(ns codec.GroupID, passphrase []byte) ([]byte, error) {
	v, err := s.ExportIdentity(ns)
	if err != nil {
		return nil, err
	}
	return SealIdentity(s.options.Rand, ns, v, passphrase)
}

// ImportSealed makes what [Store.ExportSealed] has returned the identity of this node in a
// namespace. It returns who that is, [ErrExport], or an error as [Store.ImportIdentity].
func (s *Store) ImportSealed(ns codec.GroupID, sealed, passphrase []byte) (codec.Identity, error) {
	v, err := OpenIdentity(ns, sealed, passphrase)
	if err == nil {
		err = s.ImportIdentity(ns, v)
	}
	return v.PublicKey, err
}

// SealIdentity returns an identity as it may leave a node: sealed under a passphrase,
// which is stretched with argon2id (three passes over 64 MiB, four lanes).
func SealIdentity(random io.Reader, ns codec.GroupID, v codec.NamespaceIdentityValue, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, fmt.Errorf("%w: an empty passphrase", ErrExport)
	}
	b := make([]byte, 1+exportSalt)
	b[0] = exportVersion
	if _, err := io.ReadFull(random, b[1:]); err != nil {
		return nil, err
	}
	plain, err := v.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	sealed, err := seal(random, stretched(passphrase, b[1:]), plain, append([]byte(domainExport), ns[:]...))
	return append(b, sealed...), err
}

// OpenIdentity returns the identity that SealIdentity has sealed, or [ErrExport].
func OpenIdentity(ns codec.GroupID, sealed, passphrase []byte) (v codec.NamespaceIdentityValue, err error) {
	if len(sealed) < 1+exportSalt || sealed[0] != exportVersion {
		return v, fmt.Errorf("%w: it is none", ErrExport)
	}
	key := stretched(passphrase, sealed[1:1+exportSalt])
	plain, err := open(key, sealed[1+exportSalt:], append([]byte(domainExport), ns[:]...))
	if err != nil {
		return v, fmt.Errorf("%w: the passphrase or the namespace is another, or it is damaged", ErrExport)
	}
	return v.Decode(plain)
}

func stretched(passphrase, salt []byte) codec.Secret {
	return codec.Secret(argon2.IDKey(passphrase, salt, 3, 64<<10, 4, 32))
}
