package event

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Group is what is known of a group of a stream.
type Group struct {
	Name    string
	BuiltIn bool   // every stream has it
	Last    ID     // the last entry that went to a consumer; Ms is 0 if it is no longer kept
	Pending uint64 // entries that consumers have and have not acknowledged
	Lag     uint64 // entries that no consumer has had, those included that are no longer kept
}

// ListGroups returns the groups of a stream in order of their names.
func (f *Feed) ListGroups(ctx context.Context, stream string) ([]Group, error) {
	if err := checkStream(stream); err != nil {
		return nil, err
	}
	view, err := f.view()
	if err != nil {
		return nil, told(err)
	}
	if view != nil {
		defer func() { _ = view.Close() }()
	}
	return groupsOf(ctx, view, stream)
}

// groupsOf returns the groups of a stream in a state; of a tenant that has none, which is
// nil, those that it is to have.
func groupsOf(ctx context.Context, view *kv.View, stream string) (list []Group, err error) {
	if view == nil {
		for _, name := range Groups() {
			list = append(list, Group{Name: name, BuiltIn: true})
		}
		return list, nil
	}
	head, err := view.Stream(stream)
	if err != nil {
		return nil, told(err)
	}
	groups, err := view.Groups(ctx, stream)
	if err != nil {
		return nil, told(err)
	}
	for _, g := range groups {
		shown := Group{Name: g.Name, BuiltIn: slices.Contains(Groups(), g.Name), Pending: g.Pending, Lag: head.Last - g.Delivered}
		if shown.Last, err = nameOf(view, stream, g.Delivered); err != nil {
			return nil, told(err)
		}
		list = append(list, shown)
	}
	return list, nil
}

// nameOf is the id of an entry by its number; Ms is 0 if it is no longer kept.
func nameOf(view *kv.View, stream string, n uint64) (ID, error) {
	if n == 0 {
		return ID{}, nil
	}
	e, err := view.Entry(stream, n)
	if isGone(err) {
		return ID{Seq: n}, nil
	}
	return idOf(kv.Entry{Number: n, Time: e.Time}), err
}

// Place is where in a stream a group begins, or goes on. The zero Place is the first entry
// that is kept.
type Place struct {
	After ID   // behind an entry
	Now   bool // with the next entry that is added
}

// place is the number that a group is to go on behind.
func (f *Feed) place(stream string, p Place) (uint64, error) {
	view, err := f.view()
	if err != nil {
		return 0, err
	}
	defer func() { _ = view.Close() }()
	if p.Now {
		head, err := view.Stream(stream)
		return head.Last, err
	}
	n, err := numberOf(view, stream, p.After, true)
	return n - 1, err
}

// Begin returns the id behind which a reader goes on from a place: that of the entry before,
// whose Ms is 0 if it is no longer kept. It returns ErrTrimmed if the entry that follows the
// one which the place names is not.
func (f *Feed) Begin(stream string, at Place) (ID, error) {
	if err := checkStream(stream); err != nil {
		return ID{}, err
	}
	if f.space == nil {
		return ID{}, kv.ErrSpaceNotFound
	}
	n, err := f.place(stream, at)
	if err != nil {
		return ID{}, told(err)
	}
	view, err := f.view()
	if err != nil {
		return ID{}, told(err)
	}
	defer func() { _ = view.Close() }()
	if !at.Now {
		if err := whole(view, stream, at.After); err != nil {
			return ID{}, told(err)
		}
	}
	id, err := nameOf(view, stream, n)
	return id, told(err)
}

// CreateGroup makes a group of a stream that begins at a place, and says whether there was
// none. One that is there stays where it is. It returns ErrTooMany for more than MaxGroups.
func (f *Feed) CreateGroup(ctx context.Context, d engine.Durability, stream, group string, at Place) (bool, error) {
	n, err := f.about(stream, group, at)
	if err != nil {
		return false, err
	}
	groups, err := f.ListGroups(ctx, stream)
	if err != nil {
		return false, err
	}
	if len(groups) >= MaxGroups && !slices.ContainsFunc(groups, func(g Group) bool { return g.Name == group }) {
		return false, tooMany("group", MaxGroups, "the stream has %d groups, as many as it may: drop one", len(groups))
	}
	var made bool
	err = f.space.Update(ctx, d, func(tx *kv.Tx) (err error) {
		made, err = tx.CreateGroup(stream, group, n)
		return err
	})
	return made, told(err)
}

// about looks at the names of a stream and a group, and where a place is.
func (f *Feed) about(stream, group string, at Place) (uint64, error) {
	if err := checkStream(stream); err != nil {
		return 0, err
	}
	if err := checkName("group", group); err != nil {
		return 0, err
	}
	if f.space == nil {
		return 0, kv.ErrSpaceNotFound
	}
	n, err := f.place(stream, at)
	return n, told(err)
}

