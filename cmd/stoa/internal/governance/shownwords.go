package governance

import (
	"fmt"
	"strings"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// shownWords are the words that a command has shown and that ask for something to be
// done: what they mean stands once below them.
type shownWords struct{ void, equivocation bool }

// verdict notes a verdict that was shown.
func (s *shownWords) verdict(text string) { s.void = s.void || strings.HasPrefix(text, "void") }

// answer notes what was shown of an answer.
func (s *shownWords) answer(d *govAnswerDoc) {
	s.verdict(d.Verdict)
	s.equivocation = s.equivocation || d.Twin != nil
	for i := range d.Cascade {
		s.answer(&d.Cascade[i])
	}
	for _, change := range d.Changed {
		s.verdict(change.New)
	}
}

// explain tells a person what the words mean and what to do.
func (s *shownWords) explain(p *cli.Process) {
	if p.JSON || !s.void && !s.equivocation {
		return
	}
	if s.void {
		fmt.Fprintln(p.Stderr, "void: who signed the op was not entitled to it there, so it does nothing; of your own,\n`stoa group voided GROUP` lists what `stoa group reissue GROUP` makes anew")
	}
	if s.equivocation {
		fmt.Fprintln(p.Stderr, "equivocation: one key has signed two ops with one nonce; a key of yours is in use in two places\n(a copied directory, say): keep one; the member of another is removed by `stoa group remove`")
	}
	fmt.Fprintln(p.Stderr, cli.ConceptsHint)
}
