package server

import (
	"bytes"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A metaCache has the _meta that was read last: a modern client says the same of
// itself with every request, byte for byte.
type metaCache struct{ last atomic.Pointer[cachedMeta] }

type cachedMeta struct {
	text []byte
	meta mcp.RequestMeta // read only
}

// cachedMetaBytes bounds what a client can have kept.
const cachedMetaBytes = 1 << 10

// noMeta is of requests that have none.
var noMeta mcp.RequestMeta

// read is [mcp.RequestMeta.Read]. What it returns is to be read only.
func (c *metaCache) read(req *rpc.Request) (*mcp.RequestMeta, error) {
	text := req.Param("_meta")
	if text == nil {
		return &noMeta, nil
	}
	if last := c.last.Load(); last != nil && bytes.Equal(last.text, text) {
		return &last.meta, nil
	}
	read := &cachedMeta{}
	meta := &read.meta
	if err := meta.Read(req); err != nil {
		return nil, err
	}
	if meta.Modern() && meta.ProgressToken.IsZero() && meta.Extra == nil && len(text) <= cachedMetaBytes {
		read.text = bytes.Clone(text)
		c.last.Store(read)
	}
	return meta, nil
}
