package merod

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	_ "embed"
)

//go:embed layouts.txt
var layoutsText string

// kind is what a type is made of.
type kind uint8

const (
	kindNumber   kind = iota // of size bytes, little endian; of 1 byte too
	kindBool                 // one byte, 0 or 1
	kindFixed                // size bytes
	kindSecret               // 32 bytes
	kindString               // u32 length, UTF-8
	kindBytes                // u32 length; inner: what they are, perhaps
	kindMap                  // u32 count, strings
	kindOption               // one byte, 0 or 1, and inner
	kindVec                  // u32 count, inner
	kindStruct               // fields
	kindEnum                 // one byte, the number of a field
	kindOp                   // inner, an enum whose values are what is left but for opTail bytes
	kindRaw                  // what is left
	kindWithheld             // what is left, which is not shown
)

// opTail is the signature behind an op.
const opTail = 64

// typ is a type of layouts.txt.
type typ struct {
	kind   kind
	size   int
	inner  *typ
	fields []field
}

// field is a field of a struct or a variant of an enum.
type field struct {
	name string
	typ  *typ // nil: a variant without values
}

// part is a part of a key.
type part struct {
	name   string
	size   int // -1: what is left
	number bool
	text   bool
}

// rule says how the rows of a kind look in some layouts.
type rule struct {
	layouts  string
	family   string
	prefix   []byte // of the key
	kind     string
	parts    []part // behind the prefix; a prefix of text is a part too
	quoted   bool   // the prefix is a part
	value    *typ
	fallback bool // only where no rule before it fits
}

// catalog is what layouts.txt says.
type catalog struct {
	types    map[string]*typ
	families []string          // in the order in which they are first named
	since    map[string]string // the day since when there is a family, of those that were not always there
	rules    map[rulesOf][]*rule
}

// rulesOf is which rules a key is looked up in: those of its family, or, where all keys of
// that begin with a byte that tells them apart, of that byte.
type rulesOf struct {
	family string
	prefix int // -1: none
}

// rulesFor returns the rules that may fit a key, and whether the family is known.
func (c *catalog) rulesFor(family string, key []byte) (rules []*rule, known bool) {
	rules, known = c.rules[rulesOf{family, -1}]
	if known && len(rules) == 0 && len(key) > 0 { // they have prefixes
		rules = c.rules[rulesOf{family, int(key[0])}]
	}
	return rules, known
}

// layouts is the one catalog; a test holds that it parses.
var layouts = mustParse(layoutsText)

func mustParse(text string) *catalog {
	c, err := parseLayouts(text)
	if err != nil {
		panic(err) // the text is a part of the program
	}
	return c
}

// parseLayouts parses a text in the form of layouts.txt.
func parseLayouts(text string) (*catalog, error) {
	c := &catalog{types: map[string]*typ{}, since: map[string]string{}, rules: map[rulesOf][]*rule{}}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		lines = append(lines, line)
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "type "), "="); ok && strings.HasPrefix(line, "type ") {
			c.types[strings.TrimSpace(name)] = new(typ) // a type may be named before its line
		}
	}
	for _, line := range lines {
		if words := strings.Fields(line); words[0] == "family" && len(words) == 3 {
			c.since[words[1]] = words[2]
		} else if err := c.line(line); err != nil {
			return nil, fmt.Errorf("merod: layouts: %q: %w", line, err)
		}
	}
	return c, nil
}

