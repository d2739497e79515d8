package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// adminService is the Admin service.
type adminService struct {
	stoav1.UnimplementedAdminServer
	s *Server
}

// Status is Admin.Status.
func (a *adminService) Status(context.Context, *stoav1.StatusRequest) (*stoav1.StatusResponse, error) {
	i := &a.s.o.Info
	res := &stoav1.StatusResponse{
		ApiVersion: rpc.APIVersion, SchemaVersion: i.SchemaVersion, Features: a.s.features(),
		Version: i.Version, Engine: i.Engine, NodeId: i.NodeID, Pid: int32(os.Getpid()),
		Started: timestamppb.New(i.Started), Health: a.health(), Recovery: i.Recovery,
	}
	if i.Disk != nil {
		free, reserve, err := i.Disk()
		if err != nil {
			a.s.log.Warn("the free space of the disk is not known", "error", err)
			return res, nil
		}
		res.Disk = &stoav1.Disk{Free: free, Reserve: reserve}
	}
	return res, nil
}

// features returns what this server can do, and what is switched on.
func (s *Server) features() []string {
	names := rpc.Features()
	without := func(feature string) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == feature })
	}
	if s.o.Dag == nil {
		without("dag")
	}
	if s.o.Namespaces == nil {
		without("governance")
	}
	if s.o.KV == nil {
		without("kv")
		without("kv-synced")
	}
	if s.o.Raw {
		names = append(names, "raw")
	}
	return names
}

func (a *adminService) health() *stoav1.Health {
	h := a.s.eng.Health()
	return &stoav1.Health{Writable: h.Writable, Reason: h.Reason}
}

// Stats is Admin.Stats.
func (a *adminService) Stats(context.Context, *stoav1.StatsRequest) (*stoav1.StatsResponse, error) {
	st, err := a.s.eng.Stats()
	if err != nil {
		return nil, err
	}
	res := &stoav1.StatsResponse{
		Sequence: st.Sequence, WalBytes: st.WALBytes, MemtableBytes: st.MemtableBytes, CacheBytes: st.CacheBytes,
		CacheCapacity: st.CacheCapacity, Snapshots: st.Snapshots, Stopped: st.Stopped,
	}
	for _, c := range st.Columns {
		res.Columns = append(res.Columns, &stoav1.ColumnStats{
			Column: stoav1.Column(c.Column), Keys: c.Keys, TableBytes: c.TableBytes, BlobBytes: c.BlobBytes,
			MemtableBytes: c.MemtableBytes, PendingCompactionBytes: c.PendingCompaction, Tables: c.Tables,
		})
	}
	return res, nil
}

// Checkpoint is Admin.Checkpoint.
func (a *adminService) Checkpoint(_ context.Context, r *stoav1.CheckpointRequest) (*stoav1.CheckpointResponse, error) {
	dir := r.GetDir()
	if !filepath.IsAbs(dir) {
		return nil, badField("dir", "not an absolute path")
	}
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); err == nil {
		return nil, badField("dir", "it exists; name a directory that does not")
	}
	switch err := a.s.eng.Checkpoint(dir); {
	case err == nil:
		a.s.log.Info("checkpoint made", "dir", dir)
		return &stoav1.CheckpointResponse{}, nil
	case rpc.Describe(err) != nil:
		return nil, err
	case errors.Is(err, engine.ErrPlace):
		return nil, badField("dir", err.Error())
	case errors.Is(err, fs.ErrExist):
		return nil, badField("dir", "it exists; name a directory that does not")
	case errors.Is(err, fs.ErrNotExist):
		return nil, badField("dir", "the directory that it would be in does not exist")
	case errors.Is(err, fs.ErrPermission):
		return nil, badField("dir", "the daemon has no permission to make it")
	default:
		return nil, err
	}
}

// Compact is Admin.Compact.
func (a *adminService) Compact(ctx context.Context, r *stoav1.CompactRequest) (*stoav1.CompactResponse, error) {
	if r.GetColumn() != 0 {
		col, rg, err := rangeOf(r)
		if err != nil {
			return nil, err
		}
		return &stoav1.CompactResponse{}, a.s.eng.Compact(col, rg)
	}
	if len(r.GetStart()) > 0 || r.End != nil || len(r.GetPrefix()) > 0 {
		return nil, badField("column", "bounds need a column")
	}
	for col := range column.All {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := a.s.eng.Compact(col, engine.Range{}); err != nil {
			return nil, err
		}
	}
	return &stoav1.CompactResponse{}, nil
}

// Flush is Admin.Flush.
func (a *adminService) Flush(context.Context, *stoav1.FlushRequest) (*stoav1.FlushResponse, error) {
	return &stoav1.FlushResponse{}, a.s.eng.Flush()
}

// Reopen is Admin.Reopen.
func (a *adminService) Reopen(context.Context, *stoav1.ReopenRequest) (*stoav1.ReopenResponse, error) {
	if err := a.s.eng.Reopen(); err != nil {
		return nil, err
	}
	a.s.log.Info("storage reopened on request")
	return &stoav1.ReopenResponse{Health: a.health()}, nil
}
