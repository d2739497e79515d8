package program

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Concept is a word of this program, and what it means in plain ones.
type Concept struct{ Word, Means string }

// Concepts are in the order in which they explain each other. A line of what a word
// means has at most 81 characters, so that it is 100 wide beside the longest word.
func Concepts() []Concept {
	return []Concept{
		{"node", "one daemon with its directory; several nodes hold the same data and\nexchange what each has made."},
		{"namespace", "a group at the root, with all groups below it. What is changed in it is\nsigned, and every member's node comes to the same result."},
		{"group", "members with roles, contexts and capabilities; it lies below another group,\nor is a namespace."},
		{"identity", "a node's key in one namespace: its public half names a member, its private\nhalf signs, and stays on the node."},
		{"context", "one shared document or application instance: a state of keys and values,\nand the deltas that made it. Its private state is for one node."},
		{"delta", "one change of a context's state, with the deltas that it was made after.\nIts id is a hash of its content."},
		{"head", "a delta, or an op, after which none is known yet. With several heads, several\npeople have written at once; the next change joins them."},
		{"op", "one signed change of governance: a member added, a role set, a key rotated.\nOps stand one after another as deltas do."},
		{"verdict", "what an op comes to by all ops that are here: effective, void, skipped or\nsealed. It may change when ops from others arrive."},
		{"effective", "a verdict: the op does what it says."},
		{"void", "a verdict: its signer was not entitled to it at that place, so it does nothing.\n`stoa group voided` lists your own such ops, `reissue` makes them anew."},
		{"skipped", "a verdict: its signer was entitled to it, but it does not fit what is there\n(a group that is gone, say), so it does nothing."},
		{"sealed op", "a verdict: the op is encrypted with a group's key that is not here, so nobody\nhere knows what it says. It is judged when the key comes from a member."},
		{"sealed secret", "a stored private key, encrypted on this disk with the key of the store\n(`stoa serve --seal-key-file`). This has nothing to do with a sealed op."},
		{"pending", "not judged yet: an op or a delta waits for others before it, which have to\ncome first. `stoa namespace missing` and `stoa dag missing` list those,\n`stoa namespace pending` what waits."},
		{"equivocation", "two ops by one signer with one nonce, a counter: a key that is used in two\nplaces, or somebody who tells different things. All of them count; keep your\nown key in one place, and remove whoever does it on purpose."},
		{"rotation", "a new key for a group, sent to its present members; who was removed can't\nread what is sealed afterwards."},
		{"due", "a rotation is due when somebody who has the current key is no longer a member.\nAt other times `stoa group rotate` is refused, but for `--now`."},
		{"tenant", "whose key-values they are: each tenant has its own keys, quota and revisions."},
		{"blob", "binary content; its id is the SHA-256 of it, so that whoever has the id can\ncheck what they get."},
		{"watermark", "how far the store was surely on disk when it was last noted. If less than\nthat is there after a crash, data was lost, and opening the store says so."},
		{"gov-fold", "a finding of `stoa verify --full`: taking in all ops of a namespace again makes\nother rows than those that are stored, so one or the other is damaged."},
	}
}

// newConcepts returns a topic of help, which is no command.
func newConcepts() *cobra.Command {
	var t strings.Builder
	var rows cli.Table
	for _, c := range Concepts() {
		for i, line := range strings.Split(c.Means, "\n") {
			rows.Add(map[bool]string{true: c.Word}[i == 0], line)
		}
	}
	rows.Write(&t, "  ")
	return &cobra.Command{
		Use: "concepts", Short: "What the words mean: namespace, context, op, void, sealed, due and others",
		Long: "What the words mean.\n\n" + strings.TrimRight(t.String(), "\n"),
	}
}
