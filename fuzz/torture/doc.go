// Package torture does to the real daemon what it must survive, and recounts
// afterwards what it had acknowledged.
//
// Its tests are all there is of it: harness_test.go kills the daemon under the
// load of the workers, each of which uses one service and remembers what it was
// told; power_linux_test.go cuts the power of its machine instead, with a disk
// (disk_linux_test.go) that supervisor_linux_test.go tells of every file call;
// faults_linux_test.go has one of these calls fail; full_linux_test.go and
// tight_linux_test.go give it too little disk, and memory; sim_test.go has days pass,
// by a clock (simclock_test.go) that it shares with the daemon, and reckoning_test.go
// knows what the time is by the rules; teeth_test.go shows that daemons with a defect do
// not pass; hostile_test.go is the clients that mean harm. README.md, one folder up, says
// how to run it and how to repeat a failure.
package torture
