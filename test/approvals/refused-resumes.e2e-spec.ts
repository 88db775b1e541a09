import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, type Parsed, send } from '../support/application/send';
import { approved, company, EXECUTIONS, execution, requireApproval, resume, type Company } from './support';

/** An approved execution, and what a test needs of it. */
interface ApprovedExecution {
  readonly id: string;
  readonly people: Company;
  readonly place: { readonly resourceId: string };
}

/** Prepares a resume that is going to be refused, and sends it. */
type Attempt = (approvedOne: ApprovedExecution) => Promise<() => Promise<Answer>>;

describe('A resume is refused', () => {
  let app: TestApp;
  let number = 0;

  beforeAll(async () => {
    app = await createTestApp();
    await requireApproval(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const keyed = (id: string, key: string): Promise<Answer> => send(app, 'POST', `${EXECUTIONS}/${id}/resume`, { key });
  const postTo = (path: string): Promise<Answer> => send(app, 'POST', `/api/v1/${path}`);
  const entries = async (): Promise<Parsed[]> =>
    (await send(app, 'GET', '/api/v1/audit?order=asc&limit=1000')).body.data;

  const CASES: readonly [
    what: string,
    attempt: Attempt,
    status: number,
    explanation: string,
    written: readonly object[],
  ][] = [
    [
      'a second time',
      async ({ id }) => {
        await resume(app, id);
        return () => resume(app, id);
      },
      409,
      'The execution is authorized; only one that is approved can be resumed.',
      [],
    ],
    [
      'after it was cancelled',
      async ({ id }) => {
        await postTo(`executions/${id}/cancel`);
        return () => resume(app, id);
      },
      409,
      'The execution is cancelled; only one that is approved can be resumed.',
      [],
    ],
    [
      'after a new deny',
      async ({ id, people, place }) => {
        const subjects = [people.bot.id];
        await createPolicy(app, { effect: 'deny', subjects, resources: [place.resourceId] });
        return () => resume(app, id);
      },
      403,
      'policy_denied',
      [{ action: 'execution.resume_denied', reason: 'policy_denied' }],
    ],
    [
      'by a suspended agent',
      async ({ id, people }) => {
        await postTo(`agents/${people.bot.id}/suspend`);
        return () => resume(app, id);
      },
      403,
      'agent_suspended',
      [{ action: 'execution.resume_denied', reason: 'agent_suspended' }],
    ],
    [
      'by an agent that has lost the capability',
      async ({ id, people }) => {
        await send(app, 'PATCH', `/api/v1/agents/${people.bot.id}`, { body: { capabilities: [] } });
        return () => resume(app, id);
      },
      403,
      'capability_missing',
      [{ action: 'execution.resume_denied', reason: 'capability_missing' }],
    ],
    [
      'when other approvers are required meanwhile',
      async ({ id, people, place }) => {
        const rules = { subjects: [people.bot.id], resources: [place.resourceId] };
        await requireApproval(app, { approvers: [{ subjects: ['role:security'] }] }, rules);
        return () => resume(app, id);
      },
      403,
      'approval_insufficient',
      [{ action: 'execution.resume_denied', reason: 'approval_insufficient' }],
    ],
    [
      "by another agent's key that may read",
      async ({ id, people }) => {
        const { secret } = await issueKey(app, { agentId: people.ann.id, scopes: ['execute', 'read'] });
        return () => keyed(id, secret);
      },
      403,
      'not_this_agent',
      [{ action: 'access.denied', reason: 'not_this_agent' }],
    ],
    [
      "by another agent's key that sees its own alone",
      async ({ id, people }) => {
        const { secret } = await issueKey(app, { agentId: people.eve.id, scopes: ['execute'] });
        return () => keyed(id, secret);
      },
      404,
      'The execution was not found.',
      [],
    ],
    [
      'by a key without the scope',
      async ({ id, people }) => {
        const { secret } = await issueKey(app, { agentId: people.bot.id, scopes: ['read', 'review'] });
        return () => keyed(id, secret);
      },
      403,
      'scope_missing',
      [{ action: 'access.denied', reason: 'scope_missing' }],
    ],
    [
      'by a revoked key',
      async ({ id, people }) => {
        const key = await issueKey(app, { agentId: people.bot.id, scopes: ['execute'] });
        await postTo(`api-keys/${key.id}/revoke`);
        return () => keyed(id, key.secret);
      },
      401,
      'A valid key or token is required',
      [],
    ],
  ];

  async function approvedOne(): Promise<ApprovedExecution> {
    number += 1;
    const people = await company(app, `-${number}`);
    const place = { resourceId: `orders/${number}` };
    return { id: (await approved(app, people, place)).id, people, place };
  }

  it.each(CASES)('%s', async (_what, attempt, status, explanation, written) => {
    const one = await approvedOne();
    const refused = await attempt(one);
    const [before, { outcome }] = [await entries(), await execution(app, one.id)];
    const answer = await refused();
    expect(answer.status).toBe(status);
    const { reason, message } = answer.body.error;
    if (status === 403) expect(reason).toBe(explanation);
    else expect(message).toContain(explanation);
    expect((await entries()).slice(before.length)).toEqual(
      written.map((entry) => expect.objectContaining({ ...entry, outcome: 'denied' })),
    );
    expect((await execution(app, one.id)).outcome).toBe(outcome);
  });

  it('at or after `approvedUntil`, and the expiry is on record', async () => {
    number += 1;
    const people = await company(app, `-${number}`);
    const place = { resourceId: `orders/${number}` };
    await requireApproval(app, { executeWithin: 'PT1S' }, { resources: [place.resourceId] });
    const { id } = await approved(app, people, place);
    await sleep(1_000);
    const before = await entries();
    const answer = await resume(app, id);
    expect(answer.status).toBe(409);
    expect(answer.body.error.message).toMatch(/expired|ended at/);
    const newEntries = (await entries()).slice(before.length);
    // The service may have recorded the expiry by itself meanwhile.
    expect(newEntries.every(({ action }) => action === 'execution.expired')).toBe(true);
    expect((await execution(app, id)).outcome).toBe('expired');
  });

  it('for parameters other than the approved ones: that is another request', async () => {
    const { people, place, id } = await approvedOne();
    const body = { action: 'refund', resourceType: 'payment', ...place, parameters: { amount: 81 } };
    const answer = await send(app, 'POST', `/api/v1/agents/${people.bot.name}/execute`, { body });
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'pending_approval' } });
    expect(answer.body.id).not.toBe(id);
    expect((await resume(app, answer.body.id)).status).toBe(409);
    expect((await resume(app, id)).body.parameters).toEqual({ amount: 80 });
  });
});
