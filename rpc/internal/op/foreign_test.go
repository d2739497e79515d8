package op

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// elsewhere is as a type of another package, which has no tags.
type elsewhere struct {
	ID        codec.GroupID
	Parent    codec.GroupID
	Depth     int
	Name      codec.AliasName
	Members   int
	Forgotten int
}

var _ = Tags[elsewhere]("ID", "group_id", "Parent", "parent_id,optional", "Forgotten", "-")

func filled[M, V any](t *testing.T, by Fields[M, V], v *V) *M {
	t.Helper()
	m, err := by.Message(v)
	require.NoError(t, err)
	return m
}

func TestTypesOfOtherPackagesAreTaggedFromWithout(t *testing.T) {
	by := NewFields[stoav1.NamespaceTreeGroup, elsewhere]()
	e := elsewhere{ID: codec.GroupID{1}, Depth: 2, Name: "n", Members: 3, Forgotten: 4}
	m := filled(t, by, &e)
	require.Nil(t, m.ParentId, "zeros are a field that is not set")
	back, err := by.Value(m)
	require.NoError(t, err)
	e.Forgotten = 0
	require.Equal(t, e, back)
	_, err = by.Value(nil)
	require.Equal(t, &FieldError{"group_id", "0 bytes instead of 32"}, err)
	require.Panics(t, func() { Tags[elsewhere]("None", "") }, "there is no such field")
}

type outer struct {
	*Inner
	Meta    meta
	Upgrade codec.Option[upgrade]
	Kept    []codec.OpID `wire:"*"`
}

type Inner struct {
	GroupID, NamespaceID codec.GroupID
	ParentID             codec.GroupID `wire:",optional"`
	Children             []codec.GroupID
	Name                 string
}

type meta struct {
	AdminIdentity       codec.Identity
	AppKey              codec.Hash
	TargetApplicationID codec.ApplicationID
	UpgradePolicy       int
	Migration           codec.Option[string]
	CreatedAt           uint64
	DefaultCapabilities codec.Capabilities
	Members, Contexts   int
	Sequence            uint64
}

type upgrade struct {
	FromVersion, ToVersion                             uint64
	Migration                                          codec.Option[string]
	InitiatedAt, Total, Completed, Failed, CompletedAt uint64
	InitiatedBy                                        codec.Identity
	Done                                               bool
}

var (
	_ = Tags[outer]("Meta", ",inline")
	_ = Tags[meta]("*", ",hash")
	_ = Also(func(m *stoav1.GroupUpgrade, u *upgrade) error { m.Failed++; return nil },
		func(m *stoav1.GroupUpgrade, u *upgrade) error {
			if u.Failed == 9 {
				return &FieldError{"failed", "nine"}
			}
			return nil
		})
)

func TestWhatIsWithinIsCarried(t *testing.T) {
	by := NewFields[stoav1.GroupInfo, outer]()
	o := outer{Inner: &Inner{GroupID: codec.GroupID{1}, NamespaceID: codec.GroupID{2}}, Kept: []codec.OpID{{5}}}
	m := filled(t, by, &o)
	require.Nil(t, m.Upgrade)
	require.Nil(t, m.Migration)
	back, err := by.Value(m)
	require.NoError(t, err)
	require.Equal(t, o, back)

	o.Meta.Migration = codec.Some("")
	o.Upgrade = codec.Some(upgrade{InitiatedBy: codec.Identity{6}, Failed: 7})
	m = filled(t, by, &o)
	require.NotNil(t, m.Migration, "what is there and empty is not what is not there")
	require.EqualValues(t, 8, m.Upgrade.Failed, "what is done too")
	m.Upgrade.Failed--
	back, err = by.Value(m)
	require.NoError(t, err)
	require.Equal(t, o, back)
	m.Upgrade.Failed = 9
	_, err = by.Value(m)
	require.Equal(t, &FieldError{"upgrade.failed", "nine"}, err, "a field is named with those that it is in")
}

type either struct {
	ContextID *codec.ContextID
	GroupID   *codec.GroupID
}

func TestPartsOfAOneofArePointers(t *testing.T) {
	by := NewFields[stoav1.GroupResolveRequest, either]()
	for _, e := range []either{{}, {ContextID: &codec.ContextID{1}}, {GroupID: &codec.GroupID{1}}} {
		back, err := by.Value(filled(t, by, &e))
		require.NoError(t, err)
		require.Equal(t, e, back)
	}
	_, err := by.Value(&stoav1.GroupResolveRequest{What: &stoav1.GroupResolveRequest_GroupId{}})
	require.Equal(t, &FieldError{"group_id", "0 bytes instead of 32"}, err, "set, and empty")
}

// tree is within itself.
type tree struct {
	Kind    int
	Below   []tree
	Refusal *refused
}

type refused struct {
	Op     codec.OpID
	Reason int
	Detail string
}

type answered struct {
	NamespaceID      codec.GroupID
	OpID             codec.OpID
	Verdict          *struct{ Outcome, Reason int }
	Missing, Dropped []codec.OpID
	Equivocation     *stoav1.GovEquivocation
	Changed          []*stoav1.GovVerdictChange
	tree
}

type reply struct{ tree tree }

var (
	_ = Tags[answered]("*", ",optional")
	_ = Tags[tree]("Below", "cascade,optional")
	_ = Tags[refused]("Op", "op_id,optional")
	_ = Via(func(r *reply) answered { return answered{tree: r.tree} }, func(a *answered) (reply, error) {
		if a.Kind == 0 {
			return reply{}, errors.New("none")
		}
		return reply{a.tree}, nil
	})
	_ = Via(func(t *tree) answered { return answered{tree: *t} }, func(a *answered) (tree, error) { return a.tree, nil })
)

func TestATypeMayBeCarriedAsAnotherAndInItself(t *testing.T) {
	type response struct{ Answer reply }
	by := NewFields[stoav1.NamespaceApplyResponse, response]()
	r := response{reply{tree{Kind: 1, Refusal: &refused{Detail: "no"}, Below: []tree{{Kind: 2}, {Kind: 3, Below: []tree{{Kind: 4}}}}}}}
	back, err := by.Value(filled(t, by, &r))
	require.NoError(t, err)
	require.Equal(t, r, back)
	_, err = by.Value(new(stoav1.NamespaceApplyResponse))
	require.EqualError(t, err, "none")
}

func TestAnOperationByHandRegistersNothing(t *testing.T) {
	var d grpc.ServiceDesc
	o := ByHand(Method{Number: 308, Name: "Namespace.ApplyMany", Role: access.Writer})
	o.Register(nil, &d)
	require.Empty(t, d.Streams)
	require.Equal(t, "/stoa.v1.Namespace/ApplyMany", o.About().Full())
}

// Refusal is DagRefusal's.
type Refusal struct {
	DeltaID          codec.DeltaID `wire:",optional"`
	Reason           int
	Ancestor         codec.DeltaID `wire:",optional"`
	ExpectedRootHash codec.Hash    `wire:",optional"`
	ComputedRootHash codec.Hash    `wire:",optional"`
	Detail           string
}

// An embedded struct that is a field of the message is it as a whole: its own fields are
// not looked for.
func TestEmbeddedStructsThatAreFieldsAreNotTakenApart(t *testing.T) {
	type listed struct {
		Refusal
		Seq uint64
	}
	want := listed{Refusal{Detail: "d"}, 7}
	m := new(stoav1.DagListedRefusal)
	require.NoError(t, mappingOf(m, reflect.TypeFor[listed]()).fill(m, &want))
	require.Equal(t, "d", m.GetRefusal().GetDetail())
	got, err := parsed[listed](t, m)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
