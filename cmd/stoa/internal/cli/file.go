package cli

import (
	"errors"
	"os"
	"strconv"
)

// CreateBeside makes a new file next to path, with the mode that path would get
// itself, as os.CreateTemp does not.
func CreateBeside(path string) (*os.File, error) {
	for n := os.Getpid(); ; n++ {
		f, err := os.OpenFile(path+"."+strconv.Itoa(n)+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}
