// One conversation with the server of fixture_test.go, for any client of npm. What it saw goes to stdout as JSON; the Go test knows what
// that must be.

// The answers of the user, of the model and of the host.
export const answers = {
  elicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
  sample: () => ({ role: 'assistant', model: 'fixed', content: { type: 'text', text: 'Paris' } }),
  roots: () => ({ roots: [{ uri: 'file:///interop', name: 'interop' }] }),
};

export const capabilities = { elicitation: {}, sampling: {}, roots: {} };

const text = (result) => result.content.map((block) => block.text).join('');

// call(name, args, onprogress) hides how the releases differ.
export async function converse(client, call) {
  const progress = [];
  const seen = {
    server: client.getServerVersion()?.name,
    tools: (await client.listTools()).tools.map((tool) => tool.name).sort(),
    echo: text(await call('echo', { message: 'grüße' })),
    add: (await call('add', { a: 2, b: 40 })).structuredContent,
    count: text(await call('count', { steps: 3 }, (p) => progress.push(p.progress))),
    progress,
    ask: text(await call('ask', {})),
    sample: text(await call('sample', {})),
    roots: text(await call('roots', {})),
    failed: await call('fail', {}).then((r) => r.isError && text(r)),
    invalid: await call('add', { a: 'two', b: 1 }).then((r) => r.isError),
    resources: (await client.listResources()).resources.map((r) => r.uri),
    resource: (await client.readResource({ uri: 'test://greeting' })).contents[0].text,
    bytes: (await client.readResource({ uri: 'test://bytes' })).contents[0].blob,
    templates: (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate),
    templated: (await client.readResource({ uri: 'test://item/7' })).contents[0].text,
    prompts: (await client.listPrompts()).prompts.map((p) => p.name),
    prompt: (await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages[0].content.text,
    completion: (
      await client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' } })
    ).completion.values,
    missing: await client.readResource({ uri: 'test://nothing' }).then(
      () => 'a result',
      (err) => err.code,
    ),
  };
  return seen;
}

export async function main(run) {
  try {
    console.log(JSON.stringify(await run(...process.argv.slice(2))));
    process.exit(0);
  } catch (err) {
    console.error(err);
    process.exit(1);
  }
}
