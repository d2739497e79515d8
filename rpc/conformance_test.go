package rpc_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/stoadb/stoa/rpc"
)

// conformanceCall is a case of clients/conformance.json.
type conformanceCall struct {
	Name     string            `json:"name"`
	Call     string            `json:"call"`
	Request  json.RawMessage   `json:"request"`
	Requests []json.RawMessage `json:"requests"`
	Answer   any               `json:"answer"`
	Answers  any               `json:"answers"`
	Absent   []string          `json:"absent"`
	Error    any               `json:"error"`
}

// TestTheGoClientConforms makes the calls that all clients answer alike, in both framings.
func TestTheGoClientConforms(t *testing.T) {
	source, err := os.ReadFile("clients/conformance.json")
	require.NoError(t, err)
	var all struct {
		Calls []conformanceCall `json:"calls"`
	}
	require.NoError(t, json.Unmarshal(source, &all))
	require.Greater(t, len(all.Calls), 30)
	for name, framing := range map[string]rpc.Framing{"frames": rpc.FramingFrames, "gRPC": rpc.FramingGRPC} {
		t.Run(name, func(t *testing.T) {
			c, err := rpc.Dial(t.Context(), daemon(), rpc.WithFraming(framing))
			require.NoError(t, err)
			defer c.Close()
			for _, of := range all.Calls {
				of.check(t, c)
			}
		})
	}
}

func (of *conformanceCall) check(t *testing.T, c *rpc.Client) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("stoa.v1." + of.Call))
	require.NoError(t, err, of.Name)
	method := d.(protoreflect.MethodDescriptor)
	if of.Requests == nil {
		of.Requests = []json.RawMessage{of.Request}
	}
	var requests []proto.Message
	for _, text := range of.Requests {
		req := dynamicpb.NewMessage(method.Input())
		require.NoError(t, protojson.Unmarshal(text, req), of.Name)
		requests = append(requests, req)
	}
	answers, failure := conformanceAnswers(t, c, method, requests)
	if of.Error != nil {
		require.Error(t, failure, of.Name)
		require.Empty(t, lacks(of.Error, failureOf(t, failure), ""), of.Name)
		return
	}
	require.NoError(t, failure, of.Name)
	if of.Answers == nil {
		of.Answers = []any{of.Answer}
	}
	require.Empty(t, lacks(of.Answers, answers, ""), of.Name)
	for _, field := range of.Absent {
		require.NotContains(t, answers[0], field, of.Name)
	}
}

// conformanceAnswers makes a call and returns what is answered as JSON has it.
func conformanceAnswers(t *testing.T, c *rpc.Client, method protoreflect.MethodDescriptor, requests []proto.Message) (answers []any, err error) {
	full := "/" + strings.Replace(string(method.FullName()), "."+string(method.Name()), "/"+string(method.Name()), 1)
	told := func(m proto.Message) {
		text, err := protojson.Marshal(m)
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(text, &v))
		answers = append(answers, v)
	}
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		res := dynamicpb.NewMessage(method.Output())
		if err := c.Invoke(t.Context(), full, requests[0], res); err != nil {
			return nil, err
		}
		told(res)
		return answers, nil
	}
	s, err := c.Open(t.Context(), &grpc.StreamDesc{ClientStreams: method.IsStreamingClient(), ServerStreams: method.IsStreamingServer()}, full)
	if err != nil {
		return nil, err
	}
	for _, req := range requests {
		require.NoError(t, s.SendMsg(req))
	}
	require.NoError(t, s.CloseSend())
	answers = []any{}
	for {
		res := dynamicpb.NewMessage(method.Output())
		if err := s.RecvMsg(res); errors.Is(err, io.EOF) {
			return answers, nil
		} else if err != nil {
			return answers, err
		}
		told(res)
		if !method.IsStreamingServer() {
			return answers, nil
		}
	}
}

// failureOf returns what a client is told of an error: its code, kind and fields.
func failureOf(t *testing.T, err error) map[string]any {
	s, ok := status.FromError(err)
	require.True(t, ok, "%v", err)
	failure := map[string]any{"code": float64(s.Code())}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			fields := map[string]any{}
			for name, value := range info.Metadata {
				fields[name] = value
			}
			failure["kind"], failure["fields"] = info.Reason, fields
		}
	}
	return failure
}

// lacks says what of want is not in got; * is anything.
func lacks(want, got any, at string) string {
	switch want := want.(type) {
	case string:
		if want == "*" && got != nil {
			return ""
		}
	case map[string]any:
		has, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for name, v := range want {
			if lack := lacks(v, has[name], at+"."+name); lack != "" {
				return lack
			}
		}
		return ""
	case []any:
		has, ok := got.([]any)
		if !ok || len(has) != len(want) {
			return at + " has another length"
		}
		for i, v := range want {
			if lack := lacks(v, has[i], at); lack != "" {
				return lack
			}
		}
		return ""
	}
	if want != got {
		text, _ := json.Marshal(got)
		return at + " is " + string(text)
	}
	return ""
}
