package governance

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
)

func newNamespaceUpgrade(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "namespace", command{
		Name: "upgrade", Args: []string{"NAMESPACE"}, Short: "Have a namespace of version 1 go on in version 2", Example: "home",
		Long: `State who may do what in all groups of a namespace of which this daemon is an Admin, in
clear and for all to see. In version 1 only who has the keys can read that, so that who
withholds a key decides for others; from the statement on ops are of version 2, which
older daemons refuse: upgrade all of them first. What version 1 has beside the statement
has no effect any more, except that of those above who states: let whoever began the
namespace do it, on a daemon that has all ops. Admins of groups below, of which it is
none, state theirs likewise. It exits 5 where nothing is left to state. ` + cli.ConceptsHint + `.`,
		Run: func(c *call) error {
			done, stated, err := c.namespaces.Upgrade(c.Ctx, c.group)
			if err != nil {
				return err
			}
			d := struct {
				proposedDoc
				Stated []string `json:"stated"`
			}{c.newProposedDoc(&done, codec.GroupID{}), cli.Texts(stated)}
			return c.Emit(d, func(w io.Writer) {
				var t cli.Table
				for _, id := range stated {
					t.Add("stated", c.known.Called(id.String()))
				}
				d.write(w, &t)
			})
		},
	})
}
