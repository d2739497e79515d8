// Package agents has the clients of the services by which agents that share work
// coordinate. A client of package rpc returns them, by a method such as Client.Locks; none is
// made elsewhere.
//
// Each service has a file: its type, and beside each method the operation that the method
// makes, with what the daemon does in it.
package agents
