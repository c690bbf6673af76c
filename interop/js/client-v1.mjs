// node client-v1.mjs TARGET…: @modelcontextprotocol/sdk; TARGET is a URL, sse+URL for HTTP+SSE, or a command and its arguments.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answers, capabilities, converse, main } from './conversation.mjs';

function transportFor(target, args) {
  if (target.startsWith('sse+')) return new SSEClientTransport(new URL(target.slice('sse+'.length)));
  if (target.startsWith('http')) return new StreamableHTTPClientTransport(new URL(target));
  return new StdioClientTransport({ command: target, args, env: process.env });
}

await main(async (target, ...args) => {
  const client = new Client({ name: 'npm-sdk-v1', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, answers.elicit);
  client.setRequestHandler(CreateMessageRequestSchema, answers.sample);
  client.setRequestHandler(ListRootsRequestSchema, answers.roots);
  const transport = transportFor(target, args);
  await client.connect(transport);
  const seen = await converse(client, (name, input, onprogress) => client.callTool({ name, arguments: input }, undefined, { onprogress }));
  seen.version = transport.protocolVersion;
  await client.close();
  return seen;
});
