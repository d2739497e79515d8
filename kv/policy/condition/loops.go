package condition

// loop is a function that asks something of each element of a list.
type loop struct {
	name   string
	result kind
	// each looks at an element and what was said of it; found ends the loop with that value.
	each func(s *looping, said any) (found any, done bool, err error)
	// end is the value if no element ended the loop.
	end func(s *looping) (any, error)
	// any is set where the answer for an element may be other than a boolean.
	any bool
}

// looping is where a loop is.
type looping struct {
	e       *Env
	at      int
	element any
	count   int
	made    []any
}

func (s *looping) keep(v any) error {
	s.made = append(s.made, v)
	return s.e.spend(s.at, 1)
}

var loops = []loop{
	{name: "all", result: isBool,
		each: func(_ *looping, said any) (any, bool, error) { return false, said == false, nil },
		end:  func(*looping) (any, error) { return true, nil }},
	{name: "any", result: isBool,
		each: func(_ *looping, said any) (any, bool, error) { return true, said == true, nil },
		end:  func(*looping) (any, error) { return false, nil }},
	{name: "none", result: isBool,
		each: func(_ *looping, said any) (any, bool, error) { return false, said == true, nil },
		end:  func(*looping) (any, error) { return true, nil }},
	{name: "one", result: isBool, each: counted, end: func(s *looping) (any, error) { return s.count == 1, nil }},
	{name: "count", result: isNumber, each: counted, end: func(s *looping) (any, error) { return float64(s.count), nil }},
	{name: "find", result: isAny,
		each: func(s *looping, said any) (any, bool, error) { return s.element, said == true, nil },
		end:  func(*looping) (any, error) { return nil, nil }},
	{name: "filter", result: isList,
		each: func(s *looping, said any) (any, bool, error) {
			if said == true {
				return nil, false, s.keep(s.element)
			}
			return nil, false, nil
		},
		end: made},
	{name: "map", result: isList, any: true,
		each: func(s *looping, said any) (any, bool, error) { return nil, false, s.keep(said) },
		end:  made},
}

func counted(s *looping, said any) (any, bool, error) {
	if said == true {
		s.count++
	}
	return nil, false, nil
}

func made(s *looping) (any, error) {
	return s.made, nil
}

func (c *compiler) loop(at int, l *loop, n *call) (part, error) {
	over, err := c.node(n.arguments[0])
	if err != nil {
		return part{}, err
	}
	if err := over.mustBe(isList); err != nil {
		return part{}, err
	}
	slot := c.slot()
	c.elements = append(c.elements, slot)
	asked, err := c.node(n.arguments[1].(*predicate).asks)
	c.elements = c.elements[:len(c.elements)-1]
	if err != nil {
		return part{}, err
	}
	if !l.any {
		if err := asked.mustBe(isBool); err != nil {
			return part{}, err
		}
	}
	p := part{kind: l.result, at: at, nodes: over.nodes + asked.nodes + 1}
	p.node = func(e *Env) (any, error) {
		elements, err := list(e, &over)
		if err != nil {
			return nil, err
		}
		s := looping{e: e, at: at}
		for _, s.element = range elements {
			if err := e.spend(at, asked.nodes); err != nil {
				return nil, err
			}
			e.slots[slot] = s.element
			said, err := asked.node(e)
			if err != nil {
				return nil, err
			}
			if _, ok := said.(bool); !ok && !l.any {
				return nil, clash(asked.at, kindOf(said), isBool)
			}
			found, done, err := l.each(&s, said)
			if err != nil || done {
				return found, err
			}
		}
		return l.end(&s)
	}
	return p, nil
}
