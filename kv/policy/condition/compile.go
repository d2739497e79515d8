package condition

// maxExact is the largest integer up to which a float64 has them all.
const maxExact = 1 << 53

// compiler turns the tree of a source into nodes.
type compiler struct {
	slots    int     // that were given out
	names    []local // values of let that are in sight, the innermost last
	elements []int   // slots of the elements of the loops around, the innermost last
	patterns int     // instructions of regular expressions so far
}

// local is a name that let gives to a value.
type local struct {
	name string
	slot int
	kind kind
}

func (c *compiler) slot() int {
	c.slots++
	return c.slots - 1
}

// parts compiles several.
func (c *compiler) parts(nodes ...term) ([]part, error) {
	parts := make([]part, len(nodes))
	for i, n := range nodes {
		var err error
		if parts[i], err = c.node(n); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func (c *compiler) node(n term) (part, error) {
	at := n.where()
	switch n := n.(type) {
	case *literal:
		return constant(at, n.value), nil
	case *identifier:
		return c.identifier(at, n.name), nil
	case *pointer:
		return c.element(at, n.name)
	case *member:
		return c.member(at, n)
	case *chain:
		return c.chain(n)
	case *unary:
		return c.unary(at, n)
	case *binary:
		return c.binary(at, n)
	case *conditional:
		return c.conditional(n)
	case *array:
		return c.list(at, n)
	case *call:
		return c.function(at, n)
	case *let:
		return c.let(at, n)
	}
	return part{}, faultAt(at, "conditions don't have this")
}

// identifier is a name that stands alone.
func (c *compiler) identifier(at int, name string) part {
	for i := len(c.names) - 1; i >= 0; i-- {
		if l := c.names[i]; l.name == name {
			return part{node: func(e *Env) (any, error) { return e.slots[l.slot], nil }, kind: l.kind, at: at, nodes: 1}
		}
	}
	p := part{at: at, nodes: 1}
	switch name {
	case "agent":
		p.kind, p.node = isText, func(e *Env) (any, error) { return e.Agent, nil }
	case "action":
		p.kind, p.node = isText, func(e *Env) (any, error) { return e.Action, nil }
	case "context":
		p.kind, p.node = isMap, func(e *Env) (any, error) { return e.Context, nil }
	default:
		missing := missingAt(at, "there is no %s in the context", name)
		p.node = func(e *Env) (any, error) {
			v, ok := e.Context[name]
			if !ok {
				return nil, missing
			}
			return v, nil
		}
	}
	return p
}

// element is what # stands for in the predicate of a loop.
func (c *compiler) element(at int, name string) (part, error) {
	if name != "" {
		return part{}, faultAt(at, "conditions have no #%s", name)
	}
	slot := c.elements[len(c.elements)-1]
	return part{node: func(e *Env) (any, error) { return e.slots[slot], nil }, at: at, nodes: 1}, nil
}

// chainEnds is what an optional access of nil ends its chain with.
var chainEnds error = &fault{reason: "the chain ends in nil"}

// chain is what an a?.b is a part of: all of it is nil if a is.
func (c *compiler) chain(n *chain) (part, error) {
	inner, err := c.node(n.of)
	if err != nil {
		return part{}, err
	}
	return part{node: func(e *Env) (any, error) {
		v, err := inner.node(e)
		if err == chainEnds {
			return nil, nil
		}
		return v, err
	}, at: inner.at, nodes: inner.nodes + 1}, nil
}

func (c *compiler) member(at int, n *member) (part, error) {
	parts, err := c.parts(n.of, n.property)
	if err != nil {
		return part{}, err
	}
	of, property := parts[0], parts[1]
	if err := of.mustBe(isMap, isList, isNil); err != nil {
		return part{}, err
	}
	if err := property.mustBe(isText, isNumber); err != nil {
		return part{}, err
	}
	optional := n.optional
	p := part{at: at, nodes: of.nodes + property.nodes + 1}
	p.node = func(e *Env) (any, error) {
		from, err := of.node(e)
		if optional && (err == nil && from == nil || isMissing(err)) {
			return nil, chainEnds
		}
		if err != nil {
			return nil, err
		}
		key, err := property.node(e)
		if err != nil {
			return nil, err
		}
		v, err := fetch(at, from, key)
		if optional && isMissing(err) {
			return nil, nil
		}
		return v, err
	}
	return p, nil
}

// isMissing tells whether something was asked for by a name that it does not have.
func isMissing(err error) bool {
	f, ok := err.(*fault)
	return ok && f.missing
}

func (c *compiler) conditional(n *conditional) (part, error) {
	yes := n.yes
	if yes == n.test { // a ?: b: what is true is true, and neither read nor asked twice
		yes = &literal{place(n.where()), true}
	}
	parts, err := c.parts(n.test, yes, n.no)
	if err != nil {
		return part{}, err
	}
	if err := parts[0].mustBe(isBool); err != nil {
		return part{}, err
	}
	test, then, no := parts[0], parts[1].node, parts[2].node
	p := part{at: test.at, nodes: test.nodes + parts[1].nodes + parts[2].nodes + 1}
	if parts[1].kind == parts[2].kind {
		p.kind = parts[1].kind
	}
	p.node = func(e *Env) (any, error) {
		is, err := boolean(e, &test)
		if err != nil {
			return nil, err
		}
		if is {
			return then(e)
		}
		return no(e)
	}
	return p, nil
}

func (c *compiler) list(at int, n *array) (part, error) {
	parts, err := c.parts(n.elements...)
	if err != nil {
		return part{}, err
	}
	p := part{kind: isList, at: at, nodes: 1}
	values, constants := make([]any, len(parts)), true
	for i, one := range parts {
		p.nodes += one.nodes
		values[i], constants = one.value, constants && one.constant
	}
	if constants {
		nodes := p.nodes
		p = constant(at, values)
		p.nodes = nodes
		return p, nil
	}
	p.node = func(e *Env) (any, error) {
		made := make([]any, len(parts))
		for i := range parts {
			var err error
			if made[i], err = parts[i].node(e); err != nil {
				return nil, err
			}
		}
		return made, e.spend(at, len(made))
	}
	return p, nil
}

// let is a value with a name, and what it is in sight of.
func (c *compiler) let(at int, n *let) (part, error) {
	switch n.name {
	case "agent", "action", "context":
		return part{}, faultAt(at, "%s is what the decision is about, and no name for something else", n.name)
	}
	value, err := c.node(n.value)
	if err != nil {
		return part{}, err
	}
	slot := c.slot()
	c.names = append(c.names, local{n.name, slot, value.kind})
	body, err := c.node(n.in)
	c.names = c.names[:len(c.names)-1]
	if err != nil {
		return part{}, err
	}
	return part{node: func(e *Env) (any, error) {
		v, err := value.node(e)
		if err != nil {
			return nil, err
		}
		e.slots[slot] = v
		return body.node(e)
	}, kind: body.kind, at: at, nodes: value.nodes + body.nodes + 1}, nil
}
