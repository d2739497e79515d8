package document

// Size is what a look at a JSON text says of it, without anything being made of it. Of what is no JSON
// text it says something.
type Size struct {
	// AtLeast is what the canonical form has at least, in bytes: numbers and escapes may have more.
	AtLeast int
	// Depth is how deep arrays and objects are nested.
	Depth int
	// Names is how many properties the objects have at most that are open at once.
	Names int

	deep int // where it is nested deeper than MaxDepth first
}

// Measure looks at a JSON text once, in memory of its own that does not grow.
func Measure(text []byte) (m Size) {
	var names [MaxDepth + 1]int // of the objects that are open, by depth
	open, depth, number := 0, 0, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		if b >= '0' && b <= '9' || number && (b == '.' || b == 'e' || b == 'E' || b == '+' || b == '-') {
			if !number {
				m.AtLeast++
			}
			number = true
			continue
		}
		number = false
		switch b {
		case ' ', '\t', '\r', '\n', '-': // of the minus of zero nothing is left
		case '"':
			var n int
			n, i = measureString(text, i+1)
			m.AtLeast += n + 2
		case '{', '[':
			m.AtLeast++
			if depth++; depth > m.Depth {
				m.Depth = depth
			}
			if depth > MaxDepth {
				m.deep = i
				return m
			}
			names[depth] = 0
		case '}', ']':
			m.AtLeast++
			if depth > 0 {
				open -= names[depth]
				depth--
			}
		case ':':
			m.AtLeast++
			names[depth]++
			open++
			m.Names = max(m.Names, open)
		default:
			m.AtLeast++ // a comma, or a letter of a word
		}
	}
	return m
}

// measureString returns what a string says at least, in bytes, and where its end is: that of the
// text if it has none.
func measureString(text []byte, at int) (n, end int) {
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			return n, at
		case '\\':
			if at++; at < len(text) && text[at] == 'u' {
				at += 4
			}
			n++
		default:
			n++
		}
	}
	return n, at
}
