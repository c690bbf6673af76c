package main

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func addResources(srv *server.Server) error {
	resources := []struct {
		resource mcp.Resource
		contents mcp.ResourceContents
	}{
		{
			mcp.Resource{URI: "test://static-text", Name: "static-text", Title: "Static Text Resource", Description: "Is always the same text.", MIMEType: "text/plain"},
			mcp.ResourceContents{Text: "This is the content of the static text resource."},
		},
		{
			mcp.Resource{URI: "test://static-binary", Name: "static-binary", Title: "Static Binary Resource", Description: "Is always the same image.", MIMEType: "image/png"},
			mcp.ResourceContents{Blob: pixel},
		},
		{
			mcp.Resource{URI: "test://watched-resource", Name: "watched-resource", Title: "Watched Resource", Description: "Can be subscribed to.", MIMEType: "text/plain"},
			mcp.ResourceContents{Text: "Watched resource content"},
		},
	}
	for _, r := range resources {
		contents := r.contents
		contents.URI, contents.MIMEType = r.resource.URI, r.resource.MIMEType
		read := func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
		}
		if err := srv.AddResource(r.resource, read); err != nil {
			return fmt.Errorf("resource %s: %w", r.resource.URI, err)
		}
	}
	return addTemplate(srv)
}

func addTemplate(srv *server.Server) error {
	template := mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data", Name: "template", Title: "Resource Template", Description: "Has data for every ID.", MIMEType: "application/json",
	}
	return srv.AddResourceTemplate(template, func(_ context.Context, p *mcp.ReadResourceParams, values map[string]string) (*mcp.ReadResourceResult, error) {
		data, err := json.Marshal(struct {
			ID           string `json:"id"`
			TemplateTest bool   `json:"templateTest"`
			Data         string `json:"data"`
		}{values["id"], true, "Data for ID: " + values["id"]})
		if err != nil {
			return nil, err
		}
		contents := mcp.ResourceContents{URI: p.URI, MIMEType: template.MIMEType, Text: string(data)}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
	})
}
