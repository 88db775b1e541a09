import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, issueKey } from '../support/application/factories';
import { type Answer, send, type Sent } from '../support/application/send';

/** A service that answers at an address, whatever process it runs in. */
type ServedApp = Pick<TestApp, 'url'>;

/** A person and its key. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly key: string;
}

export const FOUR_EYES = { FOUR_EYES: 'true' };

/** Registers a person with a key. Before there are two of them, one person is enough for this. */
export async function register(
  app: ServedApp,
  name: string,
  {
    roles = [],
    scopes = ['review', 'propose', 'read'],
  }: { roles?: readonly string[]; scopes?: readonly string[] } = {},
): Promise<Person> {
  const { id } = await createAgent(app, { name, kind: 'human', capabilities: [], roles });
  const { secret: key } = await issueKey(app, { name, scopes, agentId: id });
  return { id, name, key };
}

/** An application in which two changes of three people need a second person. */
export interface ChangeStage {
  readonly app: TestApp;
  readonly ada: Person;
  readonly ben: Person;
  readonly cyd: Person;
}

interface ChangeStageOptions {
  /** The scopes of the third person. */
  readonly scopes?: readonly string[];
  /** Prepares what one person alone can do before there are two reviewers. */
  readonly prepare?: (app: TestApp) => Promise<unknown>;
}

/** Three people, of whom the third may change policies and agents, and review nothing. */
export async function startChanges(
  environment: Readonly<Record<string, string>> = {},
  { scopes = ['policies', 'agents'], prepare }: ChangeStageOptions = {},
): Promise<ChangeStage> {
  const app = await createTestApp({ environment: { ...FOUR_EYES, RATE_LIMIT: '1000000', ...environment } });
  await prepare?.(app);
  return { app, ...(await registerThree(app, scopes)) };
}

/** Registers the people of a stage. */
export async function registerThree(
  app: ServedApp,
  scopes: readonly string[] = ['policies', 'agents'],
): Promise<Omit<ChangeStage, 'app'>> {
  const cyd = await register(app, 'cyd', { scopes });
  const ada = await register(app, 'ada');
  const ben = await register(app, 'ben');
  return { ada, ben, cyd };
}

let policies = 0;

/** A policy that differs from all others. */
export function newPolicy(): Readonly<Record<string, unknown>> {
  policies += 1;
  return {
    name: `held-${policies}`,
    version: '1',
    effect: 'allow',
    subjects: ['*'],
    actions: ['look'],
    resources: ['*'],
  };
}

export function approve(app: ServedApp, decisionId: string, { key, id }: Person): Promise<Answer> {
  return send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { key, body: { approverId: id } });
}

/** Proposes a change and has people approve it; returns the id of its decision. */
export async function approvedChange(
  app: TestApp,
  request: readonly [method: string, path: string, sent: Sent],
  approvers: readonly Person[],
): Promise<string> {
  const [method, path, sent] = request;
  const proposed = await send(app, method, path, sent);
  expect([proposed.status, proposed.text]).toEqual([202, expect.any(String)]);
  const id = String(proposed.body.id);
  for (const person of approvers) expect((await approve(app, id, person)).status).toBe(200);
  return id;
}

/** The header with which an approved change is made. */
export function changeHeader(decisionId: string): { headers: Record<string, string> } {
  return { headers: { Change: decisionId } };
}
