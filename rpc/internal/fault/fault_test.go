package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// over returns err as the other end of a socket sees it.
func over(err error) error {
	s, _ := status.FromError(err)
	return FromStatus(status.FromProto(s.Proto()).Err())
}

func TestEveryKindCrossesTheSocket(t *testing.T) {
	for n := range stoav1.ErrorKind_name {
		k := stoav1.ErrorKind(n)
		if k == stoav1.ErrorKind_ERROR_KIND_UNSPECIFIED {
			continue
		}
		known, ok := kindOf(k)
		require.True(t, ok, k)
		require.NotEqual(t, codes.OK, known.code, k)
		sent := New(k, "what happened", FieldReason, "why", FieldColumn, "Group")
		got := over(sent)
		var e *Error
		require.ErrorAs(t, got, &e)
		require.Equal(t, k, e.Kind)
		require.Equal(t, "what happened", e.Error())
		require.Equal(t, sent.Fields, e.Fields)
		require.ErrorIs(t, got, known.is)
		require.Equal(t, known.code, status.Code(got))
		require.Equal(t, k, FromSession(sent.InSession()).Kind)
		require.ErrorIs(t, FromSession(sent.InSession()), known.is)
	}
}

// An error that stands behind one that it is too would never be told as what it is.
func TestNoErrorOfTheTableHidesAnother(t *testing.T) {
	for _, k := range errorTable {
		if k.data != nil || k.kind == stoav1.ErrorKind_ERROR_KIND_SNAPSHOT { // which is made with its kind, as a session knows why
			continue
		}
		err := fmt.Errorf("wrapped: %w", k.is)
		exit, hint := Explain(err)
		require.Equal(t, max(k.exit, exitBad), exit, k.is)
		require.Equal(t, k.hint, hint, k.is)
		switch told := Describe(err); k.kind {
		case stoav1.ErrorKind_ERROR_KIND_UNSPECIFIED:
			require.Nil(t, told, k.is)
		default:
			require.Equal(t, k.kind, told.Kind, k.is)
			require.ErrorIs(t, over(told), errorKind(t, k.kind).is)
		}
	}
	require.Nil(t, Describe(fmt.Errorf("odd: %w", ErrInternal)), "a daemon logs these")
}

func errorKind(t *testing.T, k stoav1.ErrorKind) *known {
	of, ok := kindOf(k)
	require.True(t, ok, k)
	return of
}

// recordCodes are codes of every kind of refusals of records.
var recordCodes = []record.Code{record.CodeInvalidCursor, record.CodeUnknownCollection, record.CodeValidation, record.CodeReserved, record.CodeTooLarge,
	record.CodeNotFound, record.CodeAlreadyExists, record.CodeImmutable, record.CodeIllegalTransition, record.CodePrecondition, record.CodeTrimmed,
	record.CodeConflict, record.CodeQuotaExhausted}

func TestRefusalsOfLocksCrossTheSocketWhole(t *testing.T) {
	for code, want := range map[lock.Code]int{
		lock.CodeInvalidArgument: exitBad, lock.CodeNotFound: exitNotFound, lock.CodeTooMany: exitRefused, lock.CodeHeld: exitRefused,
		lock.CodeDeadlock: exitRefused, lock.CodeFenced: exitRefused,
	} {
		sent := &lock.Error{Code: code, Field: "f", Reason: "r", Lock: "task:1", Holders: []string{"a", "b,\"c"}, Remaining: 7 * time.Millisecond,
			Token: 3, Cycle: []string{"a", "b"}, Limit: 4, Have: 5}
		for _, sent := range []*lock.Error{sent, {Code: code, Reason: "r"}} {
			var got *lock.Error
			require.ErrorAs(t, over(Describe(sent)), &got)
			require.Equal(t, sent, got)
			require.ErrorIs(t, got, &lock.Error{Code: code})
			exit, _ := Explain(sent)
			require.Equal(t, want, exit, code)
		}
	}
}

