//go:build !linux

package socketpath

const maxBytes = 103
