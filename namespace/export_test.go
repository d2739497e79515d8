package namespace

// Admit lets the external tests of this package ask the reference.
var Admit = admit

// SetMost has the batches of a Store take so many ops, or rows that are made anew.
func (s *Store) SetMost(most int) { s.most = most }
