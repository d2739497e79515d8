package approval

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/stoadb/stoa/kv/record"
)

// The names of the collections. That of kv/policy which is called approval has what an agent
// may do once, and is another.
const (
	Tasks       = "task"
	Previews    = "task_preview"
	Approvals   = "approval_request"
	Delegations = "delegation_policy"
)

// Archive is the collection that answered approvals go to.
const Archive = Approvals + ".archive"

//go:embed collections/*.json
var declarations embed.FS

// Collections returns what the records of the capability are declared to be, in the order of
// the names above. They are the same in all of a process, and not to be changed.
func Collections() ([]*record.Collection, error) {
	sets, err := declaredOnce()
	return slices.Clone(sets), err
}

var declaredOnce = sync.OnceValues(func() (sets []*record.Collection, err error) {
	for _, name := range []string{Tasks, Previews, Approvals, Delegations} {
		text, err := declarations.ReadFile("collections/" + name + ".json")
		if err != nil {
			return nil, err
		}
		c, err := record.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("approval: the declaration of %s: %w", name, err)
		}
		c.Prepare = prepares[name]
		sets = append(sets, c)
	}
	return sets, nil
})
