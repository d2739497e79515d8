// Command mutants changes the code that ships in small ways and says which of
// these changes no test notices.
//
//	make mutants ARGS='-n 400 -seed 7'
//
// All mutants are compiled into one set of test binaries (mutant schemata:
// Untch, Offutt, Harrold, ISSTA 1993), through an overlay of go build, so that
// the tree stays as it is; one at a time is switched on by a file that the
// binaries map into memory. Through the same file they tell which mutants a test
// reaches, and a mutant is tried only on the tests that reach it, the quick ones
// first. Processes that tests start inherit both.
//
// A mutant that lives is printed with its place. It deserves a test of the
// behaviour that it changes, or a line in allow.txt that says why nobody could
// notice it.
//
// Some rules are switched off by hand: each patch in rules does so with one, and names the test
// that is to find it within a thousand histories; -rules tries them.
//
// Start reading at main.go; site.go has the changes that are made.
package main
