package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/stoadb/stoa/rpc/stoav1"
)

// descriptorsFile writes the protocol as a FileDescriptorSet, imports first.
func descriptorsFile(t *testing.T) string {
	set, seen := new(descriptorpb.FileDescriptorSet), map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range []protoreflect.FileDescriptor{
		stoav1.File_stoa_v1_store_proto, stoav1.File_stoa_v1_blob_proto, stoav1.File_stoa_v1_admin_proto,
		(&spb.Status{}).ProtoReflect().Descriptor().ParentFile(),
		(&errdetails.ErrorInfo{}).ProtoReflect().Descriptor().ParentFile(),
	} {
		add(f)
	}
	b, err := proto.Marshal(set)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "descriptors")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// run runs a client, which says that it is done.
func run(t *testing.T, c *exec.Cmd, done string) {
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), done)
}

func TestAPythonClientTalksToTheDaemon(t *testing.T) {
	python := "/usr/bin/python3" // where the distribution's grpcio is
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import grpc, google.protobuf").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no Python with grpcio here (apt-get install python3-grpcio): %s", out)
	}
	d := start(t, nil, Options{})
	run(t, exec.CommandContext(t.Context(), python, "testdata/interop/smoke.py", d.path, descriptorsFile(t)), "python: ok")
}

func TestANodeClientTalksToTheDaemon(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: no node here")
	}
	modules := nodeModules(t)
	protos, err := filepath.Abs("../proto")
	require.NoError(t, err)
	d := start(t, nil, Options{})
	c := exec.CommandContext(t.Context(), node, "testdata/interop/smoke.cjs", d.path, protos)
	c.Env = append(os.Environ(), "NODE_PATH="+modules)
	run(t, c, "node: ok")
}

// nodeModules returns where node finds gRPC: where STOA_TEST_NODE_MODULES says,
// or a directory that npm fills now.
func nodeModules(t *testing.T) string {
	if dir := os.Getenv("STOA_TEST_NODE_MODULES"); dir != "" {
		return dir
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("SKIPPED: no npm here, and STOA_TEST_NODE_MODULES is not set")
	}
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-timeout=20000", "--fetch-retries=0",
		"@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.1")
	c.Dir, c.WaitDelay = dir, time.Second
	timer := time.AfterFunc(time.Minute, func() { c.Cancel() })
	defer timer.Stop()
	if out, err := c.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: npm can't install @grpc/grpc-js here: %s", out)
	}
	return filepath.Join(dir, "node_modules")
}
