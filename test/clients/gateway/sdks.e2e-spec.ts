import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { run } from '../../support/processes/shell';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { type Answering, type ReceivedRequest, sendJson, type StandIn, startStandIn } from './stand-in';
import { vendorPackages } from './vendor-packages';

/** A run of a program, as the program sees it. */
interface SdkRun {
  readonly result?: unknown;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    readonly status?: number;
    readonly code?: string;
  };
}

const openai: Answering = (request, response) => {
  if (request.url === '/v1/models') {
    sendJson(response, { object: 'list', data: [{ id: 'one' }, { id: 'two' }] });
  } else if (request.body.includes('"stream":true')) {
    events(response, [
      { choices: [{ delta: { content: 'a' } }] },
      { choices: [{ delta: { content: 'b' } }] },
      '[DONE]',
    ]);
  } else sendJson(response, { choices: [{ message: { role: 'assistant', content: 'hi' } }] });
};

const anthropic: Answering = (request, response) => {
  if (request.url.startsWith('/v1/models')) {
    const isFirst = !request.url.includes('after_id');
    const data = isFirst ? [{ id: 'one' }, { id: 'two' }] : [{ id: 'three' }];
    sendJson(response, { data, has_more: isFirst, first_id: data[0]?.id, last_id: data.at(-1)?.id });
  } else if (request.body.includes('"stream":true')) {
    events(response, [{ type: 'message_start' }, { type: 'message_stop' }]);
  } else sendJson(response, { content: [{ type: 'text', text: 'hi' }] });
};

const stripe: Answering = (request, response) => {
  if (request.method === 'POST') {
    sendJson(response, { id: 're_1', object: 'refund' });
    return;
  }
  const isFirst = !request.url.includes('starting_after');
  const data = (isFirst ? ['ch_1', 'ch_2'] : ['ch_3']).map((id) => ({ id, object: 'charge' }));
  sendJson(response, { object: 'list', url: '/v1/charges', has_more: isFirst, data });
};

const github: Answering = (request, response) => {
  if (request.method === 'POST') {
    sendJson(response, { number: 7 }, 201);
    return;
  }
  const url = `http://${String(request.headers.host)}/repos/acme/shop/issues?per_page=2&page=2`;
  const isFirst = !request.url.endsWith('&page=2');
  if (isFirst) response.setHeader('Link', `<${url}>; rel="next", <https://elsewhere.example/>; rel="last"`);
  sendJson(
    response,
    (isFirst ? [1, 2] : [3]).map((number) => ({ number })),
  );
};

function events(response: ServerResponse, all: readonly unknown[]): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const event of all) {
    const type = (event as { type?: string }).type;
    response.write(
      `${type === undefined ? '' : `event: ${type}\n`}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`,
    );
  }
  response.end();
}

/** `fail` is refused by the vendor; `flaky` is an error of the vendor the first time. */
function vendor(answer: Answering): Answering {
  let failures = 0;
  return (request, response, message) => {
    if (/fail\b/.test(request.body)) {
      sendJson(response, { error: { message: 'no such model', type: 'invalid_request_error' }, message: 'gone' }, 404);
    } else if (request.body.includes('flaky') && (failures += 1) === 1) {
      sendJson(response, { error: { message: 'try again' } }, 500);
    } else answer(request, response, message);
  };
}

