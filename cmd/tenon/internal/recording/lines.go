package recording

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// CopyLines copies src to dst until src ends, line by line and byte for byte,
// and hands each line to record before it is written. A line that is over
// MaxLine is copied as it comes and not recorded.
func CopyLines(dst io.Writer, src io.Reader, record func(line []byte)) error {
	var held []byte // of a line that has not ended
	over := false
	buf := make([]byte, 64<<10)
	for {
		n, readErr := src.Read(buf)
		chunk := buf[:n]
		for len(chunk) > 0 {
			i := bytes.IndexByte(chunk, '\n')
			part, ended := chunk, i >= 0
			if ended {
				part = chunk[:i+1]
			}
			chunk = chunk[len(part):]
			if over || len(held)+len(part) > MaxLine {
				if _, err := dst.Write(append(held, part...)); err != nil {
					return err
				}
				held, over = held[:0], !ended
				continue
			}
			held = append(held, part...)
			if !ended {
				continue
			}
			record(bytes.TrimRight(held, "\r\n"))
			if _, err := dst.Write(held); err != nil {
				return err
			}
			held = held[:0]
		}
		if readErr != nil {
			if len(held) > 0 {
				record(held)
				if _, err := dst.Write(held); err != nil {
					return err
				}
			}
			if readErr == io.EOF {
				return nil
			}
			return readErr
		}
	}
}

// Line records a line of a channel on which only messages belong.
func (w *Writer) Line(dir Dir, line []byte) {
	if len(line) == 0 {
		return
	}
	f := Frame{Dir: dir, Kind: Message, Msg: jsontext.Value(bytes.Clone(line))}
	if k := f.Msg.Kind(); (k != '{' && k != '[') || f.Msg.Compact(jsontext.AllowDuplicateNames(true)) != nil {
		f = Frame{Dir: dir, Kind: Noise, Text: string(line)}
	}
	w.Write(f)
}
