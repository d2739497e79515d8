package locks

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// command describes a command of this package.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	locks *rpc.Locks // of the tenant
}

// ofTenant returns a command about what a tenant has, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{c, c.Client.Locks(tenant)}
	})
}

// What a command knows of the lock that it runs under.
const (
	envName  = "STOA_LOCK_NAME"
	envToken = "STOA_LOCK_TOKEN"
	envAgent = "STOA_LOCK_AGENT"
)

// agent is who asks: whom a flag names, else who holds the lock that this command runs
// under, so that it is noticed when they wait for each other; else this process.
func (c *call) agent(given string) string {
	if given = cmp.Or(given, c.Getenv(envAgent)); given != "" {
		return given
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name := c.Getenv("USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return agentName(cmp.Or(name, "uid"+strconv.Itoa(os.Getuid())), host, os.Getpid())
}

// agentName names a process on a host, within what names of agents may have.
func agentName(user, host string, pid int) string {
	clean := strings.Map(func(r rune) rune {
		if r == '{' || r == '}' || unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, user+"@"+host)
	number := fmt.Sprintf(":%d", pid)
	if most := lock.MaxAgent - len(number); len(clean) > most {
		clean = strings.ToValidUTF8(clean[:most], "")
	}
	return clean + number
}
