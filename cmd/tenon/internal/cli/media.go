package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tenon-mcp/tenon/mcp"
)

// maxMediaFiles is how many files a directory of saved media may have.
const maxMediaFiles = 10_000

// mediaExtensions are the only ones a saved file can have: the server chooses
// neither its name nor what opens it.
var mediaExtensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/avif": ".avif",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac", "audio/mp4": ".m4a",
	"video/mp4": ".mp4", "video/webm": ".webm", "application/pdf": ".pdf",
}

// saveMedia writes images, sounds and the bytes of embedded resources to new
// files in dir and returns their paths by the index of the content, those
// written before an error included.
func saveMedia(dir string, content []mcp.Content) (map[int]string, error) {
	paths := map[int]string{}
	number := 1
	for i, block := range content {
		mimeType, data := mediaOf(block)
		if len(data) == 0 {
			continue
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return paths, fmt.Errorf("save media: %w", err)
		}
		path, next, err := saveNew(dir, number, mimeType, data)
		if err != nil {
			return paths, fmt.Errorf("save media: %w", err)
		}
		paths[i], number = path, next
	}
	return paths, nil
}

func mediaOf(block mcp.Content) (mimeType string, data []byte) {
	switch b := block.(type) {
	case *mcp.ImageContent:
		return b.MIMEType, b.Data
	case *mcp.AudioContent:
		return b.MIMEType, b.Data
	case *mcp.EmbeddedResource:
		return b.Resource.MIMEType, b.Resource.Blob
	}
	return "", nil
}

// saveNew writes the first file from number on that is not there yet, and
// returns the number after it.
func saveNew(dir string, number int, mimeType string, data []byte) (path string, next int, err error) {
	extension := mediaExtensions[mimeType]
	if extension == "" {
		extension = ".bin"
	}
	for ; number <= maxMediaFiles; number++ {
		path = filepath.Join(dir, strconv.Itoa(number)+extension)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", 0, err
		}
		_, err = f.Write(data)
		return path, number + 1, errors.Join(err, f.Close())
	}
	return "", 0, fmt.Errorf("%s has %d files already; empty it or name another directory", dir, maxMediaFiles)
}
