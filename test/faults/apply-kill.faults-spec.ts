import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainIsValid } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import type { Parsed } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { randomFor } from './support/random';
import { ROUNDS as ROUNDS_OF_ALL, roundsTimeLimit } from './support/rounds';

const ROUNDS = Math.ceil(ROUNDS_OF_ALL / 2);
const POLICIES = 100;
const MAX_ROUND_MS = 20_000;
const RULES = { effect: 'allow', subjects: ['*'], actions: ['read'] };

describe('kill -9 while a set of policies is applied', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;

  beforeAll(async () => {
    database = await temporaryDatabase();
    await start();
  });
  afterAll(async () => {
    await program.stop();
    await database.remove();
  });

  async function start(): Promise<void> {
    program = await startProgram(join(ROOT, 'dist', 'main.js'), database.environment);
  }

  /** The version that all policies have: either that of the previous set or that of the new one, never a mixture. */
  async function versionInForce(): Promise<{ version: string; policySet: string }> {
    const { data, total } = (await program.send('GET', `/api/v1/policies?status=active&limit=${POLICIES}`)).body;
    const versions = new Set<string>(data.map(({ version }: Parsed) => version));
    expect({ total, versions: [...versions] }).toEqual({ total: POLICIES, versions: [expect.any(String)] });
    const { base } = (await program.send('POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
    const [version = ''] = versions;
    return { version, policySet: base };
  }

  /** True if the answer confirmed it; false if the process was gone before. */
  async function apply(base: string, version: string): Promise<boolean> {
    // Each set has different names, so that some policies are deactivated and others activated.
    const policies = Array.from({ length: POLICIES }, (_, index) => {
      const name = index % 2 === 0 ? `policy-${index}` : `policy-${index}-${version}`;
      return { ...RULES, name, version, resources: [`area-${index}/*`] };
    });
    const body = { base, policies, prune: true };
    const answer = await program.send('POST', '/api/v1/policies/apply', { body }).catch(() => null);
    if (answer !== null) expect(answer.status).toBe(200);
    return answer !== null;
  }

  it(
    `leaves all of it or nothing, in ${ROUNDS} rounds`,
    async () => {
      const random = randomFor('apply');
      const empty = (await program.send('POST', '/api/v1/policies/plan', { body: { policies: [] } })).body.base;
      const begun = performance.now();
      expect(await apply(empty, '0')).toBe(true);
      const usual = performance.now() - begun;
      for (let round = 1; round <= ROUNDS; round += 1) {
        const before = await versionInForce();
        const applying = apply(before.policySet, `${round}`);
        await sleep(random.below(Math.ceil(usual)));
        await program.stop('SIGKILL');
        const isAnswered = await applying;
        await start();
        const after = await versionInForce();
        if (isAnswered) expect(after.version).toBe(`${round}`);
        else expect([before.version, `${round}`]).toContain(after.version);
        expect(after.policySet === before.policySet).toBe(after.version === before.version);
        await chainIsValid(program);
      }
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );
});
