package condition

// term is a part of the tree of a source.
type term interface {
	// where returns how many characters are before it: of an operator, before that.
	where() int
}

type place int

func (p place) where() int { return int(p) }

type (
	literal struct {
		place
		value any // nil, bool, string or float64
	}
	identifier struct {
		place
		name string
	}
	// pointer is what # stands for.
	pointer struct {
		place
		name string // behind the #
	}
	member struct {
		place
		of, property term
		optional     bool // ?.
	}
	// chain is what is nil as a whole where one of its optional members is of nil.
	chain struct {
		place
		of term
	}
	unary struct {
		place
		operator string
		of       term
	}
	binary struct {
		place
		operator    string
		left, right term
	}
	conditional struct{ test, yes, no term }
	array       struct {
		place
		elements []term
	}
	call struct {
		place
		name      string
		arguments []term
	}
	// predicate is what a loop asks of each element.
	predicate struct {
		place
		asks term
	}
	let struct {
		place
		name      string
		value, in term
	}
)

func (c *conditional) where() int { return c.test.where() }
