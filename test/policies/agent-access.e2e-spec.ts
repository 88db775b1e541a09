import type { PlannedPolicy } from '../../src/governance/policy-plans/effects/planned-match';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import {
  ACTIONS,
  type AgentRequest,
  AT,
  IDS,
  lettingOf,
  PARAMETERS,
  regionsOf,
  TYPES,
} from '../support/oracles/plan-oracle';
import { Random, randomPolicies } from '../support/oracles/random-policies';

/** Number of random sets of policies, half of them under each default effect; ACCESS_SETS=1000 is the full test. */
const SETS = Number(process.env['ACCESS_SETS'] ?? 10);
const REQUESTS = 100;
/** An answer is asked for again, as of then, so many sets later. */
const LATER = 3;
const CAPABILITIES = ['*', 'send-*', 'send-mail*', 'send-mail', 's*', 'read', 'x', 'y', 'nothing'];
jest.setTimeout(300_000 + 2_000 * SETS);

interface EarlierAnswer {
  readonly path: string;
  readonly sequence: number;
  readonly access: Parsed;
}

describe.each(['deny', 'allow'])('The access of an agent, with the default effect %s', (POLICY_DEFAULT_EFFECT) => {
  let app: TestApp;
  let agents: readonly { readonly id: string; readonly name: string }[];

  beforeAll(async () => {
    app = await createTestApp({ environment: { POLICY_DEFAULT_EFFECT, RATE_LIMIT: '100000000' } });
    agents = await Promise.all([
      createAgent(app, { name: 'bot' }),
      createAgent(app, { name: 'ann', kind: 'human', roles: ['r'] }),
    ]);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function request(method: string, path: string, body?: object): Promise<Parsed> {
    const answer = await send(app, method, `/api/v1/${path}`, body === undefined ? {} : { body });
    expect([path, answer.status, answer.body.error]).toEqual([path, 200, undefined]);
    return answer.body;
  }

  async function apply(policies: readonly PlannedPolicy[], version: string): Promise<void> {
    const target = { policies: policies.map((policy) => bodyOf(policy, version)), prune: true };
    const { base } = await request('POST', 'policies/plan', target);
    await request('POST', 'policies/apply', { ...target, base });
  }

  const headSequence = async (): Promise<number> => (await request('GET', 'audit?limit=1')).data[0].sequence;

  it('is what evaluate answers, and as of then what it was', async () => {
    const earlier: EarlierAnswer[] = [];
    let regionCount = 0;
    for (let seed = 1; seed <= SETS / 2; seed += 1) {
      const random = new Random(seed + (POLICY_DEFAULT_EFFECT === 'allow' ? 1_000_000 : 0));
      const policies = randomPolicies(random);
      await apply(policies, String(seed));
      const { id } = random.of(agents);
      const capabilities = [...new Set(random.some(CAPABILITIES))];
      const roles = [...new Set(random.below(2) === 0 ? [] : random.some(['r', 's']))];
      await request('PATCH', `agents/${id}`, { capabilities, roles, description: String(seed) });
      const path = `agents/${id}/access`;
      const access = await request('GET', path);
      regionCount += [...access.allowed, ...access.withApproval].length;
      const faults = await faultsOf(
        random,
        id,
        access,
        policies.map((policy) => ({ ...policy, version: String(seed) })),
      );
      expect({ seed, complete: access.complete, faults }).toEqual({ seed, complete: true, faults: [] });
      earlier.push({ path, sequence: await headSequence(), access });
      const past = earlier.at(-LATER);
      if (past !== undefined)
        expect({ seed, access: await request('GET', `${past.path}?asOf=${past.sequence}`) }).toEqual({
          seed,
          access: past.access,
        });
    }
    expect(regionCount).toBeGreaterThan(SETS / 2);
  });

  /** Requests that are in a region of another effect than evaluate answers, or in two. */
  async function faultsOf(
    random: Random,
    agent: string,
    access: Parsed,
    policies: readonly PlannedPolicy[],
  ): Promise<unknown[]> {
    const letting = lettingOf(policies);
    const regions = [...access.allowed, ...access.withApproval].map((region: object) => ({
      ...region,
      subjects: [agent],
    }));
    const requests = Array.from({ length: REQUESTS }, () => ({
      ...{ action: random.of([...ACTIONS, 'nothing']), resourceType: random.of(TYPES), resourceId: random.of(IDS) },
      parameters: random.of(PARAMETERS),
    }));
    const { results } = await request('POST', 'policies/evaluate', { agent, requests });
    return requests.flatMap((requested, index) => {
      const subject = { agentId: agent } as AgentRequest['subject'];
      const regionEffects = regionsOf({ ...requested, subject, at: AT }, regions as never, letting).map(
        ({ to }) => to.effect,
      );
      const { effect } = results[index];
      const expected = effect === 'deny' ? [] : [effect];
      return JSON.stringify(regionEffects) === JSON.stringify(expected) ? [] : { requested, effect, regionEffects };
    });
  }
});

function bodyOf(policy: PlannedPolicy, version: string): object {
  const { name, effect, subjects, actions, resources, resourceTypes, priority, conditions, approval } = policy;
  const [of, to, on, types] = [subjects, actions, resources, resourceTypes].map((texts) => [...new Set(texts)]);
  const patterns = { subjects: of, actions: to, resources: on, resourceTypes: types };
  return { name, version, effect, ...patterns, priority, conditions, approval };
}