// KindNames returns the names of the kinds of rows, in order.
func KindNames() (names []string) {
	for _, rules := range layouts.rules {
		for _, r := range rules {
			names = append(names, r.kind)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FamilyOf returns the column family of a kind of rows.
func FamilyOf(kind string) (family string, ok bool) {
	for of, rules := range layouts.rules {
		if slices.ContainsFunc(rules, func(r *rule) bool { return r.kind == kind }) {
			return of.family, true
		}
	}
	return "", false
}

func (c *catalog) line(line string) error {
	left, right, ok := strings.Cut(line, "=")
	if !ok {
		return fmt.Errorf("no =")
	}
	p := typeParser{c: c, rest: right}
	t := p.typ()
	if p.err == nil && p.peek() != "" {
		p.fail("more than a type")
	}
	if p.err != nil {
		return p.err
	}
	words := strings.Fields(left)
	switch {
	case len(words) == 2 && words[0] == "type":
		*c.types[words[1]] = *t
		return nil
	case len(words) >= 4 && (words[0] == "row" || words[0] == "else"):
	default:
		return fmt.Errorf("neither a type nor a row")
	}
	r := &rule{layouts: words[1], family: words[2], value: t, fallback: words[0] == "else"}
	words = words[3:]
	if text, ok := strings.CutPrefix(words[0], `"`); ok {
		r.prefix, r.quoted, words = []byte(strings.TrimSuffix(text, `"`)), true, words[1:]
	} else if b, err := hex.DecodeString(words[0]); err == nil && len(b) == 1 {
		r.prefix, words = b, words[1:]
	}
	r.kind = words[0]
	for _, word := range words[1:] {
		p, err := parsePart(word)
		if err != nil {
			return err
		}
		r.parts = append(r.parts, p)
	}
	if !slices.Contains(c.families, r.family) {
		c.families = append(c.families, r.family)
		c.rules[rulesOf{r.family, -1}] = nil
	}
	of := rulesOf{r.family, -1}
	if len(r.prefix) > 0 && !r.quoted {
		of.prefix = int(r.prefix[0])
	}
	c.rules[of] = append(c.rules[of], r)
	return nil
}

func parsePart(word string) (part, error) {
	name, size, ok := strings.Cut(word, ":")
	p := part{name: name, size: 32}
	switch {
	case !ok:
		return p, nil
	case size == "rest":
		p.size = -1
		return p, nil
	}
	if n, ok := strings.CutPrefix(size, "text"); ok {
		p.text, size = true, n
	}
	n, err := strconv.Atoi(size)
	p.size, p.number = n, !p.text && n <= 8
	return p, err
}

// typeParser parses a type.
type typeParser struct {
	c    *catalog
	rest string
	err  error
}

func (p *typeParser) fail(reason string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s before %q", reason, p.rest)
	}
}

// token cuts the next one off: a name, or one sign.
func (p *typeParser) token() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	n := strings.IndexFunc(p.rest, func(r rune) bool { return strings.ContainsRune(" {},?[]<>", r) })
	switch {
	case n < 0:
		n = len(p.rest)
	case n == 0:
		n = 1
	}
	token := p.rest[:n]
	p.rest = p.rest[n:]
	return token
}

func (p *typeParser) peek() string {
	rest := p.rest
	token := p.token()
	p.rest = rest
	return token
}

func (p *typeParser) expect(token string) {
	if got := p.token(); got != token {
		p.fail("no " + token)
	}
}

// scalars are the types that have names.
var scalars = map[string]typ{
	"u8": {kind: kindNumber, size: 1}, "u32": {kind: kindNumber, size: 4}, "u64": {kind: kindNumber, size: 8}, "u128": {kind: kindNumber, size: 16},
	"bool": {kind: kindBool}, "id": {kind: kindFixed, size: 32}, "id12": {kind: kindFixed, size: 12}, "id64": {kind: kindFixed, size: 64}, "secret": {kind: kindSecret},
	"string": {kind: kindString}, "map": {kind: kindMap}, "raw": {kind: kindRaw}, "withheld": {kind: kindWithheld}, "none": {kind: kindStruct},
}

func (p *typeParser) typ() *typ {
	switch token := p.token(); token {
	case "?":
		return &typ{kind: kindOption, inner: p.typ()}
	case "[":
		p.expect("]")
		return &typ{kind: kindVec, inner: p.typ()}
	case "{":
		return &typ{kind: kindStruct, fields: p.fields(false)}
	case "enum":
		p.expect("{")
		return &typ{kind: kindEnum, fields: p.fields(true)}
	case "bytes", "op":
		t := &typ{kind: kindBytes}
		if token == "op" {
			t.kind = kindOp
		}
		if p.peek() == "<" {
			p.expect("<")
			t.inner = p.typ()
			p.expect(">")
		}
		return t
	default:
		if t, ok := scalars[token]; ok {
			return &t
		}
		t := p.c.types[token]
		if t == nil {
			p.fail("no type " + token)
		}
		return t
	}
}

// fields parses what is between braces, of which the first is cut off.
func (p *typeParser) fields(variants bool) (fields []field) {
	for p.err == nil {
		f := field{name: p.token()}
		if next := p.peek(); !variants || next != "," && next != "}" {
			f.typ = p.typ()
		}
		fields = append(fields, f)
		if p.peek() == "}" {
			p.expect("}")
			return fields
		}
		p.expect(",")
	}
	return nil
}
