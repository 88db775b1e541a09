import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../support/application/api-key';
import { policySetOf } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { startCommand } from '../support/processes/started-program';
import { MAIN } from './support/served-database';

/** Less memory than the image gives the service. */
const FLAGS = ['--max-semi-space-size=32', '--max-old-space-size=256'];
const TIMES = 2;
/** Kibibytes that the service may ever have held, as the system counts them. */
const MAX_RESIDENT_KIB = 512 * 1024;

const RULES = { version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

function texts(prefix: string, count = 100): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`);
}

/** Bodies of plans that ended the process, as large as they were and as large as they may be now. */
const ATTACKS: readonly [what: string, statuses: readonly number[], body: () => object][] = [
  ['tests with millions of empty lists', [400], () => testsOf(2_600)],
  ['tests with as many empty lists as a body may have', [200], () => testsOf(450)],
  ['a million patterns that overlap', [400, 409], () => overlapping(2_500)],
  ['as many patterns that overlap as may be in force', [200], () => overlapping(250)],
  ['many policies that each name what others name', [200, 409], () => ({ policies: crossed(10_000) })],
];

function testsOf(lists: number): object {
  const parameters = { a: Array.from({ length: lists }, () => []) };
  const test = { subject: {}, action: 'a', resourceType: 'b', resourceId: 'c', parameters, expect: 'deny' };
  return { policies: [], tests: Array.from({ length: 1_000 }, () => test) };
}

function overlapping(count: number): object {
  return {
    policies: Array.from({ length: count }, (_, index) => ({
      ...{ ...RULES, name: `p${index}`, effect: index % 2 === 0 ? 'deny' : 'allow', priority: index % 7 },
      ...{ subjects: texts('role:r'), actions: texts(`a${index % 5}`), resources: texts('r/') },
      resourceTypes: texts('t'),
      conditions: [{ parameter: `/p${index}`, op: 'eq', value: index }],
    })),
  };
}

function crossed(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ ...RULES, name: `q${index}`, effect: index % 3 === 0 ? 'deny' : 'allow', priority: index % 11 },
    ...{ actions: texts(`${index % 50}-`, 3), resources: [`x/${index % 97}/*`, `x/${index % 89}/y/${index}`] },
  }));
}

/** Names, or versions of one name, whose policies are out of force and have a megabyte each. */
const LARGE = 60;
/** A tenth of the old versions fits. */
const FLAGS_BESIDE_LARGE = ['--max-semi-space-size=8', '--max-old-space-size=96'];
const LARGE_CONDITION = {
  parameter: '/to',
  op: 'in',
  value: Array.from({ length: 95 }, (_, at) => `${at}`.repeat(5_000)),
};

describe('The service with little memory', () => {
  it('compares a set with old versions of any number and size', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plan-memory-'));
    const environment = {
      DATABASE_URL: `sqlite:${join(folder, 'governance.db')}`,
      LOG_LEVEL: 'fatal',
      RATE_LIMIT: '100000',
    };
    const program = await startCommand(process.execPath, [...FLAGS_BESIDE_LARGE, MAIN], folder, environment);
    const post = (path: string, body: object): Promise<Answer> =>
      send(program, 'POST', `/api/v1/policies${path}`, { body });
    const old = Array.from({ length: LARGE }, (_, at) => [
      { ...RULES, name: 'of-one-name', version: `${at}` },
      { ...RULES, name: `name-${at}`, version: '1' },
    ]).flat();
    try {
      for (const policy of old) {
        const created = await post('', { ...policy, conditions: [LARGE_CONDITION] });
        expect(created.status).toBe(201);
        expect((await post(`/${created.body.id}/deactivate`, {})).status).toBe(200);
      }
      const added = await post('/plan', { policies: [{ ...RULES, name: 'of-one-name', version: 'new' }] });
      expect(added.status).toBe(200);
      const others = old.filter(({ name }) => name !== 'of-one-name');
      const base = await policySetOf(program);
      for (const differing of [
        await post('/plan', { policies: others }),
        await post('/apply', { base, policies: others }),
      ]) {
        expect(differing.status).toBe(400);
        expect(Object.keys(faults(differing))).toEqual(others.map((_, at) => `policies[${at}].conditions`));
      }
      expect(await program.stop()).toBe(0);
    } finally {
      await program.stop('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.each(ATTACKS)('survives plans of %s, several times each', async (_what, statuses, body) => {
    const folder = mkdtempSync(join(tmpdir(), 'plan-memory-'));
    const program = await startCommand(process.execPath, [...FLAGS, MAIN], folder, {
      DATABASE_URL: `sqlite:${join(folder, 'governance.db')}`,
      LOG_LEVEL: 'fatal',
      PLAN_TIMEOUT: '3000',
    });
    try {
      const text = JSON.stringify(body());
      for (let time = 0; time < TIMES; time += 1) {
        const { status } = await fetch(`${program.url}/api/v1/policies/plan`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-API-Key': API_KEY },
          body: text,
        }).catch((error: unknown) => {
          const { exitCode, signalCode } = program.process;
          throw new Error(`No answer (${exitCode ?? signalCode ?? 'running'}): ${program.printed()}`, { cause: error });
        });
        expect(statuses).toContain(status);
      }
      const resident = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.process.pid}/status`, 'utf8'))?.[1];
      expect(Number(resident)).toBeLessThanOrEqual(MAX_RESIDENT_KIB);
      expect(await program.stop()).toBe(0);
    } finally {
      await program.stop('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
