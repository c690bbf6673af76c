package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestSaveMediaNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths, err := saveMedia(dir, []mcp.Content{
		&mcp.ImageContent{MIMEType: "../../x", Data: []byte("a")},
		mcp.Text("text"),
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "file:///etc/passwd", MIMEType: "application/pdf", Blob: []byte("b")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 2 || paths[0] != filepath.Join(dir, "1.bin") || paths[2] != filepath.Join(dir, "2.pdf") {
		t.Errorf("saved as %v", paths)
	}
	_, _, err = saveNew(dir, maxMediaFiles+1, "image/png", []byte("a"))
	if err == nil || !strings.Contains(err.Error(), "10000 files already") {
		t.Errorf("a full directory: %v", err)
	}
}
