package rpc

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Operations returns the operations of a service, such as stoa.v1.Kv, for package
// server.
func Operations(service string) []op.Entry { return operations[service] }

// operations are those of each service.
var operations = map[string][]op.Entry{
	"stoa.v1.Admin": {adminStatus, adminStats, adminCheckpoint, adminCompact, adminFlush, adminReopen, adminFind},
	"stoa.v1.Blob":  {blobPut, blobGet, blobStat, blobDelete, blobList, blobVerify},
	"stoa.v1.Group": {groupGet, groupMembers, groupContexts, groupResolve, groupOps, groupFollow, groupVoided, groupReissue,
		groupKeys, groupRotate, groupSigningKeys, groupAddSigningKey, groupDeleteSigningKey, groupNames, groupPlace},
	"stoa.v1.Kv": {kvGet, kvPut, kvDelete, kvTouch, kvIncrement, kvSwap, kvBatch, kvList, kvScan, kvWatch, kvStats, kvCapabilities,
		kvCreateTenant, kvDropTenant, kvListTenants, kvSetQuota, kvSwapDelete},
	"stoa.v1.Dag": {dagCreate, dagDelete, dagList, dagInfo, dagSetApplication, dagConfig, dagBump, dagState, dagScanState, dagPrivate, dagWritePrivate,
		dagScanPrivate, dagCommit, dagAdd, dagAddMany, dagGet, dagHeadsOf, dagMissing, dagPending, dagRefusals, dagSince, dagWalk, dagIsAncestor,
		dagFollow, dagAck, dagCursorsOf, dagDropCursor, dagProve, dagNodes, dagDiff, dagSnapshot, dagSeed, dagSeedProgress, dagForgetSeed, dagVerify,
		dagClock, dagConfirmClock},
	"stoa.v1.Store": {storeGet, storeMultiGet, storeApply, storeScan, storeApproximateSize, storeSession},
	"stoa.v1.Namespace": {nsNewIdentity, nsIdentity, nsExport, nsImport, nsCreate, nsPropose, nsApply, nsApplyMany, nsList, nsGet,
		nsTree, nsHeads, nsOp, nsOpsSince, nsMissing, nsPending, nsEquivocations, nsInvite, nsJoin, nsAdmit, nsVerify, nsListPending},
}

// FrameMethods returns the calls that go in frames, for package server.
func FrameMethods() []frame.Method {
	var all []frame.Method
	for _, service := range operations {
		for _, o := range service {
			m := o.About()
			all = append(all, frame.Method{Number: m.Number, Name: m.Full(), Short: m.Short})
		}
	}
	slices.SortFunc(all, func(a, b frame.Method) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// call makes an operation by the client.
func call[S, In, Out any](ctx context.Context, c *Client, o *op.Unary[S, In, Out], in In) (Out, error) {
	out, err := o.Call(&in, func(req, res proto.Message) error { return c.unary(ctx, &o.Method, req, res) })
	return out, senseless(&o.Method, err)
}

// stream makes an operation by the client.
func stream[S, In, Item any](ctx context.Context, c *Client, o *op.Stream[S, In, Item], in In) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		open := func(req proto.Message) (op.Receiver, error) {
			s, err := c.carrier.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, o.Full())
			if err == nil {
				err = s.SendMsg(req)
			}
			if err == nil {
				err = s.CloseSend()
			}
			return s, err
		}
		failed := func(err error) error { return senseless(&o.Method, c.failed(o.Name, err)) }
		o.Call(&in, open, failed)(yield)
	}
}

// senseless returns err, and says of a field of an answer that makes no sense whose it
// is.
func senseless(m *op.Method, err error) error {
	var field *op.FieldError
	if errors.As(err, &field) {
		return odd(m.Name, err)
	}
	return err
}
