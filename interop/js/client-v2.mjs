// node client-v2.mjs MODE TARGET…: @modelcontextprotocol/client with MODE legacy, auto or a revision to insist on; TARGET is a URL, or a
// command and its arguments.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answers, capabilities, converse, main } from './conversation.mjs';

await main(async (mode, target, ...args) => {
  const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode };
  const client = new Client({ name: 'npm-client-v2', version: '1.0.0' }, { capabilities, versionNegotiation: { mode: negotiation } });
  client.setRequestHandler('elicitation/create', answers.elicit);
  client.setRequestHandler('sampling/createMessage', answers.sample);
  client.setRequestHandler('roots/list', answers.roots);
  const transport = target.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, env: process.env });
  await client.connect(transport);
  const seen = await converse(client, (name, input, onprogress) => client.callTool({ name, arguments: input }, { onprogress }));
  seen.version = client.getNegotiatedProtocolVersion();
  await client.close();
  return seen;
});
