package inspection

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
)

func newRekey(p *cli.Process) *cobra.Command {
	var old, next cli.SealFlags
	cmd := &cobra.Command{
		Use:   "rekey [DIR]",
		Short: "Seal the secrets of a store anew, with another key",
		Long: `Seal the secrets of a directory that no daemon has open with fresh keys, which the new
key file or passphrase opens from then on; a store that seals nothing is sealed. What
was there is removed from logs and tables. If it is broken off, run it again: nothing
is lost, and either the old key or the new one opens the store meanwhile.`,
		Example: "  stoa rekey /var/lib/stoa --new-key-file new.key\n  stoa rekey --seal-key-file old.key --new-passphrase-file phrase",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			to, err := next.Key("")
			if err == nil && to.IsZero() {
				err = cli.Bad(errors.New("rekey wants --new-key-file or --new-passphrase-file"), "")
			}
			if err != nil {
				return err
			}
			from, err := old.Key(p.Credentials())
			if err != nil {
				return err
			}
			dir := directory(p, args)
			return p.WithOffline(dir, func(e *rocks.Engine) error { return rekey(e, from, to) },
				map[string]string{"rekeyed": dir}, func(w io.Writer) { fmt.Fprintf(w, "the secrets of %s are sealed with the new key\n", dir) })
		},
	}
	fs := cmd.Flags()
	old.Register(fs)
	fs.StringVar(&next.KeyFile, "new-key-file", "", "the new key: 32 bytes or 64 hex digits in a file of mode 0600")
	fs.StringVar(&next.PassphraseFile, "new-passphrase-file", "", "a file of mode 0600 with the new passphrase")
	return cmd
}

// rekey makes to the key of a store that from opens; or to already, where a rekey
// was broken off; or none.
func rekey(e *rocks.Engine, from, to seal.Key) error {
	if !e.Sealed() {
		_, err := seal.Open(e, to, seal.Options{})
		return err
	}
	if from.IsZero() {
		_, err := seal.Open(e, to, seal.Options{}) // which finishes what was broken off
		if errors.Is(err, seal.ErrWrongKey) {
			return cli.Bad(errors.New("the store is sealed: rekey wants its key, too"), "name it with --seal-key-file or --seal-passphrase-file")
		}
		return err
	}
	s, err := seal.Open(e, from, seal.Options{})
	if errors.Is(err, seal.ErrWrongKey) {
		if _, resumed := seal.Open(e, to, seal.Options{}); resumed == nil {
			return nil
		}
	}
	if err != nil {
		return cli.SealFailure(err)
	}
	return s.Rekey(to)
}
