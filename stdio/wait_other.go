//go:build !linux

package stdio

import (
	"errors"
	"io"
)

// canWait says that there are files that wait by themselves.
const canWait = false

func waiting(*stdFile) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }
