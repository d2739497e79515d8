package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/rpc"
)

// Guards is a flag by which a write is made only while locks are held by the grants that
// have some tokens. The zero Guards demand nothing.
type Guards []rpc.LockGuard

// Register adds the flag to those of a command.
func (g *Guards) Register(fs *pflag.FlagSet) {
	fs.Var(g, "lock", "write only while the lock NAME is held by the grant with this TOKEN, else exit 5 (FENCED); may be given more than once")
}

// Set takes what was given for the flag; see [pflag.Value].
func (g *Guards) Set(text string) error {
	at := strings.LastIndexByte(text, '=') // a name may have one
	if at < 0 {
		return errors.New("it is to be NAME=TOKEN, with the token that `stoa lock acquire` prints")
	}
	token, err := strconv.ParseUint(text[at+1:], 10, 64)
	if err != nil || token == 0 {
		return errors.New("what stands behind the last = is to be a token, a number from 1 on")
	}
	name, err := LockName(text[:at])
	if err != nil {
		return err
	}
	*g = append(*g, rpc.LockGuard{Name: name, Token: token})
	return nil
}

// String returns what the flag is set to; see [pflag.Value].
func (g *Guards) String() string {
	var list []string
	for _, one := range *g {
		list = append(list, one.Name+"="+strconv.FormatUint(one.Token, 10))
	}
	return strings.Join(list, " ")
}

// Type returns what help calls the value; see [pflag.Value].
func (g *Guards) Type() string { return "NAME=TOKEN" }

// OfWrites returns the options that say so of a write of key-values.
func (g Guards) OfWrites() (with []rpc.WriteOption) {
	for _, one := range g {
		with = append(with, rpc.Guarded(one.Name, one.Token))
	}
	return with
}

// OfRecords returns the options that say so of a change of a record.
func (g Guards) OfRecords() (with []rpc.RecordOption) {
	for _, one := range g {
		with = append(with, rpc.RecordGuarded(one.Name, one.Token))
	}
	return with
}

// RowGuards are guards of a write of rows, which belong to no tenant: another flag says
// whose locks they name.
type RowGuards struct {
	Guards
	of Tenant
}

// Register adds the flags to those of a command.
func (g *RowGuards) Register(fs *pflag.FlagSet) {
	g.Guards.Register(fs)
	fs.StringVar(&g.of.name, "tenant", "", "whose locks --lock names (default $STOA_TENANT, else the tenant that the daemon binds this user to)")
}

// Store returns the rows of a daemon for such a write.
func (g *RowGuards) Store(p *Process, store *rpc.Store) *rpc.Store {
	if len(g.Guards) == 0 {
		return store
	}
	return store.Guarded(g.of.Name(p), g.Guards...)
}
