package server

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/approval/approvaltest"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// The rows of tasks and approvals hold over the socket as they do in process.
func TestApprovalRows(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		inFullOnce(t, f)
		approvaltest.Run(t, func(t testing.TB, db engine.Engine, s *approval.Store) (approvaltest.Approvals, func()) {
			d := start(t, keptOpen{db}, Options{Records: s.Records(), Approvals: s})
			return remoteApprovals{d.dialAs(t, f)}, d.stop
		})
	})
}

// remoteApprovals are the tasks and approvals of a client as those of a store.
type remoteApprovals struct{ c *rpc.Client }

func (r remoteApprovals) CreateTask(ctx context.Context, tenant string, doc []byte, o record.WriteOptions) (record.Doc, error) {
	return r.c.Tasks(tenant).Create(ctx, json.RawMessage(doc), o.Durability)
}

func (r remoteApprovals) Task(ctx context.Context, tenant, id string) (record.Doc, error) {
	return r.c.Tasks(tenant).Get(ctx, id)
}

func (r remoteApprovals) UpdateTask(ctx context.Context, tenant, id string, patch []byte, o record.UpdateOptions) (record.Doc, error) {
	return r.c.Tasks(tenant).Update(ctx, id, json.RawMessage(patch), o)
}

func (r remoteApprovals) DeleteTask(ctx context.Context, tenant, id string, o record.UpdateOptions) (record.Doc, error) {
	return r.c.Tasks(tenant).Delete(ctx, id, o)
}

func (r remoteApprovals) Move(ctx context.Context, tenant, id string, m approval.Move) (record.Doc, error) {
	return r.c.Tasks(tenant).Move(ctx, id, m)
}

func (r remoteApprovals) TimeOut(ctx context.Context, tenant, id string) (record.Doc, error) {
	return r.c.Tasks(tenant).TimeOut(ctx, id)
}

func (r remoteApprovals) Assess(ctx context.Context, tenant, id string, a approval.Assessment, o record.UpdateOptions) (record.Doc, error) {
	return r.c.Tasks(tenant).Assess(ctx, id, a, o)
}

func (r remoteApprovals) SetPreview(ctx context.Context, tenant, id string, preview []byte, o record.WriteOptions) error {
	return r.c.Tasks(tenant).SetPreview(ctx, id, json.RawMessage(preview), o.Durability)
}

func (r remoteApprovals) Preview(ctx context.Context, tenant, id string) (json.RawMessage, error) {
	return r.c.Tasks(tenant).Preview(ctx, id)
}

func (r remoteApprovals) TaskStats(ctx context.Context, tenant, task string) (approval.TaskStats, error) {
	return r.c.Tasks(tenant).Stats(ctx, task)
}

func (r remoteApprovals) Request(ctx context.Context, tenant, task string, a approval.Asking, o record.WriteOptions) ([]record.Doc, error) {
	return r.c.Approvals(tenant).Request(ctx, task, a, o.Durability)
}

func (r remoteApprovals) Approval(ctx context.Context, tenant, id string) (record.Doc, error) {
	return r.c.Approvals(tenant).Get(ctx, id)
}

func (r remoteApprovals) Queue(ctx context.Context, tenant, user string, q record.Query) (record.Page, error) {
	return r.c.Approvals(tenant).Queue(ctx, user, q)
}

func (r remoteApprovals) Respond(ctx context.Context, tenant string, a approval.Answer, d engine.Durability) (record.Doc, error) {
	return r.c.Approvals(tenant).Respond(ctx, a, d)
}

func (r remoteApprovals) RespondAll(ctx context.Context, tenant string, list []approval.Answer, d engine.Durability) ([]record.Doc, error) {
	return r.c.Approvals(tenant).RespondAll(ctx, list, d)
}

func (r remoteApprovals) Delegate(ctx context.Context, tenant string, g approval.Delegation, d engine.Durability) (record.Doc, error) {
	return r.c.Approvals(tenant).Delegate(ctx, g, d)
}

func (r remoteApprovals) Escalate(ctx context.Context, tenant, id string) (record.Doc, error) {
	return r.c.Approvals(tenant).Escalate(ctx, id)
}

func (r remoteApprovals) EscalateDue(ctx context.Context, tenant string) (int, error) {
	return r.c.Approvals(tenant).EscalateDue(ctx)
}

func (r remoteApprovals) Archive(ctx context.Context, tenant, id string) (bool, error) {
	return r.c.Approvals(tenant).Archive(ctx, id)
}

func (r remoteApprovals) UserStats(ctx context.Context, tenant, user string) (approval.UserStats, error) {
	return r.c.Approvals(tenant).Stats(ctx, user)
}

func (r remoteApprovals) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	return r.c.Tasks(tenant).Lookup(ctx, key)
}
