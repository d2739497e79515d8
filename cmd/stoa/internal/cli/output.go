package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Emit prints a result: v as one line of JSON with --json, else what text
// writes.
func (p *Process) Emit(v any, text func(w io.Writer)) error {
	w := bufio.NewWriter(p.Stdout)
	if p.JSON {
		if err := WriteJSON(w, v); err != nil {
			return err
		}
	} else {
		text(w)
	}
	return w.Flush()
}

// WriteJSON writes v as one line of JSON, < and > as they are.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Table is text in columns. The zero table is empty.
type Table struct {
	rows  [][]string
	Right []bool // columns that are aligned to the right
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the rows, each indented, its cells padded to the widest of their
// column and two spaces apart.
func (t *Table) Write(w io.Writer, indent string) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		line := indent
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < len(t.Right) && t.Right[i] {
				line += pad + cell
			} else {
				line += cell + pad
			}
			line += "  "
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// Count returns n with the noun that it counts, as in "1 byte", "2 bytes".
func Count[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "s"):
		noun += "es"
	case strings.HasSuffix(noun, "ry"), strings.HasSuffix(noun, "ty"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Texts returns ids in hex; none is an empty list.
func Texts[T fmt.Stringer](ids []T) []string {
	list := make([]string, len(ids))
	for i := range ids {
		list[i] = ids[i].String()
	}
	return list
}

// UnlessZero returns an id in hex, and nothing for zeros.
func UnlessZero[T interface {
	~[32]byte
	fmt.Stringer
}](id T) string {
	if id == (T{}) {
		return ""
	}
	return id.String()
}

// LineText is the most bytes of a field on a line of several.
const LineText = 96

// Shorten returns the beginning of s, of at most n bytes.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
