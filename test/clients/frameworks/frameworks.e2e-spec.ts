import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve, company, EXECUTIONS, type Company } from '../../approvals/support';
import { ActionsModule } from '../../support/application/actions.module';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { run } from '../../support/processes/shell';
import { builtFrameworks, linkFrameworks } from './built-frameworks';

const PROGRAMS = ['vercel-ai', 'openai-agents', 'langchain'];
/** Those that ask whether a call needs an approval before they call it. */
const ASKING = ['vercel-ai', 'openai-agents'];

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
    app = await createTestApp({ modules: [ActionsModule] });
    ann = (await company(app)).ann;
    reviewer = (await issueKey(app, { name: 'ann', scopes: ['review', 'read'], agentId: ann.id })).secret;
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['refund', 'send-payment'], approval });
    await createPolicy(app, { actions: ['note', 'fail', 'succeed'] });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it.each(PROGRAMS)(
    '%s: nothing runs before the approval, once after it, not again, and a denial is explained',
    async (name) => {
      const { id } = await createAgent(app, { name, capabilities: ['refund', 'wipe', 'fail'] });
      const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const { exitCode, output, errors } = await run(process.execPath, [`${name}.mjs`], { folder, environment });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(JSON.parse(output)).toEqual({
        ...{ unapproved: 0, approved: 1, again: 1, all: [5] },
        denial: expect.stringContaining('no_policy_allows'),
        failure: expect.stringMatching(/The service ran fail itself, and that failed\..*The mailbox is full\./),
        outcomes: ['refund executed', 'refund pending_approval', 'wipe denied', 'fail failed'],
      });
    },
    300_000,
  );

  it.each(PROGRAMS)(
    '%s: a call that was given up does not run; what ran but is not on record has a result, and is not to be repeated',
    async (name) => {
      const { id } = await createAgent(app, { name: `given up ${name}`, capabilities: ['refund', 'note'] });
      const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const running = run(process.execPath, [`given-up-${name}.mjs`], { folder, environment });
      const { exitCode, output, errors } = await running;
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(JSON.parse(output)).toEqual({
        message: expect.stringMatching(/noted(.|\n)*Do not repeat the action\.|Do not repeat the action\.(.|\n)*noted/),
        ran: 0,
        outcomes: ['note executed', 'refund authorized'],
      });
    },
    300_000,
  );

  it('vercel-ai: input that JSON would change is refused, is not asked about and does not run', async () => {
    const { id } = await createAgent(app, { name: 'changing', capabilities: ['note'] });
    const key = (await issueKey(app, { name: 'changing', scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['changing-vercel-ai.mjs'], {
      folder,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    const refused = expect.stringMatching(/^(parameters\.to) must be plain JSON/);
    expect(JSON.parse(output)).toEqual({ asked: refused, called: refused, ran: 0, outcomes: [] });
  });

  it('langchain: a tool that interrupts the graph itself is not reported until it ends, and keeps its execution', async () => {
    const { id } = await createAgent(app, { name: 'pausing', capabilities: ['refund', 'note'] });
    const key = (await issueKey(app, { name: 'pausing', scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['pausing-langchain.mjs'], {
      folder,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    const pending = expect.stringContaining('refund did not run.');
    expect(JSON.parse(output)).toEqual({
      asked: ['Are you sure?', 'done', pending, pending, 'Are you sure?', 'done'],
      meanwhile: ['note authorized'],
      elsewhere: [pending, 'Are you sure?', 'done'],
      over: expect.stringMatching(/^note was paused, and did not go on\. Its execution \S+ is over: failed\.$/),
      answers: ['yes', 'surely', 'really'],
      runs: [5, 5, 5],
      noted: expect.stringMatching(/^noted\n.* Do not repeat the action\.$/),
      outcomes: [
        ...['note executed', 'refund executed', 'refund executed', 'note failed'],
        ...['note executed', 'note executed'],
      ],
    });
  });

  it('langchain: no tool runs with interrupts of a version of LangGraph that does not show which were answered', async () => {
    const { id } = await createAgent(app, { name: 'other version', capabilities: ['note'] });
    const key = (await issueKey(app, { name: 'other version', scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['other-langgraph.mjs'], { folder, environment });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    expect(JSON.parse(output)).toEqual({
      ran: 0,
      said: expect.stringContaining('Leave `interrupt` out'),
      outcomes: [],
    });
  });

  it.each(ASKING)(
    '%s: what a handler of the service carried out because the policies changed meanwhile is not called again',
    async (name) => {
      for (const [lost, message] of [
        ['', 'Do not call it again'],
        ['yes', 'It is not known whether succeed was carried out'],
      ] as const) {
        const { id } = await createAgent(app, { name: `turning ${name}${lost}`, capabilities: ['succeed'] });
        const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
        const approval = { approvers: [{ subjects: ['role:finance'] }] };
        const asking = { effect: 'require_approval', actions: ['succeed'], approval };
        const policy = await createPolicy(app, asking);
        const environment = {
          ...{ GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer },
          ...{ OPERATOR_KEY: API_KEY, POLICY: policy.id, LOST: lost },
        };
        const { exitCode, output, errors } = await run(process.execPath, [`turning-${name}.mjs`], {
          folder,
          environment,
        });
        expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
        expect(JSON.parse(output)).toEqual({
          message: expect.stringContaining(message),
          runs: [],
          outcomes: ['succeed executed'],
        });
      }
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
