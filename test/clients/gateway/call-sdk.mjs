// Calls a vendor's SDK as a program would, and prints what the program sees:
// node call-sdk.mjs <sdk> <call> <base URL> <key>
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [sdk, call, baseURL, key, text = 'hello'] = process.argv.slice(2);
const packages = createRequire(join(import.meta.dirname, 'packages', 'package.json'));
/** @param {string} name */
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);

/** @type {Record<string, () => Promise<Record<string, () => Promise<unknown>>>>} */
const SDKS = {
  openai: async () => {
    const { default: OpenAI } = await load('openai');
    const client = new OpenAI({ baseURL, apiKey: key });
    const body = { model: 'gpt-5', messages: [{ role: 'user', content: text }] };
    return {
      create: async () => (await client.chat.completions.create(body)).choices[0].message.content,
      stream: async () => {
        const parts = [];
        for await (const part of await client.chat.completions.create({ ...body, stream: true }))
          parts.push(part.choices[0].delta.content);
        return parts;
      },
      list: async () => {
        const ids = [];
        for await (const model of client.models.list()) ids.push(model.id);
        return ids;
      },
    };
  },
  anthropic: async () => {
    const { default: Anthropic } = await load('@anthropic-ai/sdk');
    const client = new Anthropic({ baseURL, apiKey: key });
    const body = { model: 'claude-5', max_tokens: 9, messages: [{ role: 'user', content: text }] };
    return {
      create: async () => (await client.messages.create(body)).content[0].text,
      stream: async () => {
        const types = [];
        for await (const event of await client.messages.create({ ...body, stream: true })) types.push(event.type);
        return types;
      },
      list: async () => {
        const ids = [];
        for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
        return ids;
      },
    };
  },
  stripe: async () => {
    const { default: Stripe } = await load('stripe');
    const { hostname, port, protocol } = new URL(baseURL);
    const client = new Stripe(key, { host: hostname, port, protocol: protocol.slice(0, -1), telemetry: false });
    const money = { amount: 5, currency: 'eur', destination: 'acct_1' };
    return {
      create: async () => (await client.refunds.create({ charge: text, metadata: { order: '7', reason: 'x' } })).id,
      denied: async () => (await client.payouts.create(money)).id,
      held: async () => (await client.transfers.create(money)).id,
      list: async () => {
        const ids = [];
        for await (const charge of client.charges.list({ limit: 2, expand: ['data.customer', 'data.invoice'] }))
          ids.push(charge.id);
        return ids;
      },
    };
  },
  octokit: async () => {
    const [{ Octokit }, { paginateRest }] = await Promise.all([
      load('@octokit/core'),
      load('@octokit/plugin-paginate-rest'),
    ]);
    const client = new (Octokit.plugin(paginateRest))({ baseUrl: baseURL, auth: key });
    return {
      create: async () =>
        (await client.request('POST /repos/{owner}/{repo}/issues', { owner: 'acme', repo: 'shop', title: text })).data
          .number,
      list: async () =>
        (await client.paginate('GET /repos/{owner}/{repo}/issues', { owner: 'acme', repo: 'shop', per_page: 2 })).map(
          ({ number }) => number,
        ),
    };
  },
};

const calls = await SDKS[sdk]();
try {
  console.log(JSON.stringify({ result: await calls[call]() }));
} catch (error) {
  const { name, message, status, statusCode, code, rawType } = error;
  console.log(JSON.stringify({ error: { name, message, status: status ?? statusCode, code, rawType } }));
}
// Some keep a connection that would keep the process.
process.exit();
