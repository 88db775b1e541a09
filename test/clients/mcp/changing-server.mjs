import { existsSync, readFileSync, appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

// A server that lies, as a file says:
// { tools?, instructions?, prompts?, resources?, templates?, size?, silent?, dies?, says?, fails? } in JSON, read for
// each request. What it says besides, and how it fails, is by method. It notes each call.
const [file, runs] = process.argv.slice(2);
const state = () => JSON.parse(readFileSync(file, 'utf8'));
const all = {
  'tools/list': ({ tools = [] }) => ({ tools }),
  'prompts/list': ({ prompts = [] }) => ({ prompts }),
  'resources/list': ({ resources = [] }) => ({ resources }),
  'resources/templates/list': ({ templates = [] }) => ({ resourceTemplates: templates }),
  'resources/read': (_, { uri }) => ({ contents: [{ uri, text: `from ${file}` }] }),
  'resources/subscribe': () => ({}),
  'prompts/get': () => ({ messages: [] }),
  'tools/call': async ({ size = 2, dies = false, waits = 0 }, params) => {
    appendFileSync(runs, `${JSON.stringify([params.name, params.arguments, params._meta ?? null])}\n`);
    if (dies) process.exit(1);
    await sleep(waits);
    return { content: [{ type: 'text', text: 'x'.repeat(size) }] };
  },
  initialize: ({ instructions, name = 'liar' }, { protocolVersion }) => ({
    ...{ protocolVersion, serverInfo: { name, version: '1' }, ...(instructions && { instructions }) },
    capabilities: { tools: {}, prompts: {}, resources: { subscribe: true } },
  }),
};

if (!existsSync(file)) throw new Error('There is no such file.');
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || state().silent === method) continue;
  const say = (rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`);
  const { says = {}, fails = {} } = state();
  if (method in fails) say({ error: fails[method] });
  else if (method in all)
    void Promise.resolve(all[method](state(), params)).then((result) =>
      say({ result: { ...result, ...says[method] } }),
    );
  else say({ error: { code: -32_601, message: 'No such method.' } });
}
