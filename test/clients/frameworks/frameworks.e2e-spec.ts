import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve, company, EXECUTIONS, type Company } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { run } from '../../support/processes/shell';
import { builtFrameworks, linkFrameworks } from './built-frameworks';

const PROGRAMS = ['vercel-ai', 'openai-agents', 'langchain'];

describeOnSqlite('The adapters of frameworks', () => {
  let app: TestApp;
  let folder: string;
  let reviewer: string;
  let ann: Company['ann'];

  beforeAll(async () => {
    await builtFrameworks();
    folder = mkdtempSync(join(tmpdir(), 'frameworks-'));
    mkdirSync(join(folder, 'node_modules'));
    linkFrameworks(join(folder, 'node_modules'));
    cpSync(__dirname, folder, { recursive: true });
    app = await createTestApp();
    ann = (await company(app)).ann;
    reviewer = (await issueKey(app, { name: 'ann', scopes: ['review', 'read'], agentId: ann.id })).secret;
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['refund', 'send-payment'], approval });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it.each(PROGRAMS)(
    '%s: nothing runs before the approval, once after it, not again, and a denial is explained',
    async (name) => {
      const { id } = await createAgent(app, { name, capabilities: ['refund', 'wipe'] });
      const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const { exitCode, output, errors } = await run(process.execPath, [`${name}.mjs`], { folder, environment });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(JSON.parse(output)).toEqual({
        ...{ unapproved: 0, approved: 1, again: 1, all: [5] },
        told: expect.stringContaining('no_policy_allows'),
        outcomes: ['refund executed', 'refund pending_approval', 'wipe denied'],
      });
    },
    300_000,
  );

  it.each(PROGRAMS)(
    'the program of docs/integrations.md for %s waits, acts and reports',
    async (name) => {
      const file = `payer-${name}.mjs`;
      const blocks = codeBlocks(section(readDocument('docs/integrations.md'), '## Agent frameworks'));
      writeFileSync(join(folder, file), blocks.find(({ code }) => code.startsWith(`// ${file}\n`))?.code ?? '');
      // In this SDK names of tools have no hyphens.
      const called = name === 'openai-agents' ? 'send_payment' : 'send-payment';
      const model = `export const model = callOnce('${called}', { amount: 1200 });\n`;
      writeFileSync(join(folder, 'model.mjs'), `import { callOnce } from './models/${name}.mjs';\n${model}`);
      const { id } = await createAgent(app, { name: `payer of ${name}`, capabilities: ['send-payment'] });
      const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
      const running = run(process.execPath, [file], { folder, environment });
      const query = `agentId=${id}`;
      let asked = [];
      for (let looks = 0; asked.length === 0 && looks < 1_500; looks += 1) {
        await sleep(20);
        asked = (await send(app, 'GET', `${EXECUTIONS}?${query}`)).body.data;
      }
      await approve(app, asked[0].decisionId, ann);
      expect(await running).toEqual({ exitCode: 0, output: '1200\n', errors: '' });
      const { data } = (await send(app, 'GET', `${EXECUTIONS}?${query}`)).body;
      expect(data).toEqual([expect.objectContaining({ outcome: 'executed', action: 'send-payment' })]);
    },
    300_000,
  );
});
