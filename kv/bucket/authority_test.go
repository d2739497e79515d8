package bucket_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

func TestWhatIsNoContractIsRefused(t *testing.T) {
	h := open(t)
	_, err := h.Propose(ctx, []byte(`{"service":"s","resources":{"kv":{"a":{}}}}`))
	require.ErrorIs(t, err, contract.ErrContract)
	_, err = h.Store.Propose(ctx, "", buckettest.Declared("s", buckettest.EntrySchema, nil))
	h.Refused(err, CodeInvalidArgument)
	_, err = h.Store.Revoke(ctx, "nobody", "s")
	h.Refused(err, CodeNotFound)
	_, err = h.Authority(ctx, "s")
	h.Refused(err, CodeNotFound)
}
