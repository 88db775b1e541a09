import type { OpenAPIObject } from '@nestjs/swagger';
import * as fc from 'fast-check';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { LedgerService } from '../../src/ledger/ledger.service';
import { ActionsModule } from '../support/application/actions.module';
import { AnswerCheck } from './answer-check';
import { type DocumentedOperation, operationsOf } from '../support/requests/api-document';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createEntity, createPolicy, propose } from '../support/application/factories';
import { ExpectedEffects } from './fuzz/expected-effects';
import { type FuzzedRequest, fuzzedRequests, type SentRequest, sentRequest } from './fuzz/fuzzed-requests';
import { KnownRecords } from './fuzz/known-records';
import { watch } from '../support/application/secret-watch';
import { type Answer, send } from '../support/application/send';
import { LEAK, statistics } from '../support/application/wire';

/** `FUZZ_REQUESTS=100000 npm run test:fuzz` makes a long run; `FUZZ_SEED` repeats one. */
const USUAL_REQUESTS = 800;
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? USUAL_REQUESTS);
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
/** Small enough to be reached. */
const BODY_LIMIT = 3_000;
/** Requests between two checks of `/stats`. The number of entries is checked after every request. */
const STRIDE = 200;

describe('Whatever a client sends', () => {
  let app: TestApp;
  let document: OpenAPIObject;
  let check: AnswerCheck;
  let effects: ExpectedEffects;
  const connections = new Agent({ keepAlive: true });
  const records = new KnownRecords();
  const statuses = new Map<string, Map<number, number>>();

  beforeAll(async () => {
    const environment = { BODY_LIMIT: String(BODY_LIMIT), PUBLIC_URL: 'https://governance.example.com' };
    app = await createTestApp({ modules: [ActionsModule], environment });
    document = (await send(app, 'GET', '/docs/openapi.json')).body as OpenAPIObject;
    check = new AnswerCheck(document);
    await startWith();
    effects = new ExpectedEffects(await statistics(app));
  });
  afterAll(async () => {
    connections.destroy();
    await app.close();
  });

  function entries(): number {
    return app.application.get(LedgerService).head.sequence;
  }

  /** Creates one record of each kind, so that the first requests find something. */
  async function startWith(): Promise<void> {
    const capabilities = ['succeed', 'fail', 'send-invoice', 'a', 'b', '*'];
    const agent = await createAgent(app, { name: 'bot', capabilities, roles: ['x'] });
    const reviewer = await createAgent(app, { name: 'reviewer', capabilities });
    const others: object[] = [await createEntity(app), await propose(app, agent.id)];
    // Several that allow, of the highest priority, since generated policies may deny, and generated requests may
    // deactivate some.
    for (let count = 0; count < 5; count += 1) others.push(await createPolicy(app, { priority: 2 ** 31 - 1 }));
    for (const record of [agent, reviewer, ...others]) records.note(record);
  }

  async function exchanged({ method, target, headers, body }: SentRequest): Promise<Answer> {
    const { hostname, port } = new URL(app.url);
    const length = body === undefined ? {} : { 'Content-Length': body.length };
    const sending = request({
      agent: connections,
      hostname,
      port,
      method,
      path: target,
      headers: { ...headers, ...length },
    });
    sending.end(body);
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    // A stream of events never ends.
    if (response.headers['content-type'] === 'text/event-stream') response.destroy();
    else for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    watch(`${method} ${target}`, text);
    const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
    return { status: response.statusCode ?? 0, headers: new Headers(fields), text, body: parsed(text) };
  }

  /** Every fault of the answer. */
  async function faultsOf(drawn: FuzzedRequest): Promise<string[]> {
    const sent = sentRequest(drawn, records, API_KEY);
    const answer = await exchanged(sent);
    const { documented, query } = drawn;
    remember(documented, sent, answer);
    // A past state has no ETag, since no change can be based on it.
    const absent = query.some(([name]) => name === 'asOf') ? ['ETag'] : [];
    return [
      ...check.faults(documented, answer, absent),
      ...effects.note(documented, sent, answer, entries()),
      ...(LEAK.test(answer.text) ? [`a leak: ${answer.text}`] : []),
      ...contentFaults(sent, answer),
    ].map((fault) => `${sent.method} ${sent.target}: ${fault}`);
  }

  function remember({ id, method }: DocumentedOperation, { path }: SentRequest, { status, body }: Answer): void {
    const seen = statuses.get(id) ?? new Map<number, number>();
    statuses.set(id, seen.set(status, (seen.get(status) ?? 0) + 1));
    if (status < 300 && method !== 'DELETE') records.note(body);
    if (status === 204) records.forget(path['claimId'] ?? path['id'] ?? '');
  }

  it(
    `it is answered as the document says, and changes what the answer says (${REQUESTS} requests, seed ${SEED})`,
    async () => {
      process.stdout.write(`${REQUESTS} requests; FUZZ_SEED=${SEED} repeats them.\n`);
      let sinceLook = 0;
      const property = fc.asyncProperty(fuzzedRequests(document), async (drawn) => {
        expect(await faultsOf(drawn)).toEqual([]);
        sinceLook += 1;
        if (sinceLook % STRIDE === 0) expect(await statistics(app)).toEqual(effects.statistics);
      });
      // Requests cannot be undone, so a smaller one would find another state.
      await fc.assert(property, { numRuns: REQUESTS, seed: SEED, endOnFailure: true });
      expect(await statistics(app)).toEqual(effects.statistics);
      await chainIsValid(app);
    },
    300_000 + REQUESTS * 100,
  );

  it('many of the requests are valid, and many are not', () => {
    const rows = operationsOf(document).map(({ id }) => [id, [...(statuses.get(id) ?? [])]] as const);
    const all = rows.flatMap(([, seen]) => seen);
    // The number depends on the seed.
    const many = REQUESTS / 8;
    expect(count(all, (status) => status < 300)).toBeGreaterThan(many);
    expect(count(all, (status) => status >= 400)).toBeGreaterThan(many);
    const often = rows.filter(([, seen]) => count(seen, () => true) >= 400);
    const neverFine = often.filter(([, seen]) => count(seen, (status) => status < 300) === 0);
    expect(neverFine).toEqual([]);
    const table = rows.map(
      ([id, seen]) => `${id}: ${seen.map(([status, times]) => `${status} × ${times}`).join(', ')}`,
    );
    if (REQUESTS > USUAL_REQUESTS) process.stdout.write(`${table.join('\n')}\n`);
  });
});

function count(seen: readonly (readonly [number, number])[], among: (status: number) => boolean): number {
  return seen.reduce((sum, [status, times]) => sum + (among(status) ? times : 0), 0);
}

/** Free-form members that were not returned as they were sent. */
function contentFaults({ method, body }: SentRequest, answer: Answer): string[] {
  if (method !== 'POST' || answer.status !== 201 || body === undefined) return [];
  const requestMembers = parsed(body.toString().replace(/^\uFEFF/, '')) as Readonly<Record<string, unknown>>;
  const names = ['properties', 'context', 'parameters'].filter((name) => (requestMembers[name] ?? null) !== null);
  const changed = names.filter((name) => sorted(requestMembers[name]) !== sorted(answer.body[name]));
  return changed.map((name) => `${name} came back as ${JSON.stringify(answer.body[name])}`);
}

/** A value as text, whatever the order of its members. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
