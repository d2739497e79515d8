//go:build !linux

package rpc

const maxSocketPath = 103
