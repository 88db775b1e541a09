import * as fc from 'fast-check';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';

/** Random histories; `HISTORIES=200` for longer. */
const HISTORIES = Number(process.env['HISTORIES'] ?? 2);

/** An operation of the random history: it creates or changes a record. */
const STEPS = [
  ...['entities', 'agents', 'policies', 'decisions', 'executions', 'executions', 'denied'],
  ...['PUT entities', 'DELETE entities', 'PATCH agents', 'suspend agents', 'resume agents'],
  ...['activate policies', 'deactivate policies', 'version policies'],
  ...['approve decisions', 'reject decisions', 'cancel decisions'],
  ...['approve executions', 'resume executions', 'result executions', 'cancel executions'],
] as const;
type Step = (typeof STEPS)[number];

/** A record as it was returned after an entry. */
interface Sight {
  readonly sequence: number;
  readonly path: string;
  readonly answer: Answer;
}

/** A history of records of every kind, each of which is read after each step. */
class History {
  readonly sights: Sight[] = [];
  readonly paths: string[] = [];
  private number = 0;

  constructor(
    private readonly app: TestApp,
    private readonly people: { readonly bot: string; readonly reviewer: string },
    private readonly refusedKey: string,
  ) {}

  async take(step: Step, pick: number): Promise<void> {
    const [verb = '', kind] = step.split(' ');
    if (kind === undefined) await this.make(verb, pick);
    else await this.change(verb, this.paths.filter((path) => path.startsWith(`${kind}/`)).at(pick % 3), pick);
    const sequence = (await this.ask('GET', 'stats')).body.provenanceEntries;
    for (const path of this.paths) this.sights.push({ sequence, path, answer: await this.ask('GET', path) });
  }

  private async make(kind: string, pick: number): Promise<void> {
    const { app } = this;
    const name = `${kind}-${(this.number += 1)}-${Math.random()}`;
    const { bot } = this.people;
    if (kind === 'entities') this.know(kind, await createEntity(app, { properties: { a: ['x', pick, null] } }));
    if (kind === 'agents') {
      this.know(kind, await createAgent(app, { name, kind: pick % 2 === 0 ? 'human' : 'machine' }));
      this.paths.push(`agents/${name}`);
    }
    if (kind === 'policies') this.know(kind, await createPolicy(app, { name, subjects: ['nobody'] }));
    if (kind === 'decisions') this.know(kind, await propose(app, bot, { riskLevel: 'medium', context: { pick } }));
    if (kind === 'executions') {
      const body = { action: pick % 2 === 0 ? 'look' : 'refund', resourceType: 'order', resourceId: name };
      this.know(kind, (await this.ask('POST', `agents/${bot}/execute`, body)).body);
    }
    if (kind === 'denied') await send(app, 'POST', '/api/v1/entities', { key: this.refusedKey, body: {} });
  }

  private async change(verb: string, path: string | undefined, pick: number): Promise<void> {
    if (path === undefined) return;
    if (verb === 'PUT') await this.ask('PUT', path, { properties: { pick } });
    else if (verb === 'DELETE') await this.ask('DELETE', path);
    else if (verb === 'PATCH') await this.ask('PATCH', path, { roles: [`role-${pick % 3}`], description: `${pick}` });
    else if (verb === 'version') await this.nextVersion(path);
    else if (verb === 'approve') await this.approve(path);
    else if (verb === 'result') await this.ask('POST', `${path}/result`, { outcome: 'executed', result: `${pick}` });
    else await this.ask('POST', `${path}/${verb}`, {});
  }

  private async nextVersion(path: string): Promise<void> {
    const { name } = (await this.ask('GET', path)).body;
    const version = `2.${(this.number += 1)}`;
    this.know('policies', await createPolicy(this.app, { name, version, subjects: ['nobody'] }));
  }

  private async approve(path: string): Promise<void> {
    const { decisionId } = (await this.ask('GET', path)).body;
    const decision = typeof decisionId === 'string' ? `decisions/${decisionId}` : path;
    await this.ask('POST', `${decision}/approve`, { approverId: this.people.reviewer });
  }

  private know(kind: string, { id }: { readonly id: string }): void {
    this.paths.push(`${kind}/${id}`);
  }

  private ask(method: string, path: string, body?: object): Promise<Answer> {
    return send(this.app, method, `/api/v1/${path}`, body === undefined ? {} : { body });
  }
}

