//go:build !linux

package rocks

// infoLog keeps room for RocksDB's LOG where the system can; here it cannot.
type infoLog struct{}

func newInfoLog(string) *infoLog { return &infoLog{} }

func (*infoLog) reserve() {}
func (*infoLog) release() {}
