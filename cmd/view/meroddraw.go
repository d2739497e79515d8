package view

import (
	"fmt"
	"html"
	"net/url"
	"strings"

	"github.com/stoadb/stoa/cmd/inspect/merod"
)

// markup is a page on its way. It is written by hand: packages of templates call methods by their names, and the
// linker then keeps those of the whole program.
type markup struct{ strings.Builder }

// put writes a text of this package, in which each %s is a text of the database, escaped.
func (m *markup) put(format string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, t := range texts {
		escaped[i] = html.EscapeString(t)
	}
	fmt.Fprintf(m, format, escaped...)
}

const merodTop = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s · merod · stoa view</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="style.css">
</head>
<body>
<header>
  <div class="brand"><img src="icon.svg" alt="" width="22" height="22"> stoa <span>view</span></div>
  <div class="store"><code>%s</code><span class="tag">merod</span></div>
</header>
<nav id="nav" aria-label="Views">
  <h2>Database of merod</h2>
`

// rowsLink is the address of rows of a column family, of one type unless that is empty, behind a key.
func rowsLink(column, kind, after string) string {
	q := url.Values{"column": {column}}
	for name, value := range map[string]string{"type": kind, "after": after} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "rows?" + q.Encode()
}

// draw returns the page.
func (p *merodPage) draw() string {
	m := &markup{}
	m.put(merodTop, p.Title, p.Where)
	link := func(to, text string, here bool) {
		m.put("  <a href=\"%s\"", to)
		if here {
			m.put(" aria-current=\"page\"")
		}
		m.put(">%s</a>\n", text)
	}
	link(".", "Overview", p.At == "overview")
	link("findings", "Findings", p.At == "findings")
	m.put("  <h2>Rows</h2>\n")
	for _, family := range p.Families {
		link(rowsLink(family, "", ""), family, p.Column == family)
	}
	m.put("</nav>\n<main id=\"main\" tabindex=\"-1\"><div class=\"view\">\n<h1>%s</h1>\n", p.Title)
	switch {
	case p.Error != "":
		m.put("<p class=\"notice error\" role=\"alert\">%s</p>\n", p.Error)
	case p.At == "overview":
		p.drawOverview(m)
	case p.At == "findings":
		p.drawFindings(m)
	default:
		p.drawRows(m)
	}
	m.put("</div></main>\n</body>\n</html>\n")
	return m.String()
}

func (p *merodPage) drawOverview(m *markup) {
	v := p.Overview
	m.put("<p>%s rows, %s of them explained", fmt.Sprint(v.Rows), fmt.Sprint(v.Explained))
	if v.Newest != "" {
		m.put("; a merod of %s or later has opened it", v.Newest)
	}
	m.put(`. Nothing in the database says which merod has written a row: a row is of the layouts that it fits.</p>
<div class="scroll"><table class="measured">
<thead><tr><th>Column</th><th>Layouts</th><th class="number">Rows</th><th class="number">Bytes</th><th class="number">Smallest</th><th class="number">Largest</th></tr></thead>
<tbody>
`)
	for _, c := range v.Columns {
		unknown := ""
		if !c.Known {
			unknown = "not known"
		}
		m.put(`<tr><td><a href="%s">%s</a> <span class="tag">%s</span></td><td></td>`, rowsLink(c.Column, "", ""), c.Column, unknown)
		m.tally(c.Rows, c.Bytes, c.Smallest, c.Largest)
		for _, k := range c.Kinds {
			p.drawKind(m, c.Column, k)
		}
	}
	m.put("</tbody></table></div>\n")
}

func (p *merodPage) drawKind(m *markup, column string, k merod.Kinds) {
	m.put(`<tr class="part"><td>`)
	if k.Layout == "" {
		m.put("not explained")
	} else {
		m.put(`<a href="%s">%s</a>`, rowsLink(column, k.Type, ""), k.Type)
	}
	m.put("</td><td>%s</td>", k.Layout)
	m.tally(k.Rows, k.Bytes, k.Smallest, k.Largest)
}

// tally writes the rest of a row of a table.
func (m *markup) tally(numbers ...uint64) {
	for _, n := range numbers {
		m.put(`<td class="number">%s</td>`, fmt.Sprint(n))
	}
	m.put("</tr>\n")
}

func (p *merodPage) drawRows(m *markup) {
	for _, r := range p.Rows {
		name := r.Type
		if name == "" {
			name = "a key that is not known"
		}
		m.put("<h3>%s <small>%s</small></h3>\n", name, r.Layout)
		if r.Fault != "" {
			m.put("<p class=\"notice warning\">%s: %s</p>\n", r.KeyHex, r.Fault)
		} else {
			m.put("<pre>%s</pre>\n", r.Text)
		}
		for _, also := range r.Also {
			m.put("<p class=\"notice info\">It fits %s too, as %s: <code>%s</code></p>\n", also.Layout, also.Type, string(also.Value))
		}
		for _, note := range r.Notes {
			m.put("<p class=\"notice info\">%s</p>\n", note)
		}
	}
	switch {
	case len(p.Rows) == 0 && p.After != "":
		m.put("<p class=\"empty\">There is no row more.</p>\n")
	case len(p.Rows) == 0:
		m.put("<p class=\"empty\">There is no row.</p>\n")
	case p.Next != "":
		m.put("<p><a href=\"%s\">The next rows</a></p>\n", rowsLink(p.Column, p.Type, p.Next))
	}
}

func (p *merodPage) drawFindings(m *markup) {
	if len(p.Findings) == 0 {
		m.put("<p class=\"notice good\">Nothing is wrong: every row is explained, and what rows say of each other holds.</p>\n")
		return
	}
	m.put("<div class=\"scroll\"><table>\n<thead><tr><th>Code</th><th>Column</th><th>Key</th><th>What is wrong</th></tr></thead>\n<tbody>")
	for _, f := range p.Findings {
		m.put("<tr><td>%s</td><td>%s</td><td><code>%s</code></td><td>%s</td></tr>\n", f.Code, f.Column, f.Key, f.Reason)
	}
	m.put("</tbody></table></div>\n")
	if p.More > 0 {
		m.put("<p class=\"notice warning\">There are %s more: <code>stoa verify --merod</code> lists all.</p>\n", fmt.Sprint(p.More))
	}
}
