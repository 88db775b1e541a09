import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntryResponse } from '../../src/evidence/audit/dto/audit-entry.response';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { doEverything, EVERY_ACTION_ENVIRONMENT, type ExpectedEntry } from '../support/requests/every-action';
import { chainIsValid, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';

const AUDIT = '/api/v1/audit';

describe('The audit trail', () => {
  let app: TestApp;
  let expected: ExpectedEntry[];
  let entries: AuditEntryResponse[];

  beforeAll(async () => {
    app = await createTestApp({ modules: [ActionsModule], environment: EVERY_ACTION_ENVIRONMENT });
    expected = await doEverything(app);
    entries = await list('order=asc&limit=1000');
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function list(query: string): Promise<AuditEntryResponse[]> {
    return (await send(app, 'GET', `${AUDIT}?${query}`)).body.data;
  }

  it('records every action: what was done, by whom, to what, with what outcome and why', () => {
    const minted = ({ id, sequence, timestamp }: AuditEntryResponse): object => ({ id, sequence, timestamp });
    expect(entries).toEqual(entries.map((entry, index) => ({ ...minted(entry), ...expected[index] })));
    expect(entries).toHaveLength(expected.length);
  });

  it('has every action that one session without a restart can cause', () => {
    expect([...new Set(entries.map(({ action }) => action))].sort()).toEqual([
      ...['agent.created', 'agent.resumed', 'agent.suspended', 'agent.updated'],
      ...['api_key.created', 'api_key.expired', 'api_key.revoked'],
      ...['claim.added', 'claim.removed'],
      ...['decision.approval_denied', 'decision.approved', 'decision.expired', 'decision.proposal_denied'],
      ...['decision.proposed', 'decision.rejected', 'decision.rejection_denied', 'decision.reviewed'],
      ...['entity.created', 'entity.deleted', 'entity.updated'],
      ...['execution.authorized', 'execution.completed', 'execution.denied'],
      ...['policy.activated', 'policy.created', 'policy.deactivated', 'policy.superseded'],
      ...['stop.created', 'stop.lifted'],
      ...['webhook.created', 'webhook.deleted', 'webhook.failing', 'webhook.updated'],
    ]);
  });

  it('numbers its entries 1, 2, 3 …, with ids in the same order and times that never go back', () => {
    expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_entry, index) => index + 1));
    const ids = entries.map(({ id }) => id);
    expect([...ids].sort()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(/^aud_[0-9A-HJKMNP-TV-Z]{26}$/);
    const times = entries.map(({ timestamp }) => timestamp);
    expect([...times].sort()).toEqual(times);
    for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('contains no free-form content', () => {
    expect(JSON.stringify(entries)).not.toMatch(/secret|Gateway|Too risky|Seen\.|Does things/);
  });

  it('has no entries about requests that only read or were faulty', async () => {
    const requests: [method: string, path: string, body?: object][] = [
      ['GET', 'entities'],
      ['GET', 'audit'],
      ['GET', 'entities/none'],
      ['POST', 'entities', {}],
      ['PUT', 'entities/none', { name: 'x' }],
      ['DELETE', 'entities'],
      ['POST', 'agents', { name: 'bot' }],
      ['POST', 'agents/nobody/execute', { action: 'a', resourceType: 'b', resourceId: 'c' }],
      ['POST', 'decisions', { type: 'a', title: 'b', proposedBy: 'nobody', riskLevel: 'low' }],
      ['POST', 'provenance/verify'],
      ['GET', 'stats'],
    ];
    for (const [method, path, body] of requests) await send(app, method, `/api/v1/${path}`, { body });
    await send(app, 'GET', '/api/v1/entities', { key: 'a wrong key' });
    expect(await list('order=asc&limit=1000')).toEqual(entries);
  });

  describe('is filtered by', () => {
    const FILTERS = ['entityId', 'agentId', 'subjectId', 'action', 'outcome'] as const;

    it.each(FILTERS)('%s', async (member) => {
      const values = [...new Set(entries.map((entry) => entry[member]))].filter((value) => value !== null);
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) {
        const matches = entries.filter((entry) => entry[member] === value);
        const { body } = await send(app, 'GET', `${AUDIT}?order=asc&limit=1000&${member}=${encodeURIComponent(value)}`);
        expect(body).toEqual({ data: matches, total: matches.length });
      }
    });

    it('actorId: the actions of one key, and those of the service itself', async () => {
      const actors = [...new Set(entries.map(({ actor }) => actor.id))];
      expect(actors).toEqual(expect.arrayContaining(['env', 'service']));
      for (const id of actors) {
        const matches = entries.filter(({ actor }) => actor.id === id);
        const { body } = await send(app, 'GET', `${AUDIT}?order=asc&limit=1000&actorId=${id}`);
        expect(body).toEqual({ data: matches, total: matches.length });
      }
    });

    it.each(['entityId', 'agentId', 'actorId', 'subjectId', 'action'])(
      'any %s, whether known or not',
      async (member) => {
        expect((await send(app, 'GET', `${AUDIT}?${member}=something.else`)).body).toEqual({ data: [], total: 0 });
      },
    );

    it('a valid outcome', async () => {
      const answer = await send(app, 'GET', `${AUDIT}?outcome=refused`);
      expect(faults(answer)).toEqual({ 'query.outcome': 'must be one of success, denied, failed' });
    });

    it('all of them together', async () => {
      const { agentId } = entries.find(({ action }) => action === 'execution.denied') ?? {};
      const matches = await list(`agentId=${agentId}&outcome=denied&action=execution.denied&order=asc`);
      expect(matches).toEqual(entries.filter(({ action }) => action === 'execution.denied'));
    });
  });

  describe('from and to', () => {
    /** The three entities were made at different milliseconds. */
    let times: string[];

    beforeAll(async () => {
      times = [];
      for (let made = 0; made < 3; made += 1) {
        times.push((await createEntity(app)).createdAt);
        await sleep(5);
      }
      entries = await list('order=asc&limit=1000');
    });

    const idsBetween = (from: string, to = '9'): string[] =>
      entries.filter(({ timestamp }) => timestamp >= from && timestamp <= to).map(({ id }) => id);
    const idsFor = async (query: string): Promise<string[]> =>
      (await list(`${query}&order=asc&limit=1000`)).map(({ id }) => id);

    it('are both inclusive', async () => {
      const [first = '', second = '', third = ''] = times;
      expect(await idsFor(`from=${second}`)).toEqual(idsBetween(second));
      expect(await idsFor(`to=${second}`)).toEqual(idsBetween('', second));
      expect(await idsFor(`from=${first}&to=${second}`)).toEqual(idsBetween(first, second));
      expect(await idsFor(`from=${third}&to=${third}`)).toEqual(idsBetween(third, third));
      expect(idsBetween(third, third).length).toBeGreaterThan(0);
    });

    it('accept any offset, lower case, and fractions of any length, of which three digits count', async () => {
      const [, second = ''] = times;
      const shifted = new Date(Date.parse(second) + 5.5 * 3_600_000).toISOString().replace('Z', '');
      const sameTime = [
        `${shifted}%2B05:30`,
        second.replace('Z', '%2B00:00'),
        second.replace('Z', '-00:00'),
        second.replace('Z', '999999Z'),
        second.toLowerCase(),
      ];
      for (const time of sameTime) expect(await idsFor(`from=${time}&to=${time}`)).toEqual(idsBetween(second, second));
    });

    it('interpret a date alone as midnight UTC', async () => {
      const today = new Date().toISOString().slice(0, 10);
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      const midnight = `${today}T00:00:00.000Z`;
      expect(await idsFor(`from=${today}`)).toEqual(idsBetween(midnight));
      expect(await idsFor(`to=${today}`)).toEqual(idsBetween('', midnight));
      expect(await idsFor(`from=2020-02-29&to=${tomorrow}`)).toEqual(entries.map(({ id }) => id));
    });

    it.each([
      ...['2026-11-20T06:18:03', '2026-11-20T06:18Z', '2026-11-20 06:18:03Z', '20261120', '2026-11', '2026-W47-5'],
      ...['2026-02-29', '2026-13-01', '2026-11-20T24:00:00Z', '2026-11-20T06:60:00Z', '2026-11-20T06:18:60Z'],
      ...['2026-11-20T06:18:03+01:00', '2026-11-20T06:18:03%2B1:00', '2026-11-20T06:18:03%2B24:00'],
      ...['1700000000', 'yesterday', '2026-11-20Z', '%202026-11-20', '+2026-11-20', '2026-11-20T06:18:03,5Z'],
    ])('refuse %s', async (time) => {
      expect(Object.keys(faults(await send(app, 'GET', `${AUDIT}?from=${time}`)))).toEqual(['query.from']);
      expect(Object.keys(faults(await send(app, 'GET', `${AUDIT}?to=${time}`)))).toEqual(['query.to']);
    });

    it('explain how to write an offset whose + was lost', async () => {
      const answer = await send(app, 'GET', `${AUDIT}?from=2026-11-20T06:18:03+01:00`);
      expect(faults(answer)['query.from']).toContain('%2B');
    });

    it('refuse an end before the start', async () => {
      const refused = await send(app, 'GET', `${AUDIT}?from=2026-11-20T01:00:00%2B01:00&to=2026-11-19T23:59:59.999Z`);
      expect(faults(refused)).toEqual({ 'query.from': 'must not be later than to' });
      expect((await send(app, 'GET', `${AUDIT}?from=2026-11-20T01:00:00%2B01:00&to=2026-11-20`)).status).toBe(200);
    });
  });
});

describe('The audit trail of an execution', () => {
  it('says that it was interrupted, by the service itself at its next start', async () => {
    const database = await temporaryDatabase();
    const options = { modules: [ActionsModule], environment: database.environment };
    let app = await createTestApp(options);
    try {
      const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['hang'] });
      const policy = await createPolicy(app);
      const resource = { resourceType: 'file', resourceId: 'a' };
      const waiting = send(app, 'POST', `/api/v1/agents/bot/execute`, { body: { action: 'hang', ...resource } });
      while ((await send(app, 'GET', '/api/v1/executions')).body.total === 0) await sleep(5);
      await app.close();
      const { id } = (await waiting).body;
      app = await createTestApp(options);
      const { body } = await send(app, 'GET', `${AUDIT}?subjectId=${id}`);
      expect(body.data[0]).toMatchObject({
        action: 'execution.interrupted',
        actor: { type: 'system', id: 'service' },
        agentId,
        entityId: null,
        subjectType: 'execution',
        outcome: 'failed',
        reason: null,
        details: {
          action: 'hang',
          ...resource,
          policies: [{ id: policy.id, name: policy.name, version: policy.version }],
        },
        requestId: null,
        ip: null,
      });
    } finally {
      await app.close();
      await database.remove();
    }
  });
});