func TestRefusalsOfLimitsAndSettingsCrossTheSocketWhole(t *testing.T) {
	for sent, want := range map[error]int{
		&limit.Error{Code: limit.CodeInvalidArgument, Field: "max", Reason: "r", Limit: 4}:                      exitBad,
		&limit.Error{Code: limit.CodeInvalidCursor, Field: "cursor", Reason: "r"}:                               exitBad,
		&limit.Error{Code: limit.CodeNotFound, Reason: "r"}:                                                     exitNotFound,
		&limit.Error{Code: limit.CodeTooMany, Field: "tenant", Reason: "r", Limit: 4, Have: 5}:                  exitRefused,
		&setting.Error{Code: setting.CodeValidation, Field: "value", Reason: "r", Name: "ade:x", Limit: 4}:      exitBad,
		&setting.Error{Code: setting.CodeTooMany, Field: "tenant", Reason: "r", Limit: 4, Have: 5}:              exitRefused,
		&setting.Error{Code: setting.CodeValidation, Field: "name", Reason: "there is no setting of this name"}: exitBad,
	} {
		got := over(Describe(sent))
		require.ErrorContains(t, got, sent.Error())
		switch sent := sent.(type) {
		case *limit.Error:
			var e *limit.Error
			require.ErrorAs(t, got, &e)
			require.Equal(t, sent, e)
		case *setting.Error:
			var e *setting.Error
			require.ErrorAs(t, got, &e)
			require.Equal(t, sent, e)
		}
		exit, _ := Explain(sent)
		require.Equal(t, want, exit, sent)
	}
}

func TestRefusalsOfEventsAndJobsCrossTheSocketWhole(t *testing.T) {
	for sent, want := range map[error]int{
		&event.Error{Code: event.CodeInvalidArgument, Field: "stream", Reason: "r"}:                        exitBad,
		&event.Error{Code: event.CodeTooLarge, Field: "payload", Reason: "r", Limit: 4, Have: 5}:           exitBad,
		&event.Error{Code: event.CodeNotFound, Field: "group", Reason: "r"}:                                exitNotFound,
		&event.Error{Code: event.CodeTrimmed, Field: "after", Reason: "r", First: event.ID{Ms: 7, Seq: 2}}: exitRefused,
		&event.Error{Code: event.CodeTooMany, Field: "group", Reason: "r", Limit: 4}:                       exitRefused,
		&job.Error{Code: job.CodeInvalidArgument, Field: "queue", Reason: "r"}:                             exitBad,
		&job.Error{Code: job.CodeTooLarge, Field: "payload", Reason: "r", Limit: 4, Have: 5}:               exitBad,
		&job.Error{Code: job.CodeNotFound, Field: "id", Reason: "r"}:                                       exitNotFound,
		&job.Error{Code: job.CodeFenced, Field: "token", Reason: "r", Token: 9}:                            exitRefused,
		&job.Error{Code: job.CodeTooMany, Field: "tenant", Reason: "r", Limit: 4, Have: 5}:                 exitRefused,
	} {
		got := over(Describe(sent))
		require.ErrorContains(t, got, sent.Error())
		switch sent := sent.(type) {
		case *event.Error:
			var e *event.Error
			require.ErrorAs(t, got, &e)
			require.Equal(t, sent, e)
		case *job.Error:
			var e *job.Error
			require.ErrorAs(t, got, &e)
			require.Equal(t, sent, e)
		}
		exit, _ := Explain(sent)
		require.Equal(t, want, exit, sent)
	}
}

func TestRefusalsOfStreamsCrossTheSocketWhole(t *testing.T) {
	for code, want := range map[stream.Code]int{
		stream.CodeInvalidArgument: exitBad, stream.CodeTooLarge: exitBad, stream.CodeNotFound: exitNotFound, stream.CodeExists: exitRefused,
		stream.CodeMismatch: exitRefused, stream.CodeTrimmed: exitRefused, stream.CodeFenced: exitRefused, stream.CodeTooMany: exitRefused,
	} {
		for _, sent := range []*stream.Error{{Code: code, Reason: "r"}, {Code: code, Field: "f", Reason: "r", Limit: 4, Have: 5}} {
			var got *stream.Error
			require.ErrorAs(t, over(Describe(sent)), &got)
			require.Equal(t, sent, got)
			exit, _ := Explain(sent)
			require.Equal(t, want, exit, code)
		}
	}
}

func TestRefusalsOfBucketsCrossTheSocketWhole(t *testing.T) {
	for code, want := range map[bucket.Code]int{
		bucket.CodeInvalidArgument: exitBad, bucket.CodeValueTooLarge: exitBad, bucket.CodeValidation: exitBad, bucket.CodeNotFound: exitNotFound,
		bucket.CodeExists: exitRefused, bucket.CodeRevisionMismatch: exitRefused, bucket.CodeConflict: exitRefused, bucket.CodeBlocked: exitRefused,
		bucket.CodeForbidden: exitRefused, bucket.CodeTooMany: exitRefused,
	} {
		for _, sent := range []*bucket.Error{{Code: code, Reason: "r"}, {Code: code, Bucket: "b", Field: "f", Key: "a.b", Pointer: "/x", Reason: "r", Revision: 3, Limit: 4, Have: 5}} {
			var got *bucket.Error
			require.ErrorAs(t, over(Describe(sent)), &got)
			require.Equal(t, sent, got)
			require.ErrorIs(t, got, &bucket.Error{Code: code})
			exit, _ := Explain(sent)
			require.Equal(t, want, exit, code)
		}
	}
	for _, sent := range []*contract.Error{{Code: contract.CodeValidation, Field: "/a", Reason: "r"},
		{Code: contract.CodeContract, Field: "/a", Reason: "r", Faults: []contract.Fault{{Field: "/a", Reason: "r"}, {Reason: "s"}}}} {
		var got *contract.Error
		require.ErrorAs(t, over(Describe(sent)), &got)
		require.Equal(t, sent, got)
		exit, _ := Explain(sent)
		require.Equal(t, exitBad, exit)
	}
}

