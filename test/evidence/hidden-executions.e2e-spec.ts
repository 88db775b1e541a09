import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on an execution in the log that other actions hide from what counts uses', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const limits = [{ max: 100, of: '/amount', per: 'day', by: 'agent' }];
    await createPolicy(app, { name: 'spends', actions: ['spend'], limits });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', uses: 5, wider: true } };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    const execute = async (action: string): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId: 'b', parameters: { amount: 30 } };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const spent = [await execute('spend'), await execute('spend')];
    const { id, decisionId } = await execute('pay');
    const body = { approverId: 'ann', grant: { for: 'PT1H', uses: 2 } };
    expect((await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body })).status).toBe(200);
    await send(app, 'POST', `/api/v1/executions/${id}/resume`);
    const paid = [await execute('pay'), await execute('pay')];
    for (const { outcome } of [...spent, ...paid]) expect(outcome).toBe('authorized');
    return { app, spent, paid, ...(await keyAndLog(app)) };
  });

  /** Changes the entry of the first of two executions, and gives what the verifier says of the second. */
  async function forged(executions: readonly Parsed[], change: (hidden: Parsed) => void): Promise<string> {
    const [first, second] = executions;
    const text = await decisionFileOf(stage.app, second as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      for (const entry of entries) {
        const { state, audit, subjectType, subjectId } = entry;
        if (subjectId === first?.['id']) change(entry);
        if (subjectId === second?.['id'] && audit.details.used) audit.details.used[0].before = '0';
        // The grant was for one use, says the forger.
        if (subjectType === 'grant') state.uses = 1;
        if (audit.details.uses === 2) audit.details.uses = 1;
        for (const { grant } of state?.reviews ?? []) grant.uses = 1;
      }
      return entries;
    });
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  function rename(entry: Parsed, action: string): void {
    entry.action = entry.audit.action = action;
    delete entry.audit.details.used;
  }

  const CASES: [action: string, outcome: string, fault: string][] = [
    ['module.did', 'authorized', 'module.did leaves the execution authorized, which nothing has authorised'],
    [
      'execution.completed',
      'executed',
      'execution.completed leaves the execution executed, which nothing has authorised',
    ],
    ['execution.interrupted', 'interrupted', 'is the first entry of its execution, which nothing has made'],
    ['execution.approved', 'approved', 'is the first entry of its execution, which nothing has made'],
  ];
  it('recomputes them as they were', async () => {
    for (const [, second] of [stage.spent, stage.paid]) {
      const text = await decisionFileOf(stage.app, second as { id: string });
      const { output } = await verifyFile(text, stage.publicKey, stage.log);
      expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    }
  });

  it.each(CASES)('finds one behind %s', async (action, outcome, fault) => {
    for (const executions of [stage.spent, stage.paid]) {
      const output = await forged(executions, (entry) => {
        rename(entry, action);
        entry.state.outcome = outcome;
      });
      expect(output).toContain(fault);
      expect(output).toMatch(/\nINVALID: .*\n$/);
    }
  });

  it('finds one that was carried out after it was refused', async () => {
    const { app, paid, log: honest } = stage;
    const text = await decisionFileOf(app, paid[1] as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: honest }, (entries) => {
      const at = entries.findIndex(({ subjectId }) => subjectId === paid[0]?.['id']);
      const completed = structuredClone(entries[at]);
      const denied = { outcome: 'denied', reason: 'no_policy_allows', completedAt: completed.timestamp };
      Object.assign(entries[at].state, denied);
      rename(entries[at], 'execution.denied');
      Object.assign(entries[at].audit, { outcome: 'denied', reason: 'no_policy_allows' });
      Object.assign(completed, { id: `${completed.id}x`, auditId: `${completed.auditId}x` });
      completed.audit.id = completed.auditId;
      Object.assign(completed.state, { outcome: 'executed', completedAt: completed.timestamp });
      rename(completed, 'execution.completed');
      return entries.toSpliced(at + 1, 0, completed);
    });
    const { output } = await verifyFile(file.text, publicKey, log);
    expect(output).toContain('execution.completed leaves the execution executed, which nothing has authorised');
  });
});
