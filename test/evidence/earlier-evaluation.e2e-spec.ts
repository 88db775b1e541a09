import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const DOMAIN = { parameter: '/to', op: 'domain', value: ['acme.example'] };
const OWN = { resource: 'last', op: 'ne', value: 'ann@acme.example' };

describe('The verifier, on what the rules before the fourth version of them decided', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createPolicy(app, { name: 'mails', actions: ['send'], conditions: [DOMAIN] });
    await createPolicy(app, { name: 'others', actions: ['read'], conditions: [OWN] });
    const post = async (action: string, resourceId: string, to: string): Promise<Parsed> => {
      const body = { action, resourceType: 'mail', resourceId, parameters: { to } };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const executions = {
      send: await post('send', 'mails/1', 'ann@acme.example'),
      read: await post('read', 'mailboxes/bob', ''),
    };
    const { log } = await keyAndLog(app);
    return { app, executions, log };
  });

  it.each<[what: string, action: 'send' | 'read', change: (state: Parsed) => void]>([
    ['an address with a path before its @', 'send', (state) => (state.parameters.to = 'evil.example/x@acme.example')],
    ['another spelling of the resource', 'read', (state) => (state.resourceId = 'mailboxes/ann%40acme.example')],
  ])('recomputes %s by the rules that it names', async (_what, action, change) => {
    const { app, executions, log } = stage;
    const outputOf = async (evaluation: number): Promise<string> => {
      const file = JSON.parse(await decisionFileOf(app, executions[action]));
      for (const rules of file.rules) rules.evaluation = evaluation;
      const { text, publicKey } = forgeLog({ text: JSON.stringify(file), log }, (entries) => {
        for (const { subjectId, state, audit } of entries) {
          if (subjectId !== executions[action].id) continue;
          change(state);
          const { agentId, resourceType, resourceId, parameters } = state;
          state.actionHash = canonicalHash({ agentId, action, resourceType, resourceId, parameters });
          audit.details.resourceId = resourceId;
        }
        return entries;
      });
      return (await verifyFile(text, publicKey)).output;
    };
    expect(await outputOf(3)).toMatch(/\nRECOMPUTED/);
    expect(await outputOf(4)).toMatch(/\nDIFFERS/);
  });
});
