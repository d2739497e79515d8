package policy

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/stoadb/stoa/kv/record"
)

// The names of the collections.
const (
	Policies    = "policy"
	Ledger      = "ledger"
	Agents      = "agent"
	Intents     = "intent"
	Claims      = "claim"
	Delegations = "delegation"
	Approvals   = "approval"
	TenantRules = "settings"
)

// SettingsID is the id of the one record of settings.
const SettingsID = "tenant"

// versioned are the collections that may have versions beside them, which are collections
// of their own: policy.v2 to policy.v9. The ledger has none: its chain is not copied.
var versioned = []string{Policies, Agents, Intents, Claims, Delegations}

// lastVersion is the last version that a collection may have.
const lastVersion = 9

//go:embed collections/*.json
var declarations embed.FS

// Collections returns what the records of the capability are declared to be: the
// collections, in the order of the names above, and then their versions. They are the same
// in all of a process, and not to be changed: to compile the schemas takes milliseconds.
func Collections() ([]*record.Collection, error) {
	sets, err := declaredOnce()
	return slices.Clone(sets), err
}

var declaredOnce = sync.OnceValues(declareAll)

func declareAll() ([]*record.Collection, error) {
	var sets, others []*record.Collection
	for _, name := range []string{Policies, Ledger, Agents, Intents, Claims, Delegations, Approvals, TenantRules} {
		c, err := declared(name)
		if err != nil {
			return nil, err
		}
		c.Check = checks[name]
		if name == Ledger {
			c.Placer = newDraft
		}
		sets = append(sets, c)
	}
	for _, c := range sets {
		if !slices.Contains(versioned, c.Name) {
			continue
		}
		for version := 2; version <= lastVersion; version++ {
			other, err := c.Named(VersionName(c.Name, version))
			if err != nil {
				return nil, fmt.Errorf("policy: version %d of %s: %w", version, c.Name, err)
			}
			other.Prepare = c.Prepare
			others = append(others, other)
		}
	}
	return append(sets, others...), nil
}

// VersionName is the name of a version of a collection; version 1 is the collection.
func VersionName(collection string, version int) string {
	if version == 1 {
		return collection
	}
	return fmt.Sprintf("%s.v%d", collection, version)
}

// declared is a collection as its file declares it.
func declared(name string) (*record.Collection, error) {
	text, err := declarations.ReadFile("collections/" + name + ".json")
	if err != nil {
		return nil, err
	}
	c, err := record.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("policy: the declaration of %s: %w", name, err)
	}
	c.Prepare = prepares[name]
	return c, nil
}
