package cli

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// How long completion asks a daemon, and how many names it takes of it.
const (
	completionTime = 2 * time.Second
	maxNames       = 1000
)

// argumentNames are what arguments are names of, and flags, by what usage calls them.
var (
	argumentNames = map[string]lister{"NAMESPACE": namespaceNames, "GROUP": groupNames, "PARENT": groupNames, "CONTEXT": contextNames, "MEMBER": memberNames, "IDENTITY": memberNames}
	flagNames     = map[string]lister{"namespace": groupNames, "context": contextNames, "member": memberNames, "tenant": tenantNames}
)

// lister tells the names of one kind of thing to yield, or the first digits of the ids of those
// without one, until yield returns false.
type lister func(ctx context.Context, c *rpc.Client, yield func(string) bool) error

// CompleteNames has the arguments and flags of a command and of all below it that are names of namespaces,
// groups, contexts, members and tenants be completed by what the daemon has that the command line
// names. Where there is none, or it does not answer, nothing is.
func CompleteNames(cmd *cobra.Command, p *Process) {
	for _, sub := range cmd.Commands() {
		CompleteNames(sub, p)
	}
	if cmd.ValidArgsFunction != nil || cmd.Flag("socket") == nil {
		return
	}
	words := argumentsOf(cmd.Use)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if strings.Contains(cmd.Use, "...") {
			at = min(at, len(words)-1) // the last may be given again
		}
		if at >= 0 && at < len(words) {
			if list := argumentNames[words[at]]; list != nil {
				return p.names(cmd, list, begun), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	for flag, list := range flagNames {
		if cmd.Flag(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return p.names(cmd, list, begun), cobra.ShellCompDirectiveNoFileComp
			}) // fails only for a flag that is not there
		}
	}
}

// argumentsOf are the arguments of a usage, without what says that they may be left out.
func argumentsOf(use string) (words []string) {
	for _, word := range strings.Fields(use)[1:] {
		if bare := strings.Trim(word, "[]."); bare != "" && !strings.HasPrefix(bare, "-") {
			words = append(words, bare)
		}
	}
	return words
}

// names are those that begin so, in order.
func (p *Process) names(cmd *cobra.Command, list lister, begun string) (found []string) {
	ctx, cancel := context.WithTimeout(p.Ctx, completionTime)
	defer cancel()
	from := DaemonFlags{Socket: cmd.Flag("socket").Value.String(), timeout: completionTime}
	if dir := cmd.Flag("dir"); dir != nil {
		from.dir = dir.Value.String()
	}
	client, err := from.Dial(p)
	if err != nil {
		return nil
	}
	defer client.Close()
	_ = list(ctx, client, func(name string) bool { // as many as there are
		if strings.HasPrefix(name, begun) {
			found = append(found, name)
		}
		return len(found) < maxNames
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// named is a name, or the first digits of what has none.
func named[T ~string, ID ~[32]byte](name T, id ID) string {
	if name != "" {
		return string(name)
	}
	return hex.EncodeToString(id[:6])
}

func namespaceNames(ctx context.Context, c *rpc.Client, yield func(string) bool) error {
	for ns, err := range c.Namespaces().List(ctx) {
		if err != nil || !yield(named(ns.Name, ns.ID)) {
			return err
		}
	}
	return nil
}

func groupNames(ctx context.Context, c *rpc.Client, yield func(string) bool) error {
	return eachGroup(ctx, c, func(g namespace.TreeGroup) (bool, error) { return yield(named(g.Name, g.ID)), nil })
}

// eachGroup shows all groups until show returns false.
func eachGroup(ctx context.Context, c *rpc.Client, show func(namespace.TreeGroup) (bool, error)) error {
	for ns, err := range c.Namespaces().List(ctx) {
		if err != nil {
			return err
		}
		groups, err := c.Namespaces().Tree(ctx, ns.ID)
		if err != nil {
			continue // of which there is nothing yet
		}
		for _, g := range groups {
			if more, err := show(g); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// namesOf yields the names that things of a kind have in any group.
func namesOf(ctx context.Context, c *rpc.Client, of namespace.Named, yield func(string) bool) error {
	return eachGroup(ctx, c, func(g namespace.TreeGroup) (bool, error) {
		for n, err := range c.Groups().Names(ctx, g.ID) {
			if err != nil {
				return false, err
			}
			if n.Of == of && !n.Former && !yield(string(n.Name)) {
				return false, nil
			}
		}
		return true, nil
	})
}

func memberNames(ctx context.Context, c *rpc.Client, yield func(string) bool) error {
	if !yield("me") {
		return nil
	}
	return namesOf(ctx, c, namespace.NamedMember, yield)
}

func contextNames(ctx context.Context, c *rpc.Client, yield func(string) bool) error {
	more := true
	if err := namesOf(ctx, c, namespace.NamedContext, func(name string) bool {
		more = yield(name)
		return more
	}); err != nil || !more {
		return err
	}
	for info, err := range c.Dag().Contexts(ctx) {
		if err != nil || !yield(named("", info.ID)) {
			return err
		}
	}
	return nil
}

func tenantNames(ctx context.Context, c *rpc.Client, yield func(string) bool) error {
	for t, err := range c.Tenants(ctx) {
		if err != nil || !yield(t.Name) {
			return err
		}
	}
	return nil
}
