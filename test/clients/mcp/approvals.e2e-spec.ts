import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResponse } from '../../../src/governance/executions/dto/execution.dto';
import { approve, company, type Company, EXECUTIONS } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { buildCommandLine } from '../command-line';
import { connectThroughProxy, type Connection, type Elicitation, type Era, textOf } from './mcp-clients';

const PUBLIC_URL = 'https://governance.example';
/** Seconds for which an approval is valid. */
const GOOD_FOR = 1;

describeOnSqlite('gov mcp in front of a service with a console', () => {
  let app: TestApp;
  let people: Company;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { PUBLIC_URL, RATE_LIMIT: '1000000' } });
    people = await company(app);
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-approvals-'));
    const approval = { approvers: [{ subjects: ['role:finance'] }], executeWithin: `PT${GOOD_FOR}S` };
    const shop = { resources: ['tool/shop/*'], resourceTypes: ['tool'] };
    await createPolicy(app, { ...shop, effect: 'require_approval', actions: ['refund'], approval });
    await createPolicy(app, {
      ...{ ...shop, effect: 'require_approval', actions: ['refund'], priority: 1 },
      approval: { approvers: [{ subjects: ['role:board'] }] },
      conditions: [{ parameter: '/order', op: 'prefix', value: 'unfillable' }],
    });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('does not withdraw a request while a user is being asked about it', async () => {
    const { secret } = await issueKey(app, { name: 'two', scopes: ['execute'], agentId: people.bot.id });
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
    const options = { way: 'stdio', era: 'legacy', runs: join(folder, 'two'), environment } as const;
    const { client, close } = await connectThroughProxy({ ...options, words: ['--hold', '1'], elicitation: 'url' });
    const call = { name: 'refund', arguments: { order: 'two' } };
    client.setRequestHandler('elicitation/create', async ({ params: { url } }) => {
      const ending = new AbortController();
      const equal = client.callTool(call, { signal: ending.signal, onprogress: () => ending.abort() });
      await expect(equal).rejects.toThrow();
      await sleep(500);
      await approve(app, String(url?.split('/').pop()), people.ann);
      return { action: 'accept' };
    });
    expect(textOf(await client.callTool(call))).toBe('{"order":"two"}');
    await close();
  });

  describe.each<Era>(['legacy', 'modern'])('%s protocol', (era) => {
    let connection: Connection;
    let runs: string;

    beforeAll(async () => {
      runs = join(folder, era);
      const { secret } = await issueKey(app, { name: era, scopes: ['execute'], agentId: people.bot.id });
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
      const words = ['--hold', '0'];
      connection = await connectThroughProxy({ way: 'stdio', era, runs, environment, words, elicitation: 'url' });
    });
    afterAll(() => connection.close());

    function ran(): string {
      return existsSync(runs) ? readFileSync(runs, 'utf8') : '';
    }

    async function newest(): Promise<ExecutionResponse> {
      return (await send(app, 'GET', `${EXECUTIONS}?agentId=${people.bot.id}&order=desc&limit=1`)).body.data[0];
    }

    function answerWith(answer: (question: Elicitation) => Promise<'accept' | 'decline'>): void {
      connection.client.setRequestHandler('elicitation/create', async ({ params }) => ({
        action: await answer(params),
      }));
    }

    it('sends the user of a client that opens pages to the decision, whose answer approves nothing', async () => {
      const received: Elicitation[] = [];
      answerWith(async (question) => {
        received.push(question);
        return 'accept';
      });
      const call = { name: 'refund', arguments: { order: era } };
      const unapproved = await connection.client.callTool(call);
      const { decisionId } = await newest();
      expect(received).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(
            new RegExp(`bot: refund on tool/\\S+ with {"order":"${era}"}, because of policy \\d+ 1\\.0\\. `),
          ),
          mode: 'url',
          url: `${PUBLIC_URL}/console/decisions/${String(decisionId)}`,
        }),
      ]);
      expect(textOf(unapproved)).toContain('Approval pending');
      expect(textOf(unapproved)).toContain(`with {"order":"${era}"}, because of`);
      expect(textOf(unapproved)).toContain('It still needs 1 of role:finance.');
      expect(ran()).toBe('');
      answerWith(async () => {
        await approve(app, decisionId, people.ann);
        return 'accept';
      });
      expect(textOf(await connection.client.callTool(call))).toBe(JSON.stringify({ order: era }));
      expect(ran()).toBe(`["refund",{"order":"${era}"}]\n`);
    });

    it('says to the user and the model when nobody could approve it', async () => {
      const questions: string[] = [];
      answerWith(async ({ message }) => {
        questions.push(message);
        return 'decline';
      });
      const call = { name: 'refund', arguments: { order: `unfillable ${era}` } };
      expect(textOf(await connection.client.callTool(call))).toContain('Approval pending');
      expect(questions).toEqual([expect.stringContaining('It still needs 1 of role:board. Nobody, or too few, could')]);
    });

    it('runs nothing on an expired approval, and asks for another', async () => {
      const before = ran();
      answerWith(async () => 'decline');
      const call = { name: 'refund', arguments: { order: `late ${era}` } };
      await connection.client.callTool(call);
      const execution = await newest();
      await approve(app, execution.decisionId, people.ann);
      await sleep(1_000 * GOOD_FOR);
      const late = await connection.client.callTool(call);
      const again = await newest();
      expect(textOf(late)).toContain(`It waits for the decision ${String(again.decisionId)}`);
      expect(again).toMatchObject({ outcome: 'pending_approval', actionHash: execution.actionHash });
      expect(again.decisionId).not.toBe(execution.decisionId);
      expect((await send(app, 'GET', `${EXECUTIONS}/${execution.id}`)).body.outcome).toBe('expired');
      expect(ran()).toBe(before);
    });
  });
});