describe('asOf', () => {
  let app: TestApp;
  let people: { bot: string; reviewer: string };

  beforeAll(async () => {
    app = await createTestApp({ environment: { REQUIRED_APPROVALS: 'medium=2', ALLOW_SELF_APPROVAL: 'true' } });
    const bot = await createAgent(app, { name: 'bot', capabilities: ['look', 'refund'] });
    const reviewer = await createAgent(app, { name: 'reviewer', kind: 'human', roles: ['finance'] });
    people = { bot: bot.id, reviewer: reviewer.id };
    await createPolicy(app, { actions: ['look'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { actions: ['refund'], effect: 'require_approval', approval });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const get = (path: string, key?: string): Promise<Answer> =>
    send(app, 'GET', `/api/v1/${path}`, key === undefined ? {} : { key });
  const head = async (): Promise<number> => (await get('stats')).body.provenanceEntries;

  /** Maps sequences to times, for entries that are followed by an entry with a later time. */
  async function timesOf(after: number): Promise<ReadonlyMap<number, string>> {
    const { data } = (await get(`provenance?after=${after}&limit=1000&order=asc`)).body;
    const entries = data as { sequence: number; timestamp: string }[];
    return new Map(
      entries
        .filter(({ timestamp }, index) => timestamp < (entries[index + 1]?.timestamp ?? ''))
        .map(({ sequence, timestamp }) => [sequence, timestamp]),
    );
  }

  it('returns each record of every kind as it was returned then', async () => {
    const refusedKey = (await issueKey(app)).secret;
    const step = fc.tuple(fc.constantFrom(...STEPS), fc.nat(100));
    const steps = fc.array(step, { minLength: 25, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(steps, async (walk) => {
        const start = await head();
        const history = new History(app, people, refusedKey);
        for (const [what, pick] of walk) await history.take(what, pick);
        const times = await timesOf(start);
        for (const { sequence, path, answer } of history.sights) {
          const time = times.get(sequence);
          for (const moment of [sequence, ...(time === undefined ? [] : [time])]) {
            const then = await get(`${path}?asOf=${moment}`);
            expect([path, moment, then.status]).toEqual([path, moment, answer.status]);
            if (then.status === 200) expect(then.body).toEqual(answer.body);
            expect(then.headers.get('etag')).toBeNull();
          }
        }
        for (const path of history.paths) expect((await get(`${path}?asOf=${start}`)).status).toBe(404);
      }),
      { numRuns: HISTORIES },
    );
  });

  it.each(['0', '-1', '1.5', '999999', '9007199254740993', 'now', '2026-13-01', '2999-01-01', '2026-11-20T10:00:00'])(
    'is refused as ?asOf=%s, also for a record that never existed',
    async (asOf) => {
      for (const path of [
        'entities/ent_x',
        'agents/bot',
        'agents/nobody',
        'policies/x',
        'decisions/x',
        'executions/x',
      ]) {
        const answer = await get(`${path}?asOf=${asOf}`);
        expect([path, answer.status]).toEqual([path, 400]);
        expect(Object.keys(faults(answer))).toEqual(['query.asOf']);
      }
    },
  );

  it('is 404 before the first entry, and where the record did not exist', async () => {
    expect((await get('agents/bot?asOf=2020-01-01')).status).toBe(404);
    expect((await get('agents/nobody?asOf=1')).status).toBe(404);
    expect((await get(`policies/${people.bot}?asOf=1`)).status).toBe(404);
    expect((await get('agents/bot?asOf=1')).status).toBe(200);
    expect((await get('agents/reviewer?asOf=1')).status).toBe(404);
  });

  it('reads records that were deleted since, however long they are', async () => {
    const properties = { text: 'x'.repeat(100_000), list: Array.from({ length: 4_000 }, (_, index) => ({ index })) };
    const entity = await createEntity(app, { properties });
    const sequence = await head();
    await send(app, 'DELETE', `/api/v1/entities/${entity.id}`);
    expect((await get(`entities/${entity.id}?asOf=${sequence}`)).body).toEqual(entity);
    expect((await get(`entities/${entity.id}?asOf=${sequence + 1}`)).status).toBe(404);
  });

  it('cannot be combined with wait', async () => {
    const { id } = await propose(app, people.bot);
    for (const path of [`decisions/${id}`, 'executions/exe_x'])
      expect(Object.keys(faults(await get(`${path}?asOf=1&wait=1`)))).toEqual(['query.asOf']);
  });

  it('returns the record in full to a client that has a copy', async () => {
    const { id } = await createEntity(app);
    const headers = { 'If-None-Match': '"1"' };
    expect((await send(app, 'GET', `/api/v1/entities/${id}`, { headers })).status).toBe(304);
    expect((await send(app, 'GET', `/api/v1/entities/${id}?asOf=${await head()}`, { headers })).status).toBe(200);
  });

  it('shows a bound caller the records that it may see today', async () => {
    const { id: other } = await createAgent(app, { name: 'other', capabilities: ['look'] });
    const own = await issueKey(app, { scopes: ['execute', 'propose'], agentId: people.bot });
    const foreign = await issueKey(app, { scopes: ['execute', 'propose'], agentId: other });
    const body = { action: 'look', resourceType: 'order', resourceId: 'a' };
    const { id } = (await send(app, 'POST', `/api/v1/agents/bot/execute`, { body })).body;
    const decision = await propose(app, people.bot);
    for (const path of [`executions/${id}`, `decisions/${decision.id}`]) {
      expect((await get(`${path}?asOf=${await head()}`, own.secret)).status).toBe(200);
      expect((await get(`${path}?asOf=${await head()}`, foreign.secret)).status).toBe(404);
    }
  });

  it('evaluates by the policies in force then, for the agent as it was', async () => {
    const body = { action: 'look', resourceType: 'order', resourceId: 'a' };
    const evaluate = (more: object): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...body, ...more } });
    const { id } = await createAgent(app, { name: 'watcher', capabilities: ['look'] });
    const then: [number, Answer][] = [];
    const questions = [{ agent: 'watcher', explain: true }, { subject: { roles: ['x'] } }];
    const look = async (): Promise<void> => {
      const sequence = await head();
      for (const question of questions) then.push([sequence, await evaluate(question)]);
    };
    await look();
    const deny = await createPolicy(app, { effect: 'deny', priority: 7, actions: ['look'], resources: ['a'] });
    await look();
    await send(app, 'PATCH', `/api/v1/agents/${id}`, { body: { capabilities: [] } });
    await look();
    await send(app, 'POST', `/api/v1/policies/${deny.id}/deactivate`);
    await look();
    for (const [index, [asOf, answer]] of then.entries()) {
      expect(answer.status).toBe(200);
      expect((await evaluate({ ...questions[index % 2], asOf })).body).toEqual(answer.body);
    }
    expect(new Set(then.map(([, { body: seen }]) => seen.reason)).size).toBe(3);
    const unknown = await evaluate({ agent: 'watcher', asOf: 1 });
    expect([unknown.status, Object.keys(faults(unknown))]).toEqual([400, ['agent']]);
    expect((await evaluate({ agent: 'watcher', asOf: '2020-01-01' })).status).toBe(404);
    for (const asOf of [0, 1.5, 999_999, '1', 'now', '2999-01-01', true, [1]])
      expect(Object.keys(faults(await evaluate({ agent: 'watcher', asOf })))).toEqual(['asOf']);
    const key = (await issueKey(app, { scopes: ['execute'], agentId: id })).secret;
    const bound = (agent: string, asOf: number): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies/evaluate', { key, body: { ...body, agent, asOf } });
    expect((await bound('watcher', await head())).status).toBe(200);
    expect((await bound('watcher', 1)).status).toBe(400);
    expect((await bound('bot', 1)).body.error.reason).toBe('not_this_agent');
  });

  it('evaluates as of any entry of a request by all that the request changed', async () => {
    const question = { agent: 'bot', action: 'look', resourceType: 'order', resourceId: 'b', explain: true };
    const evaluate = async (asOf?: number): Promise<Answer['body']> =>
      (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, asOf } })).body;
    const file = (name: string, version: string, effect: string): object => {
      return { name, version, effect, subjects: ['bot'], actions: ['look'], resources: ['b'] };
    };
    const apply = async (policies: object[]): Promise<void> => {
      const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies } })).body;
      expect((await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies } })).status).toBe(200);
    };
    await apply([file('gate', '1', 'allow'), file('guard', '1', 'deny')]);
    const [before, first] = [await evaluate(), await head()];
    await apply([file('gate', '2', 'deny'), file('guard', '2', 'allow'), file('note', '1', 'allow')]);
    const [after, last] = [await evaluate(), await head()];
    expect([await evaluate(first), last - first]).toEqual([before, 5]);
    for (let sequence = first + 1; sequence <= last; sequence += 1) {
      expect(await evaluate(sequence)).toEqual(after);
      expect((await get(`provenance/${sequence}`)).body.audit.details.policySet).toBe(after.policySet);
    }
  });

  it('evaluates as of an entry by no later request, with any id that its client gave it', async () => {
    const { id } = await createAgent(app, { name: 'switched', capabilities: ['look'] });
    const [headers, before, changes] = [{ 'X-Request-Id': 'the-same' }, await head(), 60];
    await Promise.all(
      Array.from({ length: changes }, (_, index) => {
        const body = { capabilities: index % 2 === 0 ? [] : ['look'] };
        return send(app, 'PATCH', `/api/v1/agents/${id}`, { headers, body });
      }),
    );
    const question = { agent: 'switched', action: 'look', resourceType: 'order', resourceId: 'a' };
    let entries = 0;
    for (let asOf = before + 1; asOf <= (await head()); asOf += 1) {
      const { capabilities } = (await get(`agents/${id}?asOf=${asOf}`)).body;
      const { reason } = (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, asOf } })).body;
      expect(reason === 'capability_missing').toBe(capabilities.length === 0);
      entries += 1;
    }
    expect(entries).toBeGreaterThan(changes / 3);
  });
});
