package rpc

const maxSocketPath = 107
