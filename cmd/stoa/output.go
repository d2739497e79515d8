package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// emit prints a result: v as one line of JSON with --json, else what text
// writes.
func (p *process) emit(v any, text func(w io.Writer)) error {
	w := bufio.NewWriter(p.stdout)
	if p.json {
		if err := writeJSON(w, v); err != nil {
			return err
		}
	} else {
		text(w)
	}
	return w.Flush()
}

// writeJSON writes v as one line of JSON, < and > as they are.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table is text in columns. The zero table is empty.
type table struct {
	rows  [][]string
	right []bool // columns that are aligned to the right
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the rows, each indented, its cells padded to the widest of their
// column and two spaces apart.
func (t *table) write(w io.Writer, indent string) {
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
			if i < len(t.right) && t.right[i] {
				line += pad + cell
			} else {
				line += cell + pad
			}
			line += "  "
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// count returns n with the noun that it counts, as in "1 byte", "2 bytes".
func count[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
