// Package redisdump reads what somebody kept in Redis: commands, one a line, as they are typed
// into redis-cli, and the keys that they leave.
//
// [Read] runs the commands in memory. It knows those that dumps consist of, and refuses others
// by their line, so that nothing is left out unseen; [Words] is how a line is read.
package redisdump

// Limits.
const (
	MaxLine  = 16 << 20 // bytes of a command, with the lines that it goes on in
	MaxBytes = 1 << 30  // bytes of all commands of a dump: what they leave is in memory
)
