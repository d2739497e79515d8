package shell

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// maxShown is how many words are shown that may come next.
const maxShown = 60

// complete returns a line with what must come next at pos; where several words may, it shows them.
func (s *shell) complete(out io.Writer, line string, pos int) (string, int, bool) {
	words, start, _ := scan(line[:pos])
	word := ""
	if start < pos {
		words, word = words[:len(words)-1], words[len(words)-1]
	}
	may := s.candidates(words, word)
	if len(may) == 0 {
		return line, pos, true
	}
	next := common(may)
	if len(may) == 1 {
		next = cli.Quoted(next) + " "
	} else if next == word {
		if len(may) > maxShown {
			may = append(may[:maxShown:maxShown], "…")
		}
		fmt.Fprintf(out, "%s\n", strings.Join(may, "  "))
	}
	return line[:start] + next + line[pos:], start + len(next), true
}

// candidates are the words that may come next behind some others, and begin so: as the completion of
// other shells has them.
func (s *shell) candidates(words []string, word string) []string {
	if len(words) > 0 && words[0] == "stoa" {
		words = words[1:]
	}
	var out bytes.Buffer
	args := append(append([]string{cobra.ShellCompNoDescRequestCmd}, words...), word)
	s.run(s.p.Ctx, args, strings.NewReader(""), &out, io.Discard, s.env)
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	lines = lines[:len(lines)-1] // which is the directive
	may := slices.DeleteFunc(lines, func(l string) bool { return l == "" || !strings.HasPrefix(l, word) })
	if len(words) == 0 {
		if strings.HasPrefix("exit", word) {
			may = append(may, "exit")
		}
	}
	return may
}

// common is what all words begin with.
func common(words []string) string {
	first, last := slices.Min(words), slices.Max(words)
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	return strings.ToValidUTF8(first[:n], "")
}
