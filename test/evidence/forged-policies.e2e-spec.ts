import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { entryOf } from './forged-file';
import { entriesOf, exportOf, sealEntries } from './forged-log';
import { keyAndLog } from './verified-file';

const WARNED = 'policy.limit_warned';

describe('The verifier, on entries about policies that the holder of the signing key made up', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const other = await createAgent(app, { name: 'other', capabilities: ['*'] });
    await createPolicy(app, { name: 'reads', version: '1', actions: ['read'] });
    await createPolicy(app, { name: 'reads', version: '2', actions: ['read', 'list'] });
    const spare = await createPolicy(app, { name: 'spare', actions: ['list'] });
    for (const change of ['deactivate', 'activate']) {
      const changed = await send(app, 'POST', `/api/v1/policies/${spare.id}/${change}`);
      expect(changed.status).toBe(200);
    }
    const limits = [{ max: 10, of: '/amount', per: 'day', by: 'agent' }];
    const policy = await createPolicy(app, { name: 'pays', actions: ['pay'], limits });
    for (const amount of [7.5, 0.5]) {
      const body = { action: 'pay', resourceType: 'invoice', resourceId: 'i', parameters: { amount } };
      expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).status).toBe(200);
    }
    const { log } = await keyAndLog(app);
    return { app, log, bot, other, policy, spare };
  });

  async function verdictOn(change: (entries: Parsed[]) => void): Promise<string> {
    const entries = entriesOf(stage.log);
    change(entries);
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }

  it('finds none in an honest log', async () => {
    expect(await verdictOn((entries) => expect(entryOf({ entries }, WARNED).audit.details.before).toBe('7.5'))).toMatch(
      /(?:^|\n)VALID\n$/,
    );
  });

  it.each(['policy.created', 'policy.superseded', 'policy.activated', 'policy.deactivated'])(
    'finds that %s names other policies than those in force after it',
    async (action) => {
      const output = await verdictOn((entries) => {
        const { policySet } = entryOf({ entries }, 'policy.created').audit.details;
        entries.findLast((entry) => entry.action === action).audit.details.policySet = policySet;
      });
      expect(output).toMatch(/details\.policySet is not that of the \d policies that were in force after it/);
      expect(output).toMatch(/\nINVALID: 1 fault\n$/);
    },
  );

  it.each<[what: string, fault: RegExp, change: (warning: Parsed) => void]>([
    ['less used before', /no execution of \S+ has the use/, ({ audit }) => (audit.details.before = '7.6')],
    ['a larger amount', /no execution of \S+ has the use/, ({ audit }) => (audit.details.amount = '2')],
    [
      'an amount that does not reach it',
      /about no use that took a limit to 80 %/,
      ({ audit }) => (audit.details.amount = '0.4'),
    ],
    [
      'a limit that was nearly used before',
      /about no use that took a limit to 80 %/,
      ({ audit }) => (audit.details.before = '8'),
    ],
    ['no limit of the policy', /about no use that took a limit to 80 %/, ({ audit }) => (audit.details.limit = 1)],
    [
      'another policy',
      /the warning is about the policy pol_\w+, not pol_\w+/,
      ({ audit }) => (audit.details.policyId = stage.spare.id),
    ],
    ['another agent', /no execution of \S+ has the use/, ({ audit }) => (audit.agentId = stage.other.id)],
  ])('finds a warning about %s', async (_what, fault, change) => {
    const output = await verdictOn((entries) => {
      change(entryOf({ entries }, WARNED));
    });
    expect(output).toMatch(fault);
    expect(output).toMatch(/\nINVALID: 1 fault\n$/);
  });
});