// What a command ends with that a refusal of records has ended.
func TestRefusalsOfRecordsHaveExitCodes(t *testing.T) {
	for code, want := range map[record.Code]int{
		record.CodeValidation: exitBad, record.CodeUnknownCollection: exitBad, record.CodeNotFound: exitNotFound, record.CodeAlreadyExists: exitRefused,
		record.CodeImmutable: exitRefused, record.CodeConflict: exitRefused, record.CodeQuotaExhausted: exitRefused,
	} {
		exit, _ := Explain(&record.Error{Code: code})
		require.Equal(t, want, exit, code)
	}
}

func TestTypedErrorsCrossTheSocketWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		col := column.Column(rapid.IntRange(1, column.Count).Draw(t, "column"))
		text := rapid.StringMatching(`[ -~]{0,20}`)
		ke := &keys.Error{Column: col, Type: text.Draw(t, "type"), Field: text.Draw(t, "field"),
			Offset: rapid.IntRange(-1, 1000).Draw(t, "offset"), Reason: text.Draw(t, "reason")}
		var gotKey *keys.Error
		require.ErrorAs(t, over(Describe(ke)), &gotKey)
		require.Equal(t, ke, gotKey)
		ve := &codec.Error{Type: ke.Type, Field: ke.Field, Offset: ke.Offset, Reason: ke.Reason}
		var gotValue *codec.Error
		require.ErrorAs(t, over(Describe(ve)), &gotValue)
		require.Equal(t, ve, gotValue)
		conflict := &engine.Conflict{Column: col, Key: rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "key"), Absent: rapid.Bool().Draw(t, "absent")}
		var gotConflict *engine.Conflict
		require.ErrorAs(t, over(Describe(conflict)), &gotConflict)
		require.Equal(t, conflict, gotConflict)
		require.Equal(t, conflict.Error(), Describe(conflict).Error())
		refused := &record.Error{Code: rapid.SampledFrom(recordCodes).Draw(t, "code"), Collection: text.Draw(t, "collection"),
			Field: text.Draw(t, "field of a document"), Reason: text.Draw(t, "reason of a refusal"),
			Limit: rapid.Uint64().Draw(t, "limit"), Have: rapid.Uint64().Draw(t, "have")}
		if refused.Code == record.CodeConflict {
			refused.Revision = rapid.Uint64().Draw(t, "revision")
		}
		var gotRefused *record.Error
		require.ErrorAs(t, over(Describe(fmt.Errorf("wrapped: %w", refused))), &gotRefused)
		require.Equal(t, refused, gotRefused)
		require.Equal(t, refused.Code == record.CodeNotFound, errors.Is(over(Describe(refused)), engine.ErrNotFound))
	})
}

func TestErrorsWithoutAKindAreNotDescribed(t *testing.T) {
	require.Nil(t, Describe(errors.New("unforeseen")))
	require.Nil(t, Describe(context.Canceled))
}

func TestStatusesOfGRPCItselfAreNamed(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.Canceled: context.Canceled, codes.DeadlineExceeded: context.DeadlineExceeded,
		codes.Unavailable: ErrUnavailable, codes.Unimplemented: engine.ErrUnsupported, codes.ResourceExhausted: ErrBusy,
	} {
		err := FromStatus(status.Error(code, "text"))
		require.ErrorIs(t, err, want)
		require.Equal(t, code, status.Code(err))
	}
	require.ErrorIs(t, FromStatus(status.Error(codes.ResourceExhausted, "received message larger than max")), engine.ErrTooLarge)
	require.NoError(t, FromStatus(nil))
}

func TestKindsOfLaterVersionsCountByTheirCode(t *testing.T) {
	e := &Error{Kind: 9999, Message: "new", code: codes.Unavailable}
	e.cause = e.rebuild()
	require.ErrorIs(t, over(e), ErrUnavailable)
}

