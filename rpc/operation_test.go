package rpc

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var services = []grpc.ServiceDesc{
	stoav1.Admin_ServiceDesc, stoav1.Blob_ServiceDesc, stoav1.Content_ServiceDesc, stoav1.Sync_ServiceDesc, stoav1.Dag_ServiceDesc, stoav1.Group_ServiceDesc,
	stoav1.Approval_ServiceDesc, stoav1.Bucket_ServiceDesc, stoav1.Event_ServiceDesc, stoav1.Job_ServiceDesc, stoav1.Limit_ServiceDesc, stoav1.Setting_ServiceDesc, stoav1.Task_ServiceDesc,
	stoav1.Kv_ServiceDesc, stoav1.Lock_ServiceDesc, stoav1.Namespace_ServiceDesc, stoav1.Policy_ServiceDesc, stoav1.Record_ServiceDesc, stoav1.Session_ServiceDesc, stoav1.Store_ServiceDesc, stoav1.Stream_ServiceDesc,
}

// The client makes every call of every service in frames, over one connection.
func TestEveryMethodGoesInFrames(t *testing.T) {
	var want, got []string
	for _, d := range services {
		for _, m := range d.Methods {
			want = append(want, "/"+d.ServiceName+"/"+m.MethodName)
		}
		for _, s := range d.Streams {
			want = append(want, "/"+d.ServiceName+"/"+s.StreamName)
		}
	}
	numbers := map[uint16]string{}
	for _, m := range op.Methods() {
		require.Empty(t, numbers[m.Number], "number %d of %s", m.Number, m.Name)
		numbers[m.Number] = m.Name
		got = append(got, m.Full())
	}
	require.ElementsMatch(t, want, got)
}

// What Go lacks of a message is found here, and not by the first call.
func TestEveryOperationCanBePlanned(t *testing.T) {
	for _, d := range services {
		for _, o := range op.Entries(d.ServiceName) {
			require.NotPanics(t, o.Plan, o.About().Name)
		}
	}
}

// README.md has the numbers of all methods, and of no others.
func TestTheReadmeHasTheNumberOfEveryMethod(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "\n| Service | Methods and their numbers |\n")
	require.True(t, ok)
	table, _, _ := strings.Cut(rest, "\n\n")
	var got, want []string
	for line := range strings.Lines(table) {
		service := regexp.MustCompile("^\\| `(\\w+)` \\|").FindStringSubmatch(line)
		if service == nil {
			continue
		}
		for _, m := range regexp.MustCompile("`(\\w+)` (\\d+)").FindAllStringSubmatch(line, -1) {
			got = append(got, m[2]+" /stoa.v1."+service[1]+"/"+m[1])
		}
	}
	for _, m := range op.Methods() {
		want = append(want, strconv.Itoa(int(m.Number))+" "+m.Full())
	}
	require.Equal(t, want, got)
}