// MoveGroup has a group go on at a place: what it was refused as ErrTrimmed it leaves out so,
// and what is before the place, where that is back, it gets once more. What is pending stays
// so. It returns ErrNotFound if there is no such group.
func (f *Feed) MoveGroup(ctx context.Context, d engine.Durability, stream, group string, at Place) error {
	n, err := f.about(stream, group, at)
	if err != nil {
		return err
	}
	return told(f.space.Update(ctx, d, func(tx *kv.Tx) error { return tx.MoveGroup(stream, group, n) }))
}

// DropGroup removes a group with what is pending in it, and says whether there was one. It
// returns ErrInvalidArgument for a group that every stream has.
func (f *Feed) DropGroup(ctx context.Context, d engine.Durability, stream, group string) (bool, error) {
	if _, err := f.about(stream, group, Place{}); err != nil {
		return false, err
	}
	if slices.Contains(Groups(), group) {
		return false, invalid("group", "every stream has this group: move it to where it is to go on")
	}
	err := f.space.Update(ctx, d, func(tx *kv.Tx) error { return tx.DropGroup(stream, group) })
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, told(err)
}

// Consumer is one of a group of a stream. It needs no making.
type Consumer struct{ Stream, Group, Name string }

func (c *Consumer) check() error {
	if err := checkStream(c.Stream); err != nil {
		return err
	}
	if err := checkName("group", c.Group); err != nil {
		return err
	}
	return checkName("consumer", c.Name)
}

// ReadGroup gives a consumer the next entries that no consumer of its group has had, at most
// limit of them (0: 100, at most MaxBatch), oldest first; where there are none it waits for
// some: none, if none came. They are pending until they are acknowledged. It returns
// ErrTrimmed if the entry that comes next for the group is no longer kept, until the group is
// moved; ErrTooMany where MaxPending are pending; and ErrNotFound if there is no such group.
func (f *Feed) ReadGroup(ctx context.Context, d engine.Durability, c Consumer, limit int, wait time.Duration) ([]Entry, error) {
	if err := errors.Join(c.check(), checkWait(wait), checkLimit(&limit)); err != nil {
		return nil, first(err)
	}
	if f.space == nil {
		return nil, kv.ErrSpaceNotFound
	}
	var list []Entry
	err := f.space.Await(ctx, f.until(wait), func() (bool, error) {
		some, err := f.waits(&c)
		if err == nil && some {
			list, err = f.deliver(ctx, d, &c, limit)
		}
		return len(list) > 0, err
	})
	return list, told(err)
}

// first is the first of the errors that are joined: a refusal names one field.
func first(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

func checkLimit(limit *int) error {
	if *limit < 0 || *limit > MaxBatch {
		return invalid("limit", "1 to %d entries at once, and 0 is %d", MaxBatch, plainLimit)
	}
	if *limit == 0 {
		*limit = plainLimit
	}
	return nil
}

// waits reports whether something waits for a group, so that who waits for something
// writes nothing meanwhile.
func (f *Feed) waits(c *Consumer) (bool, error) {
	view, err := f.view()
	if err != nil {
		return false, err
	}
	defer func() { _ = view.Close() }()
	head, err := view.Stream(c.Stream)
	if err != nil {
		return false, err
	}
	g, err := view.Group(c.Stream, c.Group)
	return g.Delivered < head.Last, err
}

func (f *Feed) deliver(ctx context.Context, d engine.Durability, c *Consumer, limit int) (list []Entry, err error) {
	err = f.space.Update(ctx, d, func(tx *kv.Tx) error {
		g, err := tx.Group(c.Stream, c.Group)
		if err != nil {
			return err
		}
		if g.Pending >= MaxPending {
			e := tooMany("group", MaxPending, "%d entries of the group are pending: acknowledge some, or claim those of consumers that are gone", g.Pending)
			e.Have = g.Pending
			return e
		}
		got, err := tx.Deliver(c.Stream, c.Group, c.Name, min(limit, MaxPending-int(g.Pending)))
		if err != nil {
			return err
		}
		list, err = copied(got)
		return err
	})
	var gone *kv.Error
	if errors.As(err, &gone) && gone.Code == kv.CodeTrimmed {
		view, viewErr := f.view()
		if viewErr != nil {
			return nil, viewErr
		}
		defer func() { _ = view.Close() }()
		return nil, trimmed(view, c.Stream, gone.Limit)
	}
	return list, err
}

// copied returns entries of a transaction, whose bytes end with it.
func copied(list []kv.Entry) ([]Entry, error) {
	for i := range list {
		list[i].Payload = slices.Clone(list[i].Payload)
	}
	return entriesOf(list)
}
