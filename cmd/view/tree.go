package view

import (
	"net/http"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// How much of the groups is shown.
const (
	mostGroups  = 2000
	fewMembers  = 5   // that the tree shows of each group
	mostMembers = 500 // that a group by itself shows
)

// groupDoc is a group: in the tree, or by itself.
type groupDoc struct {
	ID         string      `json:"id"`
	Parent     string      `json:"parent,omitempty"` // empty: it is a root group
	Alias      string      `json:"alias,omitempty"`
	Admin      string      `json:"admin,omitempty"`
	AdminAlias string      `json:"admin_alias,omitempty"`
	Policy     string      `json:"upgrade_policy,omitempty"`
	Fault      string      `json:"fault,omitempty"`
	Members    []memberDoc `json:"members"`      // the first ones
	More       bool        `json:"more_members"` // there are others
	Contexts   []itemDoc   `json:"contexts,omitempty"`
}

type memberDoc struct {
	Identity     string `json:"identity"`
	Alias        string `json:"alias,omitempty"`
	Elsewhere    bool   `json:"elsewhere,omitempty"` // another group gives the name
	From         string `json:"from,omitempty"`      // that group, if it is above
	Role         string `json:"role"`
	Capabilities string `json:"capabilities,omitempty"`
}

// groups answers all groups with their parents and some members.
func (s *Server) groups(*http.Request) (any, error) {
	doc := struct {
		Groups []groupDoc `json:"groups"`
		More   bool       `json:"more"` // there are others
		gaps
	}{Groups: []groupDoc{}}
	err := s.store.governed(func(src *inspect.Source, rules *governance) error {
		rg := engine.Prefixed([]byte{keys.GroupMeta{}.Slot().Tag})
		it, err := src.AsIs(doc.tell).Iterate(column.Group, rg)
		if err != nil {
			return err
		}
		defer func() { _ = it.Close() }() // what it has to say, Err has said
		for it.Next() {
			if len(doc.Groups) == mostGroups {
				doc.More = true
				return nil
			}
			k, err := keys.GroupMeta{}.Parse(it.Key())
			if err != nil {
				doc.lose("key", column.Group, it.Key(), err)
				continue
			}
			g, err := groupBeside(src, func(r engine.Reader) (groupDoc, error) { return groupOf(r, rules, k.Group, fewMembers) })
			if err != nil {
				return err
			}
			doc.Groups = append(doc.Groups, g)
		}
		return it.Err()
	})
	return doc, err
}

// group answers one group with its members and contexts.
func (s *Server) group(r *http.Request) (any, error) {
	id, err := idOf(r, "id")
	if err != nil {
		return nil, err
	}
	var g groupDoc
	err = s.store.governed(func(src *inspect.Source, rules *governance) (err error) {
		g, err = groupBeside(src, func(r engine.Reader) (groupDoc, error) {
			g, err := groupOf(r, rules, id, mostMembers)
			if err == nil {
				g.Contexts, err = contextsOf(r, id)
			}
			return g, err
		})
		return err
	})
	return g, err
}

// contextsOf returns the first contexts of a group.
func contextsOf(r engine.Reader, id codec.GroupID) (list []itemDoc, err error) {
	for e, err := range engine.Scan(r, keys.ContextsOf(id)) {
		if err != nil || len(list) == mostMembers {
			return list, err
		}
		name, err := alias(r, keys.GroupContextAlias{Group: id, Context: e.Key.Context})
		if passable(err) != nil {
			return list, err
		}
		list = append(list, itemDoc{ID: e.Key.Context.String(), Alias: name})
	}
	return list, nil
}

// groupBeside reads a group beside what is damaged in it, which its fault says: the first
// place, and how many there are.
func groupBeside(src *inspect.Source, read func(engine.Reader) (groupDoc, error)) (groupDoc, error) {
	var lost gaps
	g, err := read(src.Lenient(lost.tell))
	if lost.Left > 0 {
		g.Fault = lost.Places[0].String()
		if more := lost.Left - 1; more > 0 {
			g.Fault += ", and " + counted(more, "more place")
		}
	}
	return g, err
}

// groupOf reads a group and at most so many of its members. What is damaged in it
// is said in its fault.
func groupOf(r engine.Reader, rules *governance, id codec.GroupID, members int) (g groupDoc, err error) {
	g = groupDoc{ID: id.String(), Members: []memberDoc{}}
	meta, err := engine.Get(r, keys.GroupMeta{Group: id})
	if err == nil {
		g.Admin, g.Policy = meta.AdminIdentity.String(), meta.UpgradePolicy.String()
		if g.AdminAlias, _, err = rules.member(id, meta.AdminIdentity); err != nil {
			return g, err
		}
	} else if passable(err) != nil {
		return g, err
	} else {
		g.Fault = err.Error()
	}
	parent, err := engine.Get(r, keys.GroupParentRef{Child: id})
	if err == nil {
		g.Parent = parent.ParentID.String()
	} else if passable(err) != nil {
		return g, err
	}
	if g.Alias, err = alias(r, keys.GroupAlias{Group: id}); passable(err) != nil {
		return g, err
	}
	for e, err := range engine.Scan(r, keys.MembersOf(id)) {
		switch {
		case passable(err) != nil:
			return g, err
		case err != nil:
			g.Fault = err.Error()
			return g, nil
		case len(g.Members) == members:
			g.More = true
			return g, nil
		}
		m, err := memberOf(r, rules, e.Key, e.Value)
		if err != nil {
			return g, err
		}
		g.Members = append(g.Members, m)
	}
	return g, nil
}

func memberOf(r engine.Reader, rules *governance, k keys.GroupMember, role codec.GroupMemberRole) (m memberDoc, err error) {
	m = memberDoc{Identity: k.Identity.String(), Role: role.String()}
	if m.Alias, err = alias(r, keys.GroupMemberAlias(k)); passable(err) != nil {
		return m, err
	}
	if m.Alias == "" {
		var from codec.GroupID
		if m.Alias, from, err = rules.member(k.Group, k.Identity); err != nil {
			return m, err
		}
		if m.Elsewhere = m.Alias != ""; from != (codec.GroupID{}) {
			m.From = from.String()
		}
	}
	caps, err := engine.Get(r, keys.GroupMemberCapability(k))
	if err == nil {
		m.Capabilities = spaced(caps.Capabilities.String())
	}
	return m, passable(err)
}

// alias returns the name under k.
func alias[K keys.Key[K, codec.AliasName]](r engine.Reader, k K) (string, error) {
	name, err := engine.Get(r, k)
	return string(name), err
}
