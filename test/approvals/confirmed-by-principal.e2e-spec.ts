import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { decisionFileOf, verifyFile } from '../evidence/verified-file';
import { approve, ask, company, DECISIONS, order, pending, resume } from './support';

const APPROVERS = [{ subjects: ['principal'] }, { subjects: ['agent:zoe', 'role:finance'] }];

describe('An approval by the principal', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const people = await company(app);
    const zoe = await createAgent(app, { name: 'zoe', kind: 'human' });
    const policy = await createPolicy(app, {
      effect: 'require_approval',
      actions: ['refund'],
      approval: { approvers: APPROVERS },
    });
    return { app, people, zoe, policy };
  });

  it('is requested from the person on whose behalf the agent acts, and recomputed', async () => {
    const { app, people, zoe, policy } = stage;
    expect(policy).toMatchObject({ warnings: [], approval: { approvers: APPROVERS } });
    const onBehalfOf = { subject: 'agent:zoe' };
    const request = await pending(app, people.bot, { ...order(), onBehalfOf });
    const path = `${DECISIONS}/${String(request.decisionId)}`;
    const { approvers } = (await send(app, 'GET', path)).body;
    expect(approvers[0]).toEqual({ subjects: [`agent:${zoe.id}`], approvals: 1, given: 0 });
    // A later request gets the same execution, since the principal stands for the same person.
    expect((await ask(app, people.bot, { resourceId: request.resourceId, onBehalfOf })).body.id).toBe(request.id);
    expect((await approve(app, request.decisionId, people.ann)).body.status).toBe('proposed');
    expect((await approve(app, request.decisionId, zoe)).body.status).toBe('approved');
    expect((await resume(app, request.id)).body.outcome).toBe('authorized');
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    const { exitCode, output } = await verifyFile(await decisionFileOf(app, request), publicKey);
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining(`1 of agent:${zoe.id}`) });
  });

  it('is what evaluate says, and one group where another names that person', async () => {
    const { app, zoe } = stage;
    const approval = { approvers: [{ subjects: [`agent:${zoe.id}`] }, { subjects: ['principal'], approvals: 2 }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['send'], approval });
    const question = { agent: 'bot', action: 'send', resourceType: 'document', resourceId: 'a', parameters: {} };
    const body = { ...question, onBehalfOf: { subject: `agent:${zoe.id}` } };
    const { approval: required } = (await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body;
    expect(required.approvers).toEqual([{ subjects: [`agent:${zoe.id}`], approvals: 2 }]);
  });

  it.each([
    ['nobody', {}],
    ['somebody who is not registered', { onBehalfOf: { subject: 'user:zoe' } }],
  ])('cannot be given where the agent acts for %s', async (_whom, behalf) => {
    const { app, people } = stage;
    const principal = await createAgent(app, { name: 'principal', kind: 'human' }).catch(() => null);
    const request = await pending(app, people.bot, { ...order(), ...behalf });
    const { body } = await send(app, 'GET', `${DECISIONS}/${String(request.decisionId)}/approvers`);
    expect(body).toMatchObject({ feasible: false });
    if (principal !== null) expect((await approve(app, request.decisionId, principal)).status).toBe(403);
  });
});
