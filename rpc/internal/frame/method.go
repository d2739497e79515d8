package frame

// Method is a call that goes in frames.
type Method struct {
	Number uint16 // never reused
	Name   string // as gRPC has it
	// Short calls are answered on the goroutine that reads the connection, which
	// saves handing them over: those that take some microseconds.
	Short bool
}
