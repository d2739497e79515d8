package frame

import "github.com/stoadb/stoa/rpc/stoav1"

// Method is a call that goes in frames.
type Method struct {
	Number uint16 // never reused
	Name   string // as gRPC has it
	// Short calls are answered on the goroutine that reads the connection, which
	// saves handing them over: those that take some microseconds.
	Short bool
}

// Methods returns all calls that go in frames. Those of one service have numbers
// of the same hundred. A service whose calls are unary, or streams of messages
// either way, needs no more than a line for each here, and
// server.framed.register.
func Methods() []Method {
	return []Method{
		{101, stoav1.Store_Get_FullMethodName, true},
		{102, stoav1.Store_MultiGet_FullMethodName, true},
		{103, stoav1.Store_Apply_FullMethodName, false},
		{104, stoav1.Store_Scan_FullMethodName, false},
		{105, stoav1.Store_ApproximateSize_FullMethodName, true},
		{106, stoav1.Store_Session_FullMethodName, false},
	}
}
