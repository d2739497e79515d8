package policy

import (
	"slices"
	"strings"
)

// scoped keeps things by the patterns that they are about, so that those about an action are found
// by its name and the names that it is below. Its lists are in the order that they are
// added by. A list is never changed: another takes its place.
type scoped[T any] struct {
	exact map[string][]T
	below map[string][]T // by the name before the .*
	all   []T
}

// add puts things into the list of a pattern.
func (s *scoped[T]) add(p Pattern, order func(a, b T) int, things ...T) {
	s.change(p, func(list []T) []T {
		list = slices.Grow(slices.Clone(list), len(things))
		for _, thing := range things {
			at, _ := slices.BinarySearchFunc(list, thing, order)
			list = slices.Insert(list, at, thing)
		}
		return list
	})
}

// remove takes the things that are gone out of the list of a pattern.
func (s *scoped[T]) remove(p Pattern, gone func(T) bool) {
	s.change(p, func(list []T) []T { return slices.DeleteFunc(slices.Clone(list), gone) })
}

func (s *scoped[T]) change(p Pattern, f func([]T) []T) {
	if p.text == "*" {
		s.all = f(s.all)
		return
	}
	lists, name := &s.exact, p.text
	if above, is := p.below(); is {
		lists, name = &s.below, above
	}
	if *lists == nil {
		*lists = map[string][]T{}
	}
	if list := f((*lists)[name]); len(list) > 0 {
		(*lists)[name] = list
	} else {
		delete(*lists, name)
	}
}

// about appends the lists of the patterns that match an action.
func (s *scoped[T]) about(to [][]T, action string) [][]T {
	if list := s.exact[action]; list != nil {
		to = append(to, list)
	}
	for name := action; ; {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		name = name[:dot]
		if list := s.below[name]; list != nil {
			to = append(to, list)
		}
	}
	return append(to, s.all)
}
