// Package decide holds the decisions of kv/policy to those of two engines that others would
// take in its place, Open Policy Agent and cedar-go, and measures it beside them. All of it is
// tests: start at worlds_test.go, which draws the worlds.
package decide
