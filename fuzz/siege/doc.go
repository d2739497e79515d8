// Package siege is a test: users of the machine who mean ill attack a daemon, each by its own
// uid, one attack after the other and in mixtures, beside one who means well. README.md of
// package fuzz says how to run it. Start at TestSiege.
package siege
