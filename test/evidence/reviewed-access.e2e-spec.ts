import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { entryOf, forge } from './forged-file';
import { decisionFileOf, verifyFile } from './verified-file';

describe('The decision file of an agent whose access was reviewed', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const ann = await createAgent(app, { name: 'ann', kind: 'human' });
    await createPolicy(app, { name: 'reads', actions: ['read'] });
    const { secret } = await issueKey(app, { scopes: ['review'], agentId: ann.id });
    const { rules, revision } = (await send(app, 'GET', '/api/v1/agents/bot/access')).body;
    const body = { rules, revision };
    const review = await send(app, 'POST', '/api/v1/agents/bot/access/review', { key: secret, body });
    expect(review.status).toBe(200);
    const requested = { action: 'read', resourceType: 'doc', resourceId: 'a', parameters: {} };
    const executed = await send(app, 'POST', '/api/v1/agents/bot/execute', { body: requested });
    return { app, bot, ann, file: await decisionFileOf(app, executed.body) };
  });

  it('has its last entry, the review, and recomputes', async () => {
    const { app, bot, ann, file } = stage;
    const { audit, subjectId } = entryOf(JSON.parse(file), 'agent.access_reviewed');
    expect([subjectId, audit.agentId, audit.details.reviewedBy]).toEqual([bot.id, bot.id, ann.id]);
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    expect((await verifyFile(file, publicKey)).output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });

  it('recomputes under other rules than those that were reviewed', async () => {
    const { app } = stage;
    await createPolicy(app, { name: 'writes', actions: ['write'] });
    const requested = { action: 'write', resourceType: 'doc', resourceId: 'a', parameters: {} };
    const executed = await send(app, 'POST', '/api/v1/agents/bot/execute', { body: requested });
    const text = await decisionFileOf(app, executed.body);
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    expect((await verifyFile(text, publicKey)).output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });

  it.each([
    ['another revision than the agent had', (audit: Parsed) => (audit.details.revision = 7)],
    ['a detail that reviews do not have', (audit: Parsed) => (audit.details.note = 'x')],
    ['another agent', (audit: Parsed) => (audit.agentId = stage.ann.id)],
  ])('does not recompute with %s', async (_what, change) => {
    const { text, publicKey } = forge(stage.file, (file: Parsed) => {
      change(entryOf(file, 'agent.access_reviewed').audit);
    });
    expect((await verifyFile(text, publicKey)).output).toMatch(/\nDIFFERS: /);
  });
});