func TestPathsAreCutFromTexts(t *testing.T) {
	for in, out := range map[string]string{
		"/var/lib/x/000012.sst: bad": "000012.sst: bad",
		"open /a/b: denied":          "open b: denied",
		`file "/a/b c"`:              `file "b c"`,
		"a/b ratio 1/2":              "a/b ratio 1/2",
		"no path":                    "no path",
	} {
		require.Equal(t, out, withoutPaths(in))
	}
}

// TestTheReadmeListsEveryKind holds the table of README.md current.
func TestTheReadmeListsEveryKind(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(readme), "\n## Errors\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		k := kindNamed(strings.Trim(cells[1], " `"))
		if k == 0 {
			continue
		}
		rows[reasonOf(k)] = true
		known, _ := kindOf(k)
		require.Equal(t, known.code.String(), strings.TrimSpace(cells[2]), line)
	}
	require.Len(t, rows, len(stoav1.ErrorKind_name)-1)
}

func TestErrorsOfDeltasCrossTheSocketWhole(t *testing.T) {
	hash := func(b byte) (h [32]byte) { h[0] = b; return h }
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, want := range []error{
		&dag.RootMoved{Context: hash(1), Read: hash(2), Have: hash(3)},
		&hlc.Ahead{Physical: at, Next: at.Add(time.Second), RetryAfter: 3 * time.Millisecond},
		&hlc.Jumped{Physical: at, Expected: at.Add(-time.Hour)},
		&hlc.Early{Stamp: codec.HybridTimestamp{Time: 5, ID: codec.NodeID{Hi: 6, Lo: 7}}, RetryAfter: 3 * time.Millisecond},
		&dag.Refusal{Delta: hash(4), Reason: dag.OverLimit, Detail: "too much"},
	} {
		got := over(Describe(fmt.Errorf("wrapped: %w", want)))
		switch want := want.(type) {
		case *dag.RootMoved:
			var is *dag.RootMoved
			require.ErrorAs(t, got, &is)
			require.Equal(t, want, is)
			require.ErrorIs(t, got, engine.ErrConflict)
		case *hlc.Ahead:
			var is *hlc.Ahead
			require.ErrorAs(t, got, &is)
			require.Equal(t, want.Physical, is.Physical)
			require.Equal(t, want.Next, is.Next)
			require.Equal(t, want.RetryAfter+time.Millisecond, is.RetryAfter, "rounded up")
		case *hlc.Jumped:
			var is *hlc.Jumped
			require.ErrorAs(t, got, &is)
			require.Equal(t, want, is)
			require.ErrorIs(t, got, hlc.ErrJumped)
		case *hlc.Early:
			var is *hlc.Early
			require.ErrorAs(t, got, &is)
			require.Equal(t, want.Stamp, is.Stamp)
		case *dag.Refusal:
			var is *dag.Refusal
			require.ErrorAs(t, got, &is)
			require.Equal(t, want, is)
		}
	}
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_SEED, Describe(fmt.Errorf("%w: its base: %w", dag.ErrSnapshot, &dag.Refusal{})).Kind)
}

// Whoever names no tenant is told how, whatever was asked for; a refusal of anything else is not.
func TestWhoNamesNoTenantIsToldHow(t *testing.T) {
	for _, of := range []func(field string) error{
		func(f string) error { return &kvstorage.Error{Code: kvstorage.InvalidArgument, Field: f} },
		func(f string) error { return &record.Error{Code: record.CodeInvalidArgument, Field: f} },
		func(f string) error { return &lock.Error{Code: lock.CodeInvalidArgument, Field: f} },
		func(f string) error { return &setting.Error{Code: setting.CodeValidation, Field: f} },
		func(f string) error { return &limit.Error{Code: limit.CodeInvalidArgument, Field: f} },
		func(f string) error { return &event.Error{Code: event.CodeInvalidArgument, Field: f} },
		func(f string) error { return &job.Error{Code: job.CodeInvalidArgument, Field: f} },
		func(f string) error { return &bucket.Error{Code: bucket.CodeInvalidArgument, Field: f} },
		func(f string) error { return &stream.Error{Code: stream.CodeInvalidArgument, Field: f} },
	} {
		_, hint := Explain(of("tenant"))
		require.Equal(t, hintTenant, hint, "%T", of(""))
		_, hint = Explain(over(Describe(of("tenant"))))
		require.Equal(t, hintTenant, hint, "%T over the socket", of(""))
		_, hint = Explain(of("agent"))
		require.Empty(t, hint, "%T", of(""))
	}
}