describe("Vendors' SDKs through the gateway", () => {
  let stage: GatewayStage;
  let gateway: StartedGateway;
  const standIns = new Map<string, StandIn>();

  beforeAll(async () => {
    await vendorPackages();
    stage = await openStage();
    for (const [name, answer] of Object.entries({ openai, anthropic, stripe, github }))
      standIns.set(name, await startStandIn(vendor(answer)));
    const urlOf = (name: string): string => String(standIns.get(name)?.url);
    const upstreams = (action: string): Record<string, object> => {
      const hold = { hold: 'PT30S' };
      return {
        openai: {
          url: urlOf('openai'),
          credentials: [VENDOR_CREDENTIAL],
          routes: [
            route('POST /v1/chat/completions', action, hold),
            route('GET /v1/models', 'read', { record: false }),
          ],
        },
        anthropic: {
          url: urlOf('anthropic'),
          credentials: [{ header: 'x-api-key', value: '${env:VENDOR_KEY}' }],
          headers: ['anthropic-version'],
          routes: [route('POST /v1/messages', action, hold), route('GET /v1/models', 'read', { record: false })],
        },
        octokit: {
          url: urlOf('github'),
          credentials: [{ header: 'Authorization', value: 'token ${env:VENDOR_KEY}' }],
          routes: [
            route('POST /repos/:owner/:repo/issues', action, hold),
            route('GET /repos/:owner/:repo/issues', 'read', { record: false }),
          ],
        },
      };
    };
    const upstreamEntries = (end: string, action: string): [string, object][] =>
      Object.entries(upstreams(action)).map(([name, upstream]) => [`${name}${end}`, upstream]);
    gateway = await startGateway(stage, {
      ...Object.fromEntries([
        ...upstreamEntries('', 'write'),
        ...upstreamEntries('-denied', 'forbidden'),
        ...upstreamEntries('-held', 'refund'),
      ]),
      stripe: {
        url: urlOf('stripe'),
        hosts: ['localhost'],
        credentials: [VENDOR_CREDENTIAL],
        headers: ['Stripe-Version'],
        idempotencyHeader: 'Idempotency-Key',
        routes: [
          route('POST /v1/refunds', 'write'),
          route('POST /v1/payouts', 'forbidden'),
          route('POST /v1/transfers', 'refund', { hold: 'PT30S' }),
          route('GET /v1/charges', 'read', { record: false }),
        ],
      },
    });
  }, 300_000);
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    for (const standIn of standIns.values()) await standIn.close();
    await stage.close();
  });

  /** Runs a call of an SDK. @param text what is asked of the vendor */
  async function call(sdk: string, name: string, text: string, end = ''): Promise<SdkRun> {
    const { port } = new URL(gateway.url);
    const urls: Record<string, string> = {
      openai: `${gateway.url}/openai${end}/v1`,
      stripe: `http://localhost:${port}`,
    };
    const base = urls[sdk] ?? `${gateway.url}/${sdk}${end}`;
    const script = join(__dirname, 'call-sdk.mjs');
    const { output, errors } = await run(process.execPath, [script, sdk, name, base, stage.key, text]);
    if (output === '') throw new Error(errors);
    return JSON.parse(output) as SdkRun;
  }

  function received(sdk: string): ReceivedRequest[] {
    return standIns.get(sdk === 'octokit' ? 'github' : sdk)?.received ?? [];
  }

  const SDKS: readonly (readonly [string, unknown])[] = [
    ['openai', 'hi'],
    ['anthropic', 'hi'],
    ['stripe', 're_1'],
    ['octokit', 7],
  ];

  it.each(SDKS)('%s: a call that is allowed passes', async (sdk, result) => {
    const before = received(sdk).length;
    expect(await call(sdk, 'create', 'allowed')).toEqual({ result });
    const [request, ...others] = received(sdk).slice(before);
    expect(others).toEqual([]);
    expect(JSON.stringify(request)).not.toContain(stage.key);
  });

  it.each(SDKS)('%s: a call that is denied is an error, at once and without a repeat', async (sdk) => {
    const before = received(sdk).length;
    const executionCount = (await stage.executions('&action=forbidden')).length;
    const isStripe = sdk === 'stripe';
    const { error } = await call(sdk, isStripe ? 'denied' : 'create', 'denied', '-denied');
    expect(error).toMatchObject({ status: 403, message: expect.stringContaining('No policy in force allows this.') });
    expect(await stage.executions('&action=forbidden')).toHaveLength(executionCount + 1);
    expect(received(sdk)).toHaveLength(before);
  });

  it.each(SDKS)('%s: a call that needs an approval waits for it, and passes once', async (sdk, result) => {
    const before = received(sdk).length;
    const isStripe = sdk === 'stripe';
    const seen = call(sdk, isStripe ? 'held' : 'create', 'held', '-held');
    const waiting = async (): Promise<string | null | undefined> =>
      (await stage.executions('&outcome=pending_approval'))[0]?.decisionId;
    await until('it waits', async () => typeof (await waiting()) === 'string');
    expect(received(sdk)).toHaveLength(before);
    await stage.approve(String(await waiting()));
    expect(await seen).toEqual({ result });
    expect(received(sdk)).toHaveLength(before + 1);
  });

  it.each([
    ['openai', ['a', 'b']],
    ['anthropic', ['message_start', 'message_stop']],
  ])('%s: a stream comes as it is', async (sdk, result) => {
    expect(await call(sdk, 'stream', 'streamed')).toEqual({ result });
  });

  it.each([
    ['openai', ['one', 'two'], 1],
    ['anthropic', ['one', 'two', 'three'], 2],
    ['stripe', ['ch_1', 'ch_2', 'ch_3'], 2],
    ['octokit', [1, 2, 3], 2],
  ])('%s: pages follow one another through the gateway', async (sdk, result, requests) => {
    const before = received(sdk).length;
    expect(await call(sdk, 'list', '')).toEqual({ result });
    expect(received(sdk)).toHaveLength(before + requests);
  });

  it.each(['openai', 'anthropic', 'octokit'])("%s: the vendor's error stays the vendor's", async (sdk) => {
    const { error } = await call(sdk, 'create', 'fail');
    expect(error?.status).toBe(404);
    expect(error?.message).toMatch(/no such model|gone/);
  });

  it.each(['openai', 'anthropic'])("%s: repeats after the vendor's 500 are requests of their own", async (sdk) => {
    const before = received(sdk).length;
    expect((await call(sdk, 'create', 'flaky')).result).toBe('hi');
    expect(received(sdk)).toHaveLength(before + 2);
  });

  it('stripe: the vendor gets the id of the execution as its key, and a repeat with it is not sent twice', async () => {
    const before = received('stripe').length;
    expect((await call('stripe', 'create', 'flaky')).error?.message).toContain('is not sent again');
    const [request, ...others] = received('stripe').slice(before);
    expect(others).toEqual([]);
    expect(request?.headers['idempotency-key']).toMatch(/^exe_/);
  });
});
