import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntryResponse } from '../../../src/evidence/audit/dto/audit-entry.response';
import { auditOf, chainIsValid, createAgent, createPolicy, propose } from '../../support/application/factories';
import { onServer } from '../../support/database/database-server';
import { lapse, leaseHolders } from '../../support/database/leases';
import { ROOT } from '../../support/documents/markdown';
import type { Answer } from '../../support/application/send';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { describeWhereReachable, REDIS_SERVER } from '../../support/processes/where-reachable';

const MAIN = join(ROOT, 'dist', 'main.js');
const WITH_ACTIONS = join(ROOT, 'test', 'support', 'processes', 'program-with-actions.mjs');
const REPLICAS = 3;

/** Several processes of the built program on one database. */
describe('Replicas', () => {
  let database: TemporaryDatabase;
  let replicas: StartedProgram[];
  const started: StartedProgram[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    replicas = await Promise.all(Array.from({ length: REPLICAS }, () => start(MAIN)));
  });
  afterAll(async () => {
    await Promise.all(started.map((program) => program.stop()));
    await database.remove();
  });

  async function start(main: string): Promise<StartedProgram> {
    const program = await startProgram(main, {
      ...database.environment,
      RATE_LIMIT: '1000000',
      TRUST_PROXY: '1',
      REDIS_URL: `redis://${REDIS_SERVER.host}:${REDIS_SERVER.port}`,
    });
    started.push(program);
    return program;
  }

  function replica(index: number): StartedProgram {
    const program = replicas[index % replicas.length];
    if (program === undefined) throw new Error('No replica was started.');
    return program;
  }

  /** Calls the replicas in turn, as a load balancer does, all at once; `attempt` counts from 0. */
  function spread<Result>(count: number, attempt: (replica: StartedProgram, index: number) => Promise<Result>) {
    return Promise.all(Array.from({ length: count }, (_, index) => attempt(replica(index), index)));
  }

  function createEntity(program: StartedProgram, name: string): Promise<Answer> {
    return program.send('POST', '/api/v1/entities', { body: { type: 'replica', name } });
  }

  function execute(program: StartedProgram, agentId: string, action: string): Promise<Answer> {
    const body = { action, resourceType: 'document', resourceId: 'a' };
    return program.send('POST', `/api/v1/agents/${agentId}/execute`, { body });
  }

  async function entriesOf(action: string): Promise<AuditEntryResponse[]> {
    return (await replica(0).send('GET', `/api/v1/audit?action=${action}&order=asc&limit=1000`)).body.data;
  }

  function statusesOf(answers: readonly Answer[]): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
      if (await isTrue()) return;
      await sleep(200);
    }
    expect(await isTrue()).toBe(true);
  }

  it('give one answer to a request that all of them receive under one idempotency key, and it takes effect once', async () => {
    const body = { name: 'everywhere', roles: ['once'] };
    const headers = { 'Idempotency-Key': 'everywhere' };
    const answers = await spread(24, (program) => program.send('POST', '/api/v1/agents', { body, headers }));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.filter((answer) => !answer.headers.has('idempotent-replayed'))).toHaveLength(1);
    expect((await replica(0).send('GET', '/api/v1/agents?role=once')).body.total).toBe(1);
  });

  it('that start at once on an empty database run each migration once', async () => {
    const { DATABASE_URL } = database.environment;
    const rows = await onServer(
      'SELECT "name", count(*)::int AS "times" FROM "migrations" GROUP BY "name"',
      DATABASE_URL,
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.filter(({ times }) => times !== 1)).toEqual([]);
  });

  it('write one chain without gaps or forks', async () => {
    const answers = await spread(150, (program, index) => createEntity(program, `entity ${index}`));
    expect(statusesOf(answers)).toEqual({ 201: 150 });
    const entries = (await replica(1).send('GET', '/api/v1/provenance?limit=1000')).body.data;
    expect(entries.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
      Array.from({ length: entries.length }, (_, index) => index + 1),
    );
    const verifications = await spread(REPLICAS, (program) => program.send('POST', '/api/v1/provenance/verify'));
    for (const { body } of verifications) {
      expect(body).toMatchObject({ valid: true, entriesVerified: entries.length, brokenLinks: 0, invalidHashes: 0 });
    }
  });

  it('let a name be used once', async () => {
    const answers = await spread(24, (program) =>
      program.send('POST', '/api/v1/agents', { body: { name: 'contested' } }),
    );
    expect(statusesOf(answers)).toEqual({ 201: 1, 409: 23 });
  });

  it('settle a decision once', async () => {
    const proposer = await createAgent(replica(0), { name: 'proposer' });
    const approver = await createAgent(replica(1), { name: 'approver' });
    for (let round = 0; round < 5; round += 1) {
      const { id } = await propose(replica(round), proposer.id);
      const answers = await spread(12, (program, index) =>
        index % 2 === 0
          ? program.send('POST', `/api/v1/decisions/${id}/approve`, { body: { approverId: approver.id } })
          : program.send('POST', `/api/v1/decisions/${id}/reject`, {}),
      );
      expect(statusesOf(answers)).toEqual({ 200: 1, 409: 11 });
      const settled = await spread(REPLICAS, (program) => program.send('GET', `/api/v1/decisions/${id}`));
      expect(new Set(settled.map(({ body }) => body.status)).size).toBe(1);
    }
  });

  it('settle what expires with one entry', async () => {
    const { id: proposer } = await createAgent(replica(0), { name: 'late' });
    const expiresAt = new Date(Date.now() + 3_000).toISOString();
    const decisions = await spread(30, (program) => propose(program, proposer, { expiresAt }));
    await until(async () => (await entriesOf('decision.expired')).length >= decisions.length);
    // The others find them settled.
    await sleep(1_500);
    const expired = await entriesOf('decision.expired');
    expect(expired.map(({ subjectId }) => subjectId).sort()).toEqual(decisions.map(({ id }) => id).sort());
  });

  it('apply a policy from its commit on, whichever replica created it', async () => {
    const { id: agent } = await createAgent(replica(0), { name: 'reader', capabilities: ['read'] });
    for (let round = 0; round < 8; round += 1) {
      const effect = round % 2 === 0 ? 'allow' : 'deny';
      await createPolicy(replica(round), { name: 'turns', version: String(round), effect, actions: ['read'] });
      const answers = await spread(REPLICAS, (program) => execute(program, agent, 'read'));
      expect(statusesOf(answers)).toEqual({ [effect === 'allow' ? 200 : 403]: REPLICAS });
    }
  });

  it('authorise nothing after a denial in the chain, under load', async () => {
    const { id: agent } = await createAgent(replica(0), { name: 'busy', capabilities: ['race'] });
    await createPolicy(replica(1), { name: 'race', version: '1', actions: ['race'] });
    const load = spread(120, (program) => execute(program, agent, 'race'));
    await sleep(50);
    const denial = await createPolicy(replica(2), { name: 'race', version: '2', effect: 'deny', actions: ['race'] });
    const late = await spread(30, (program) => execute(program, agent, 'race'));
    expect(statusesOf(late)).toEqual({ 403: 30 });
    await load;
    const [created] = await auditOf(replica(0), denial.id);
    const [authorized, denied] = await Promise.all(['execution.authorized', 'execution.denied'].map(entriesOf));
    const ofAgent = (entries: AuditEntryResponse[] = []): number[] =>
      entries.filter(({ agentId }) => agentId === agent).map(({ sequence }) => sequence);
    expect(Math.max(0, ...ofAgent(authorized))).toBeLessThan(created?.sequence ?? 0);
    expect(Math.min(...ofAgent(denied))).toBeGreaterThan(created?.sequence ?? Infinity);
  });

  it('lose nothing acknowledged when one of them is killed under load', async () => {
    const acknowledged: string[] = [];
    const failed: number[] = [];
    const victim = REPLICAS - 1;
    let isOver = false;
    const write = async (program: StartedProgram, index: number): Promise<void> => {
      while (!isOver) {
        const answer = await createEntity(program, 'under load').catch(() => null);
        if (answer?.status === 201) acknowledged.push(answer.body.id);
        else if (index % REPLICAS === victim) return;
        else failed.push(answer?.status ?? 0);
      }
    };
    const writers = spread(REPLICAS * 4, write);
    await until(async () => acknowledged.length > 100);
    await replica(victim).stop('SIGKILL');
    const atTheKill = acknowledged.length;
    await until(async () => acknowledged.length > atTheKill + 100);
    isOver = true;
    await writers;
    replicas.splice(victim, 1);
    expect(failed).toEqual([]);
    const ids = new Set<string>();
    for (let cursor = ''; ;) {
      const path = cursor === '' ? '/api/v1/entities?type=replica&limit=1000' : `/api/v1/entities?cursor=${cursor}`;
      const { body } = await replica(1).send('GET', path);
      body.data.forEach(({ id }: { id: string }) => ids.add(id));
      if (body.nextCursor === undefined) break;
      cursor = encodeURIComponent(body.nextCursor);
    }
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    await chainIsValid(replica(0));
    const { body: counts } = await replica(0).send('GET', '/api/v1/stats');
    expect(counts.entities).toBe(ids.size);
  });

  it('mark what a killed one was running, but not what another runs', async () => {
    const { DATABASE_URL } = database.environment;
    const before = await leaseHolders(DATABASE_URL);
    const killed = await start(WITH_ACTIONS);
    const ofKilled = (await leaseHolders(DATABASE_URL)).filter((id) => !before.includes(id));
    const living = await start(WITH_ACTIONS);
    replicas.push(living);
    const { id: agent } = await createAgent(living, { name: 'hanging', capabilities: ['hang'] });
    await createPolicy(living, { name: 'hang', actions: ['hang'] });
    const hanging = [killed, living].map((program) => execute(program, agent, 'hang').catch(() => null));
    const running = async () => (await living.send('GET', '/api/v1/executions?outcome=running')).body.data;
    await until(async () => (await running()).length === 2);
    await killed.stop('SIGKILL');
    const next = await start(MAIN);
    replicas.push(next);
    await lapse(DATABASE_URL, ofKilled);
    await until(async () => (await running()).length === 1);
    const interrupted = await entriesOf('execution.interrupted');
    expect(interrupted).toMatchObject([{ actor: { type: 'system' }, agentId: agent, outcome: 'failed' }]);
    await sleep(6_000);
    expect(await running()).toHaveLength(1);
    expect(await entriesOf('execution.interrupted')).toHaveLength(1);
    await living.stop('SIGKILL');
    replicas.splice(replicas.indexOf(living), 1);
    await Promise.all(hanging);
    const [left] = await onServer(`SELECT "runBy" FROM "executions" WHERE "outcome" = 'running'`, DATABASE_URL);
    await lapse(DATABASE_URL, [String(left?.['runBy'])]);
    await until(async () => (await entriesOf('execution.interrupted')).length === 2);
    await chainIsValid(next);
  });

  describeWhereReachable([REDIS_SERVER], 'with Redis', () => {
    it('count the requests of a client together', async () => {
      const headers = {
        'X-Forwarded-For': `2001:db8:${process.pid.toString(16)}:${(Date.now() % 65_536).toString(16)}::1`,
      };
      const remaining: number[] = [];
      for (let index = 0; index < 6; index += 1) {
        const answer = await replica(index).send('GET', '/api/v1/stats', { headers });
        remaining.push(Number(answer.headers.get('x-ratelimit-remaining')));
      }
      expect(remaining).toEqual([1, 2, 3, 4, 5, 6].map((count) => 1_000_000 - count));
    });
  });
});
