package agents

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/internal/settingwire" // says how settings go over the wire
)

// Settings are the configuration and the features of a tenant. Any number of goroutines may
// use them at once. Refusals are [*setting.Error].
type Settings struct {
	c      caller.Caller
	tenant string
}

// NewSettings returns the settings of a tenant; "" is the tenant that the daemon binds this
// user to.
func NewSettings(c caller.Caller, tenant string) *Settings { return &Settings{c, tenant} }

// settingName are the arguments of Get.
type settingName struct {
	op.OfTenant
	Name string
}

var settingGet = op.New(op.Method{Number: 1051, Name: "Setting.Get", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *setting.Store, a *settingName) (setting.Setting, error) {
		return s.Get(a.Tenant, a.Name)
	})

// Get returns a setting by its name. It returns setting.ErrValidation for a name that none
// has.
func (s *Settings) Get(ctx context.Context, name string) (setting.Setting, error) {
	return caller.Call(ctx, s.c, settingGet, settingName{op.Of(s.tenant), name})
}

var settingList = op.New(op.Method{Number: 1052, Name: "Setting.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *setting.Store, a *op.OfTenant) ([]setting.Setting, error) {
		return s.List(ctx, a.Tenant)
	})

// List returns all settings, those too that are not set, as they are at one moment.
func (s *Settings) List(ctx context.Context) ([]setting.Setting, error) {
	return caller.Call(ctx, s.c, settingList, op.Of(s.tenant))
}

// settingChange are the arguments of Set.
type settingChange struct {
	op.OfTenant
	Name       string
	Value      []byte
	Durability engine.Durability
}

var settingSet = op.New(op.Method{Number: 1053, Name: "Setting.Set", Role: access.Operator},
	func(ctx context.Context, s *setting.Store, a *settingChange) (setting.Setting, error) {
		return s.Set(ctx, a.Tenant, a.Name, a.Value, a.Durability)
	})

// Set sets a setting to a value, which is JSON, and returns it then; see [setting.Store.Set].
// It takes effect at once. It is for those who look after tenants.
func (s *Settings) Set(ctx context.Context, name string, value []byte, d engine.Durability) (setting.Setting, error) {
	return caller.Call(ctx, s.c, settingSet, settingChange{op.Of(s.tenant), name, value, d})
}

// settingForgetting are the arguments of Delete.
type settingForgetting struct {
	op.OfTenant
	Name       string
	Durability engine.Durability
}

var settingDelete = op.New(op.Method{Number: 1054, Name: "Setting.Delete", Role: access.Operator},
	func(ctx context.Context, s *setting.Store, a *settingForgetting) (was bool, err error) {
		return s.Delete(ctx, a.Tenant, a.Name, a.Durability)
	})

// Delete has a setting be its default again, and says whether it was set. It is for those who
// look after tenants.
func (s *Settings) Delete(ctx context.Context, name string, d engine.Durability) (was bool, err error) {
	return caller.Call(ctx, s.c, settingDelete, settingForgetting{op.Of(s.tenant), name, d})
}

// settingWatching are the arguments of Watch.
type settingWatching struct {
	op.OfTenant
	Start kv.WatchStart
	After uint64
}

var settingWatch = op.NewStream(op.Method{Number: 1055, Name: "Setting.Watch", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *setting.Store, a *settingWatching) iter.Seq2[setting.Event, error] {
		return s.Watch(ctx, a.Tenant, a.Start, a.After)
	}, func(e *setting.Event) int {
		return 128 + len(e.Setting.Value) + len(e.Setting.Default) + len(e.Setting.About)
	}, op.StreamQueue)

// Watch yields the settings that the tenant has set, and then each change of one, in order and
// once, until ctx ends. It begins, tells and resumes as a watch of records does; see
// [setting.Store.Watch].
func (s *Settings) Watch(ctx context.Context, with ...caller.WatchOption) iter.Seq2[setting.Event, error] {
	return caller.Resuming[setting.Event]{
		Begin: func(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[setting.Event, error] {
			return caller.Stream(ctx, s.c, settingWatch, settingWatching{op.Of(s.tenant), from, after})
		},
		About:        func(e *setting.Event) (kv.EventKind, uint64) { return e.Kind, e.Revision },
		Again:        setting.Event{Kind: kv.EventResync},
		WatchOptions: caller.Watched(with),
	}.Events(ctx)
}
