import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';

type Part = Readonly<Record<string, unknown>>;

const ACTION = { action: { name: 'refund' }, resource: { type: 'order', id: 'o/1' } };
const CONTEXT = { context: { agent: 'shop-bot' } };
const CUSTOMER = { subject: { type: 'customer', id: '4711' } };
const OTHER = { subject: { type: 'team', id: 'x' } };
const ANN = { subject: { type: 'agent', id: 'ann' } };
const YES = [true, null];

describe('An AuthZEN question about an agent and its principal', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const { id: botId } = await createAgent(app, { name: 'shop-bot', capabilities: ['refund', 'close'] });
    await createAgent(app, { name: 'idle-bot', capabilities: [] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const subjects = ['agent:shop-bot', 'agent:idle-bot'];
    await createPolicy(app, { subjects, actions: ['refund'], onBehalfOf: ['customer:*'] });
    await createPolicy(app, { subjects, actions: ['close'], onBehalfOf: ['role:finance'] });
    const bound = async (scopes: string[], principals: string[]): Promise<string> =>
      (await issueKey(app, { scopes, agentId: botId, principals })).secret;
    const keys = {
      execute: await bound(['execute'], ['customer:*', 'role:vip']),
      reading: await bound(['read'], ['customer:*']),
      nobody: await bound(['execute'], []),
    };
    return { app, botId, keys };
  });

  function outcomeOf({ decision, context }: Answer['body']): unknown[] {
    return [decision, context.error?.status ?? context.reason];
  }

  function post(path: string, body: Part, key?: string): Promise<Answer> {
    const question = { ...ACTION, ...CONTEXT, ...body };
    return send(stage.app, 'POST', `/access/v1/${path}`, { body: question, ...(key !== undefined && { key }) });
  }

  /** The answer, which is the same from either endpoint. */
  async function decided(body: Part, key?: string): Promise<unknown[]> {
    const single = await post('evaluation', body, key);
    const listed = await post('evaluations', { ...body, evaluations: [{}] }, key);
    expect([single.status, listed.status]).toEqual([200, 200]);
    expect(listed.body.evaluations).toEqual([single.body]);
    return outcomeOf(single.body);
  }

  async function refused(body: Part, key: string): Promise<void> {
    for (const answer of [
      await post('evaluation', body, key),
      await post('evaluations', { ...CUSTOMER, evaluations: [{}, body] }, key),
    ])
      expect([answer.status, answer.body.error?.reason]).toEqual([403, 'not_this_agent']);
  }

  it('is allowed where a policy meets the principal', async () => {
    for (const agent of ['shop-bot', stage.botId])
      expect(await decided({ ...CUSTOMER, context: { agent } })).toEqual(YES);
    expect(await decided(OTHER)).toEqual([false, 'no_policy_allows']);
    const own = { subject: { type: 'agent', id: 'shop-bot' }, context: {} };
    expect(await decided(own)).toEqual([false, 'no_policy_allows']);
  });

  it('counts the roles of a person, and those that the caller names of others', async () => {
    const closing = { action: { name: 'close' } };
    expect(await decided({ ...closing, ...ANN })).toEqual(YES);
    const withRoles = (roles: string[]): Part => ({ subject: { ...CUSTOMER.subject, properties: { roles } } });
    expect(await decided({ ...closing, ...withRoles(['finance']) })).toEqual(YES);
    expect(await decided({ ...closing, ...withRoles(['sales']) })).toEqual([false, 'no_policy_allows']);
    await send(stage.app, 'POST', '/api/v1/agents/ann/suspend');
    const suspended = await decided({ ...closing, ...ANN });
    await send(stage.app, 'POST', '/api/v1/agents/ann/resume');
    expect(suspended).toEqual([false, 'principal_suspended']);
  });

  it('names an agent that exists and has the capability, and a subject that can be a principal', async () => {
    expect(await decided({ ...CUSTOMER, context: { agent: 'nobody' } })).toEqual([false, 'agent_unknown']);
    expect(await decided({ ...CUSTOMER, context: { agent: 'idle-bot' } })).toEqual([false, 'capability_missing']);
    for (const id of ['nobody', 'shop-bot'])
      expect(await decided({ subject: { type: 'agent', id } })).toEqual([false, 'agent_unknown']);
    // As execute, which refuses these.
    for (const roles of [['finance '], ['fin\u200bance'], ['finance', 'finance']])
      expect(await decided({ subject: { ...CUSTOMER.subject, properties: { roles } } })).toEqual([
        false,
        'subject_invalid',
      ]);
    for (const type of ['role', 'kind', 'principal'])
      expect(await decided({ subject: { type, id: 'x' } })).toEqual([false, 'subject_invalid']);
  });

  it('is asked by a bound key for its own agent, and for principals that it may name', async () => {
    const { execute, reading, nobody } = stage.keys;
    expect(await decided(CUSTOMER, execute)).toEqual(YES);
    for (const subject of [OTHER, ANN]) expect(await decided(subject, execute)).toEqual([false, 'not_this_principal']);
    const withRole = (role: string): Part => ({ subject: { ...CUSTOMER.subject, properties: { roles: [role] } } });
    expect(await decided(withRole('vip'), execute)).toEqual(YES);
    expect(await decided(withRole('finance'), execute)).toEqual([false, 'not_this_principal']);
    expect(await decided(CUSTOMER, nobody)).toEqual([false, 'not_this_principal']);
    for (const agent of ['idle-bot', 'nobody']) await refused({ ...CUSTOMER, context: { agent } }, execute);
    expect(await decided({ ...CUSTOMER, context: { agent: 'idle-bot' } }, reading)).toEqual([
      false,
      'capability_missing',
    ]);
    expect(await decided({ ...OTHER, context: { agent: 'idle-bot' } }, reading)).toEqual([false, 'not_this_principal']);
  });

  it('may name a run', async () => {
    for (const run of ['conversation-1', 'x'.repeat(200)])
      expect(await decided({ ...CUSTOMER, context: { agent: 'shop-bot', run } })).toEqual(YES);
    const answer = await post('evaluation', { ...CUSTOMER, context: { run: 'x'.repeat(201) } });
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('is answered in its place in a list', async () => {
    const evaluations = [
      {},
      OTHER,
      { context: { agent: 'nobody' } },
      { context: {} },
      { context: { agent: 1 } },
      { context: { agent: 'shop-bot', run: '' } },
      { subject: { type: 'principal', id: 'x' } },
      { context: { agent: 'shop-bot', run: 'r' } },
    ];
    const answer = await post('evaluations', { ...CUSTOMER, evaluations });
    const unbound = [YES, [false, 'no_policy_allows'], [false, 'agent_unknown'], [false, 'no_policy_allows']];
    const rest = [[false, 400], [false, 400], [false, 'subject_invalid'], YES];
    expect(answer.body.evaluations.map(outcomeOf)).toEqual([...unbound, ...rest]);
    const bound = await post('evaluations', { ...CUSTOMER, evaluations }, stage.keys.reading);
    const expected = [...unbound, ...rest].with(1, [false, 'not_this_principal']);
    expect(bound.body.evaluations.map(outcomeOf)).toEqual(expected);
  });
});
