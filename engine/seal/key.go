package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sys/unix"
)

// Key is what a store is opened with: 32 bytes of a file, or a passphrase. The
// zero Key is none. It shows nothing of itself when it is printed.
type Key struct {
	secret     *[]byte // behind a pointer, so that no print follows it
	passphrase bool
}

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.secret == nil }

// String says what kind of key it is.
func (k Key) String() string {
	switch {
	case k.secret == nil:
		return "no key"
	case k.passphrase:
		return "a passphrase"
	}
	return "a key"
}

// GoString returns what [Key.String] does: no format shows the key.
func (k Key) GoString() string { return k.String() }

const keyBytes = 32

// NewKey returns a key of 32 bytes, which it copies; else ErrKey.
func NewKey(b []byte) (Key, error) {
	if len(b) != keyBytes {
		return Key{}, fmt.Errorf("%w: %d bytes instead of %d", ErrKey, len(b), keyBytes)
	}
	b = bytes.Clone(b)
	return Key{secret: &b}, nil
}

// NewPassphrase returns the key that a passphrase, of at least 8 bytes, is; else
// ErrKey. It is stretched with argon2id.
func NewPassphrase(text []byte) (Key, error) {
	if len(text) < 8 {
		return Key{}, fmt.Errorf("%w: a passphrase of %d bytes, fewer than 8", ErrKey, len(text))
	}
	text = bytes.Clone(text)
	return Key{secret: &text, passphrase: true}, nil
}

// maxKeyFile is how much of a key file is read.
const maxKeyFile = 4096

// ReadKeyFile returns the key in a file that nobody but its owner may read: 32
// bytes, or 64 hex digits. It returns ErrKey for any other, and does not say what
// is in it.
func ReadKeyFile(path string) (Key, error) {
	b, err := readPrivate(path)
	if err != nil {
		return Key{}, err
	}
	if raw, err := hex.DecodeString(string(bytes.TrimSpace(b))); err == nil && len(raw) == keyBytes {
		return NewKey(raw)
	}
	if len(b) != keyBytes {
		return Key{}, fmt.Errorf("%w: %s has %d bytes, neither %d nor %d hex digits", ErrKey, path, len(b), keyBytes, 2*keyBytes)
	}
	return NewKey(b)
}

// ReadPassphraseFile returns the passphrase in a file that nobody but its owner
// may read; line ends behind it do not count.
func ReadPassphraseFile(path string) (Key, error) {
	b, err := readPrivate(path)
	if err != nil {
		return Key{}, err
	}
	return NewPassphrase(bytes.TrimRight(b, "\r\n"))
}

// Credential is the name of the credential of systemd that holds a key.
const Credential = "stoa.seal-key"

// ReadCredential returns the key in the directory of credentials that systemd
// names in $CREDENTIALS_DIRECTORY; the zero Key if there is none.
func ReadCredential(dir string) (Key, error) {
	if dir == "" {
		return Key{}, nil
	}
	k, err := ReadKeyFile(filepath.Join(dir, Credential))
	if errors.Is(err, fs.ErrNotExist) {
		return Key{}, nil
	}
	return k, err
}

// readPrivate returns the content of a file that others may not read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe is refused, not waited for
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no file", ErrKey, path)
	case st.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%w: others may read %s (mode %04o); chmod 600 it", ErrKey, path, st.Mode().Perm())
	case st.Size() > maxKeyFile:
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrKey, path, st.Size())
	}
	b := make([]byte, st.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return b, nil
}

// stretch is how a passphrase becomes a key. The zero stretch is for keys that
// need none.
type stretch struct {
	salt    [16]byte
	time    uint32
	memory  uint32 // KiB
	threads uint8
}

// The cost of a passphrase where none is stored yet, and the most that a stored one
// may ask for.
const (
	stretchTime, maxStretchTime     = 3, 64
	stretchMemory, maxStretchMemory = 64 << 10, 1 << 20
	stretchThreads                  = 4
)

// wrapping returns the key that the keys of a store are wrapped with.
func (k Key) wrapping(s stretch) []byte {
	if k.passphrase {
		return argon2.IDKey(*k.secret, s.salt[:], s.time, s.memory, s.threads, keyBytes)
	}
	sum := sha256.Sum256(append([]byte("stoa.seal.key.v1"), *k.secret...))
	return sum[:]
}
