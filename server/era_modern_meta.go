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

// read is [mcp.RequestMeta.Read] into meta.
func (c *metaCache) read(req *rpc.Request, meta *mcp.RequestMeta) error {
	text := req.Param("_meta")
	if last := c.last.Load(); len(text) > 0 && last != nil && bytes.Equal(last.text, text) {
		*meta = last.meta
		return nil
	}
	err := meta.Read(req)
	if err == nil && meta.Modern() && meta.ProgressToken.IsZero() && meta.Extra == nil && len(text) <= cachedMetaBytes {
		c.last.Store(&cachedMeta{bytes.Clone(text), *meta})
	}
	return err
}
