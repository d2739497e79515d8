package cli

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
)

// SealFlags name the key that the secrets of a store are sealed with.
type SealFlags struct{ KeyFile, PassphraseFile string }

// Register adds the flags to those of a command.
func (f *SealFlags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.KeyFile, "seal-key-file", "", "the key of sealed secrets: 32 bytes or 64 hex digits in a file of mode 0600 (default: the credential "+seal.Credential+" of systemd)")
	fs.StringVar(&f.PassphraseFile, "seal-passphrase-file", "", "a file of mode 0600 with the passphrase of sealed secrets")
}

// Key returns the key that is named, or the credential that systemd has put into
// the directory credentials; the zero Key if there is none.
func (f *SealFlags) Key(credentials string) (k seal.Key, err error) {
	switch {
	case f.KeyFile != "" && f.PassphraseFile != "":
		return k, Bad(errors.New("a key file and a passphrase file exclude each other"), "")
	case f.KeyFile != "":
		if k, err = seal.ReadKeyFile(f.KeyFile); err != nil {
			err = fmt.Errorf("--seal-key-file: %w", err)
		}
	case f.PassphraseFile != "":
		if k, err = seal.ReadPassphraseFile(f.PassphraseFile); err != nil {
			err = fmt.Errorf("--seal-passphrase-file: %w", err)
		}
	default:
		k, err = seal.ReadCredential(credentials)
	}
	if err != nil {
		return k, Bad(err, "nothing was changed; the file is to be there, to be of mode 0600, and to belong to who runs this")
	}
	return k, nil
}

// Args returns the flags as arguments.
func (f *SealFlags) Args() (args []string) {
	if f.KeyFile != "" {
		args = append(args, "--seal-key-file", f.KeyFile)
	}
	if f.PassphraseFile != "" {
		args = append(args, "--seal-passphrase-file", f.PassphraseFile)
	}
	return args
}

// Credentials returns the directory of the credentials that systemd passes.
func (p *Process) Credentials() string { return p.Getenv("CREDENTIALS_DIRECTORY") }

// Unseal returns the engine with its secrets opened; or, where they are sealed and
// there is no key, without them, and a note that says so.
func Unseal(e *rocks.Engine, k seal.Key, log *slog.Logger) (_ engine.Engine, note string, err error) {
	switch {
	case !k.IsZero():
		log.Info("secrets are sealed at rest", "with", k.String(), "first_time", !e.Sealed())
		s, err := seal.Open(e, k, seal.Options{})
		if err != nil {
			return nil, "", SealFailure(err)
		}
		return s, "", nil
	case e.Sealed():
		note = "secrets are sealed, and their key was not given: what needs none is served; start again with --seal-key-file or --seal-passphrase-file"
		log.Warn(note)
		return seal.Locked(e), note, nil
	}
	return e, "", nil
}

// SealFailure gives an error of opening sealed secrets its exit code and hint.
func SealFailure(err error) error {
	if errors.Is(err, seal.ErrWrongKey) {
		return Fail(ExitOpen, err, "nothing was changed; name the key with --seal-key-file or --seal-passphrase-file")
	}
	return fmt.Errorf("open the sealed secrets: %w", err)
}
