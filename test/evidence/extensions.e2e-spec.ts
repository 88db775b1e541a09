import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable, Module } from '@nestjs/common';
import { ActionGuard, type GuardedAction } from '../../src/governance/permissions/action-guards';
import { approve, EXECUTIONS } from '../approvals/support';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

/** True once nothing may be spent any more. */
let isOver = false;

@Injectable()
class Budget {
  private readonly spent = 'The budget of the month is spent.';

  @ActionGuard('budget')
  check({ parameters }: GuardedAction): string | null {
    return isOver || parameters['amount'] !== undefined ? this.spent : null;
  }
}

@Module({ providers: [Budget] })
class BudgetModule {}

describe('A decision file of a service with extensions', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ modules: [ActionsModule, BudgetModule] });
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const { id } = await createAgent(app, { name: 'ann', kind: 'human' });
    await createPolicy(app, { resources: ['free/*'] });
    await createPolicy(app, { effect: 'require_approval', resources: ['asked/*'] });
    return { app, ann: { id } };
  });

  const folder = mkdtempSync(join(tmpdir(), 'evidence-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['succeed', 'free/1', {}, 'executed', 'A handler of the service carried it out: executed'],
    ['fail', 'free/2', {}, 'failed', 'It failed: "The mailbox is full."'],
    ['succeed', 'asked/1', {}, 'executed', 'So it was authorized, and the approval was used up.'],
    ['succeed', 'free/3', { amount: 1 }, 'denied', 'a module of the operator refused it, which no file can show'],
  ])('recomputes what came of %s on %s with %j: %s', async (action, resourceId, parameters, outcome, sentence) => {
    const { app, ann } = stage;
    const body = { action, resourceType: 'order', resourceId, parameters };
    await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    const [{ id, decisionId }] = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${resourceId}`)).body.data;
    if (decisionId !== null) {
      await approve(app, decisionId, ann);
      await send(app, 'POST', `${EXECUTIONS}/${id}/resume`);
    }
    const { text } = await send(app, 'GET', `${EXECUTIONS}/${id}/evidence`);
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    const path = join(folder, 'one.evidence.json');
    writeFileSync(path, text);
    const { output } = await runVerifier([path, '--public-key', publicKey]);
    expect(output).toContain(sentence);
    expect(output).toMatch(new RegExp(`\\nRECOMPUTED: ${outcome} as recorded\\n$`));
  });

  it('recomputes a resume that the module refused, which is before approvals are counted', async () => {
    const { app, ann } = stage;
    const body = { action: 'pay', resourceType: 'order', resourceId: 'asked/2', parameters: {} };
    const { id, decisionId } = (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    await approve(app, decisionId, ann);
    isOver = true;
    expect((await send(app, 'POST', `${EXECUTIONS}/${id}/resume`)).body.error.reason).toBe('extension_refused');
    isOver = false;
    const { publicKey, log } = await keyAndLog(app);
    const { output } = await verifyFile(await decisionFileOf(app, { id }), publicKey, log);
    expect(output).toContain('a module of the operator refused it, which no file can show');
    expect(output).toMatch(/\nRECOMPUTED: approved as recorded\n$/);
    expect((await runVerifier(['-'], log)).output).toMatch(
      /\nNOTE \d requests were refused by a module of the operator/,
    );
  });
});
