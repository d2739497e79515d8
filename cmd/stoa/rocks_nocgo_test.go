//go:build !cgo

package main

const hasRocks = false
