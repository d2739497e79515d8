package cli

import (
	"fmt"
	"strings"
)

// maxNear is the most candidates that an error lists.
const maxNear = 4

// DidYouMean returns ": did you mean A or B?" with the candidates that name may
// stand for, or "" if none is near.
func DidYouMean(name string, candidates []string) string {
	var near []string
	for _, c := range candidates {
		if isNear(strings.ToLower(name), strings.ToLower(c)) {
			near = append(near, c)
		}
	}
	switch {
	case len(near) == 0:
		return ""
	case len(near) > maxNear:
		return fmt.Sprintf(": did you mean %s, or another of %d like it?", strings.Join(near[:maxNear], ", "), len(near))
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}

// isNear reports whether a is b with a typo, or its beginning. Short words have
// to be nearer, since all of them are alike.
func isNear(a, b string) bool {
	allowed := 2
	if len(a) < 5 {
		allowed = 1
	}
	return len(a) >= 3 && strings.HasPrefix(b, a) || distance(a, b) <= allowed
}

// distance returns how many bytes must be changed, added or removed to make b
// of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
