package dagwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromDelta returns a delta taken apart. It keeps the keys and values of d.
func FromDelta(d *dag.Delta) *stoav1.DagDelta {
	return &stoav1.DagDelta{
		ContextId: op.Bytes(d.Context), Parents: op.FromIDs(d.Parents), Actions: FromActions(d.Actions),
		Hlc: FromStamp(d.HLC), ExpectedRootHash: op.Bytes(d.ExpectedRoot), Events: FromEvents(d.Events),
	}
}

// FromActions returns actions as they go over the wire, keeping their bytes.
func FromActions(actions []codec.Action) []*stoav1.DagAction {
	list := make([]*stoav1.DagAction, len(actions))
	for i := range actions {
		a := &actions[i]
		list[i] = &stoav1.DagAction{AppKey: a.Key}
		if a.Kind == codec.ActionPut {
			if list[i].Value = a.Value; a.Value == nil {
				list[i].Value = []byte{} // set, and empty
			}
		}
	}
	return list
}

// Actions returns the actions in a field, keeping their bytes.
func Actions(list []*stoav1.DagAction) []codec.Action {
	if len(list) == 0 {
		return nil
	}
	actions := make([]codec.Action, len(list))
	for i, m := range list {
		if m.Value == nil {
			actions[i] = codec.Delete(m.GetAppKey())
		} else {
			actions[i] = codec.Put(m.GetAppKey(), m.GetValue())
		}
	}
	return actions
}

// FromEvents returns events as they go over the wire, keeping their bytes.
func FromEvents(events []codec.Event) []*stoav1.DagEvent {
	list := make([]*stoav1.DagEvent, len(events))
	for i := range events {
		list[i] = &stoav1.DagEvent{Kind: events[i].Kind, Data: events[i].Data}
	}
	return list
}

// Events returns the events in a field, keeping their bytes.
func Events(list []*stoav1.DagEvent) []codec.Event {
	if len(list) == 0 {
		return nil
	}
	events := make([]codec.Event, len(list))
	for i, m := range list {
		events[i] = codec.Event{Kind: m.GetKind(), Data: m.GetData()}
	}
	return events
}

// FromApplication returns an application as it goes over the wire.
func FromApplication(a *codec.ApplicationMeta) *stoav1.DagApplication {
	m := &stoav1.DagApplication{
		ApplicationId: op.Bytes(a.ApplicationID), Bytecode: op.Bytes(a.Bytecode), Size: a.Size, Source: a.Source,
		Metadata: a.Metadata, Compiled: op.OptionalBytes(a.Compiled), Package: a.Package, Version: a.Version, SignerId: a.SignerID,
	}
	for i := range a.Services {
		s := &a.Services[i]
		m.Services = append(m.Services, &stoav1.DagApplicationService{
			Name: s.Name, Bytecode: op.Bytes(s.Bytecode), Compiled: op.OptionalBytes(s.Compiled),
		})
	}
	return m
}

// Application returns the application in a field; a field that is not set is one
// of zeros.
func Application(field string, m *stoav1.DagApplication) (a codec.ApplicationMeta, err error) {
	if m == nil {
		return a, nil
	}
	a = codec.ApplicationMeta{
		Size: m.GetSize(), Source: m.GetSource(), Metadata: m.GetMetadata(),
		Package: m.GetPackage(), Version: m.GetVersion(), SignerID: m.GetSignerId(),
	}
	if a.ApplicationID, err = op.ParseOptional[codec.ApplicationID](field+".application_id", m.GetApplicationId()); err != nil {
		return a, err
	}
	if a.Bytecode, err = op.ParseOptional[codec.BlobID](field+".bytecode", m.GetBytecode()); err != nil {
		return a, err
	}
	if a.Compiled, err = op.ParseOptional[codec.BlobID](field+".compiled", m.GetCompiled()); err != nil {
		return a, err
	}
	for _, s := range m.GetServices() {
		service := codec.ServiceMeta{Name: s.GetName()}
		if service.Bytecode, err = op.ParseOptional[codec.BlobID](field+".services.bytecode", s.GetBytecode()); err != nil {
			return a, err
		}
		if service.Compiled, err = op.ParseOptional[codec.BlobID](field+".services.compiled", s.GetCompiled()); err != nil {
			return a, err
		}
		a.Services = append(a.Services, service)
	}
	return a, nil
}
