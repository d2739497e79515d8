package server

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// admin does the operations of the Admin service.
type admin struct{ s *Server }

var _ backend.Daemon = (*admin)(nil)

// Status returns what the daemon is, how it is, and what who asks may do.
func (a *admin) Status(ctx context.Context) *stoav1.StatusResponse {
	who, _ := framed.PeerFrom(ctx)
	i, health := &a.s.o.Info, a.s.eng.Health()
	res := &stoav1.StatusResponse{
		ApiVersion: apiVersion, SchemaVersion: i.SchemaVersion, Features: a.s.features(),
		Version: i.Version, Commit: i.Commit, Engine: i.Engine, NodeId: i.NodeID, Pid: int32(os.Getpid()),
		Started: timestamppb.New(i.Started), Health: &stoav1.Health{Writable: health.Writable, Reason: health.Reason}, Recovery: i.Recovery,
		Uid: who.UID, Roles: who.Rights.Roles.Names(), Tenant: who.Rights.Tenant,
	}
	if !i.Date.IsZero() {
		res.Date = timestamppb.New(i.Date)
	}
	if a.s.o.SharedRows != nil {
		if stats, ok := a.s.o.SharedRows.SharedRowStats(); ok {
			res.SharedRows = &stoav1.SharedRows{Bytes: stats.Bytes, Kept: stats.Kept, Readers: uint32(a.s.readers.Load())}
		}
	}
	if a.s.o.Jobs != nil {
		res.JobWorkersOff = a.s.o.Jobs.Off()
	}
	if i.Disk != nil {
		free, reserve, err := i.Disk()
		if err != nil {
			a.s.log.Warn("the free space of the disk is not known", "error", err)
			return res
		}
		res.Disk = &stoav1.Disk{Free: free, Reserve: reserve}
	}
	return res
}

// apiVersion is the version of the protocol that a server speaks.
const apiVersion = 1

// allFeatures returns what a server can do if all its services are there; README.md of package
// rpc says what the names mean.
func allFeatures() []string {
	return []string{"blob", "blob-verify", "bucket", "dag", "event", "find", "frames", "governance", "health", "job", "kv", "kv-synced", "limit", "lock", "policy", "record", "reflection", "session", "setting", "snapshot", "stream", "sync", "task", "user-session"}
}

// features returns what this server can do, and what is switched on.
func (s *Server) features() []string {
	names := allFeatures()
	without := func(feature string) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == feature })
	}
	if s.o.Dag == nil {
		without("dag")
	}
	if s.o.Namespaces == nil {
		without("governance")
	}
	if s.content == nil {
		without("sync")
	}
	if s.o.KV == nil {
		without("kv")
		without("kv-synced")
	}
	if s.o.Records == nil {
		without("record")
	}
	if s.o.Locks == nil {
		without("lock")
	}
	if s.o.Limits == nil {
		without("limit")
	}
	if s.o.Events == nil {
		without("event")
	}
	if s.o.Jobs == nil {
		without("job")
	}
	if s.o.Buckets == nil {
		without("bucket")
	}
	if s.o.Streams == nil {
		without("stream")
	}
	if s.o.Settings == nil {
		without("setting")
	}
	if s.o.Sessions == nil {
		without("user-session")
	}
	if s.o.Approvals == nil {
		without("task")
	}
	if s.o.Policies == nil {
		without("policy")
	}
	if s.o.Raw {
		names = append(names, "raw")
	}
	return names
}

// Peers returns what each peer may do, and what those who are connected take.
func (a *admin) Peers() *stoav1.PeersResponse {
	res := &stoav1.PeersResponse{}
	for _, row := range a.s.o.Peers.Rows() {
		res.Table = append(res.Table, &stoav1.PeerRights{Group: row.Group, Id: row.ID, Roles: row.Rights.Roles.Names(), Tenant: row.Rights.Tenant})
	}
	taken := a.s.shares.Taken()
	for _, uid := range slices.Sorted(maps.Keys(taken)) {
		u := &stoav1.PeerUser{Uid: uid}
		for _, use := range taken[uid] {
			u.Uses = append(u.Uses, &stoav1.PeerUse{What: use.What, Used: uint64(max(use.Used, 0)), Share: uint64(max(use.Share, 0)), Limit: uint64(use.Limit)})
		}
		res.Users = append(res.Users, u)
	}
	return res
}

// Stats returns counts and sizes of the engine.
func (a *admin) Stats() (engine.Stats, error) { return a.s.eng.Stats() }

// Compact rewrites the tables of a range of a column, or of all columns, whole.
func (a *admin) Compact(ctx context.Context, col column.Column, r engine.Range, prefix []byte) error {
	if col != 0 {
		if err := checkColumn(stoav1.Column(col)); err != nil {
			return err
		}
		return a.s.eng.Compact(col, r.WithPrefix(prefix))
	}
	if len(r.Start) > 0 || r.End != nil || len(prefix) > 0 {
		return badField("column", "bounds need a column")
	}
	for col := range column.All {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.s.eng.Compact(col, engine.Range{}); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes what is in memory to tables.
func (a *admin) Flush() error { return a.s.eng.Flush() }

// Reopen closes and opens the engine after a fault.
func (a *admin) Reopen() (engine.Health, error) {
	if err := a.s.eng.Reopen(); err != nil {
		return engine.Health{}, err
	}
	a.s.log.Info("storage reopened on request")
	return a.s.eng.Health(), nil
}

// Find looks for what a name or the first digits of an id mean.
func (a *admin) Find(ctx context.Context, q naming.Query) (naming.Answer, error) {
	if !q.Kind.Valid() {
		return naming.Answer{}, badField("kind", "none of those that are known")
	}
	found, err := naming.Find(ctx, a.s.eng, q)
	if errors.Is(err, naming.ErrQuery) {
		err = badField("text", err.Error())
	}
	return found, err
}
