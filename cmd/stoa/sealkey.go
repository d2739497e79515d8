package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
)

// sealFlags name the key that the secrets of a store are sealed with.
type sealFlags struct{ keyFile, passphraseFile string }

func (f *sealFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.keyFile, "seal-key-file", "", "the key of sealed secrets: 32 bytes or 64 hex digits in a file of mode 0600 (default: the credential "+seal.Credential+" of systemd)")
	fs.StringVar(&f.passphraseFile, "seal-passphrase-file", "", "a file of mode 0600 with the passphrase of sealed secrets")
}

// key returns the key that is named, or the credential that systemd has put into
// the directory credentials; the zero Key if there is none.
func (f *sealFlags) key(credentials string) (k seal.Key, err error) {
	switch {
	case f.keyFile != "" && f.passphraseFile != "":
		return k, bad(errors.New("a key file and a passphrase file exclude each other"), "")
	case f.keyFile != "":
		if k, err = seal.ReadKeyFile(f.keyFile); err != nil {
			err = fmt.Errorf("--seal-key-file: %w", err)
		}
	case f.passphraseFile != "":
		if k, err = seal.ReadPassphraseFile(f.passphraseFile); err != nil {
			err = fmt.Errorf("--seal-passphrase-file: %w", err)
		}
	default:
		k, err = seal.ReadCredential(credentials)
	}
	if err != nil {
		return k, bad(err, "nothing was changed; the file is to be there, to be of mode 0600, and to belong to who runs this")
	}
	return k, nil
}

// args returns the flags as arguments.
func (f *sealFlags) args() (args []string) {
	if f.keyFile != "" {
		args = append(args, "--seal-key-file", f.keyFile)
	}
	if f.passphraseFile != "" {
		args = append(args, "--seal-passphrase-file", f.passphraseFile)
	}
	return args
}

// credentials returns the directory of the credentials that systemd passes.
func (p *process) credentials() string { return p.getenv("CREDENTIALS_DIRECTORY") }

// opened returns the engine with its secrets opened; or, where they are sealed and
// there is no key, without them, and a note that says so.
func opened(e *rocks.Engine, k seal.Key, log *slog.Logger) (_ engine.Engine, note string, err error) {
	switch {
	case !k.IsZero():
		log.Info("secrets are sealed at rest", "with", k.String(), "first_time", !e.Sealed())
		s, err := seal.Open(e, k, seal.Options{})
		if err != nil {
			return nil, "", sealFailure(err)
		}
		return s, "", nil
	case e.Sealed():
		note = "secrets are sealed, and their key was not given: what needs none is served; start again with --seal-key-file or --seal-passphrase-file"
		log.Warn(note)
		return seal.Locked(e), note, nil
	}
	return e, "", nil
}

// sealFailure gives an error of opening sealed secrets its exit code and hint.
func sealFailure(err error) error {
	if errors.Is(err, seal.ErrWrongKey) {
		return &failure{exitOpen, err, "nothing was changed; name the key with --seal-key-file or --seal-passphrase-file"}
	}
	return fmt.Errorf("open the sealed secrets: %w", err)
}
