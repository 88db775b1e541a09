import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve, company, EXECUTIONS, type Company } from '../../approvals/support';
import { ActionsModule } from '../../support/application/actions.module';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { ROOT } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { run } from '../../support/processes/shell';
import { type AiSdk, builtFrameworks, linkFrameworks, typeCheck } from './built-frameworks';

interface Adapter {
  /** The name of its program in this folder. */
  readonly name: string;
  readonly title: string;
  readonly sdk: AiSdk;
}

const AI_SDK_6: Adapter = { name: 'vercel-ai', title: 'vercel-ai with AI SDK 6', sdk: 'ai' };
const AI_SDK_7: Adapter = { name: 'vercel-ai', title: 'vercel-ai with AI SDK 7', sdk: 'ai-7' };
const OPENAI_AGENTS: Adapter = { name: 'openai-agents', title: 'openai-agents', sdk: 'ai' };
const LANGCHAIN: Adapter = { name: 'langchain', title: 'langchain', sdk: 'ai' };

const VERCEL_AI = [AI_SDK_6, AI_SDK_7];
/** Frameworks that ask whether a call needs an approval before they call it. */
const ASKING = [...VERCEL_AI, OPENAI_AGENTS];
const ADAPTERS = [...ASKING, LANGCHAIN];

const NODE = Number.parseInt(process.versions.node, 10);

function itWithEach(adapters: readonly Adapter[], claim: string, test: (adapter: Adapter) => Promise<void>): void {
  for (const adapter of adapters) {
    const title = `${adapter.title}: ${claim}`;
    if (adapter.sdk === 'ai' || NODE >= 22) it(title, () => test(adapter), 300_000);
    else it.skip(`${title} (skipped: needs Node.js 22)`, () => undefined);
  }
}

const TYPED = `
  import type { GovernanceClient } from 'agent-governance-client';
  import { governedTools } from 'agent-governance-frameworks/vercel-ai';
  import { generateText, type LanguageModel, tool } from 'ai';
  import { z } from 'zod';

  export async function pay(governance: GovernanceClient, model: LanguageModel): Promise<number[]> {
    const inputSchema = z.object({ amount: z.number() });
    const made = tool({ description: 'Pay', inputSchema, execute: ({ amount }) => amount });
    const tools = governedTools(governance, { pay: made });
    const { staticToolResults } = await generateText({ model, tools, prompt: 'Pay 5.' });
    return staticToolResults.map(({ output }) => output);
  }
`;

/** A folder with the programs of this one and what they import. */
function programsWith(sdk: AiSdk): string {
  const folder = mkdtempSync(join(tmpdir(), 'frameworks-'));
  mkdirSync(join(folder, 'node_modules'));
  linkFrameworks(join(folder, 'node_modules'), sdk);
  cpSync(__dirname, folder, { recursive: true });
  writeFileSync(join(folder, 'typed.mts'), TYPED);
  return folder;
}

describeOnSqlite('The adapters of frameworks', () => {
  let app: TestApp;
  let folders: Record<AiSdk, string>;
  let reviewer: string;
  let ann: Company['ann'];

  beforeAll(async () => {
    await builtFrameworks();
    folders = { ai: programsWith('ai'), 'ai-7': programsWith('ai-7') };
    const environment = { PUBLIC_URL: 'https://governance.example.com', PERMIT_AUDIENCES: 'bank' };
    app = await createTestApp({ environment, modules: [ActionsModule] });
    ann = (await company(app)).ann;
    reviewer = (await issueKey(app, { name: 'ann', scopes: ['review', 'read'], agentId: ann.id })).secret;
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['refund', 'send-payment'], approval });
    await createPolicy(app, { actions: ['note', 'fail', 'succeed'] });
  });
  afterAll(async () => {
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true });
    await app.close();
  });

  itWithEach(
    ADAPTERS,
    'nothing runs before the approval, once after it, not again, and a denial is explained',
    async ({ name, title, sdk }) => {
      const { id } = await createAgent(app, { name: title, capabilities: ['refund', 'wipe', 'fail'] });
      const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const { exitCode, output, errors } = await run(process.execPath, [`${name}.mjs`], {
        folder: folders[sdk],
        environment,
      });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(JSON.parse(output)).toEqual({
        ...{ unapproved: 0, approved: 1, again: 1, all: [5] },
        denial: expect.stringContaining('no_policy_allows'),
        failure: expect.stringMatching(/The service ran fail itself, and that failed\..*The mailbox is full\./),
        outcomes: ['refund executed', 'refund pending_approval', 'wipe denied', 'fail failed'],
      });
    },
  );

  itWithEach(
    ADAPTERS,
    'a call that was given up does not run; what ran but is not on record has a result, and is not to be repeated',
    async ({ name, title, sdk }) => {
      const { id } = await createAgent(app, { name: `given up ${title}`, capabilities: ['refund', 'note'] });
      const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const running = run(process.execPath, [`given-up-${name}.mjs`], { folder: folders[sdk], environment });
      const { exitCode, output, errors } = await running;
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(JSON.parse(output)).toEqual({
        message: expect.stringMatching(/noted(.|\n)*Do not repeat the action\.|Do not repeat the action\.(.|\n)*noted/),
        ran: 0,
        outcomes: ['note executed', 'refund authorized'],
      });
    },
  );

  it('all: ask people, who answer', async () => {
    const { id } = await createAgent(app, { name: 'asking people' });
    const key = (await issueKey(app, { name: 'asking', scopes: ['execute', 'propose'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const ask = async (): Promise<string[]> => {
      const { exitCode, output, errors } = await run(process.execPath, ['asking-people.mjs'], {
        folder: folders.ai,
        environment,
      });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      return JSON.parse(output);
    };
    const [invalid, ...unanswered] = (await ask()).reverse();
    expect(invalid).toContain('The title must have 1 to 200 characters');
    for (const text of unanswered) expect(text).toContain('Nobody has answered yet');
    const { body } = await send(app, 'GET', `/api/v1/decisions?type=question&proposedBy=${id}`);
    expect(body.data.map(({ title }: { title: string }) => title)).toEqual(['vercel', 'openai', 'langchain']);
    for (const { id: decisionId } of body.data) await approve(app, decisionId, ann);
    for (const text of (await ask()).slice(0, 3)) expect(text).toContain('The answer is yes');
  });

  it('all: what was asked for and approved is what runs, whatever becomes of the input meanwhile', async () => {
    const { id } = await createAgent(app, { name: 'frozen', capabilities: ['refund'] });
    const key = (await issueKey(app, { name: 'frozen', scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['frozen-input.mjs'], {
      folder: folders.ai,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    const outcomes = Array.from({ length: 3 }, () => 'refund executed');
    expect(JSON.parse(output)).toEqual({ runs: [10, 10, 10], recorded: [10, 10, 10], outcomes });
  });

  it('all: say for whom and in which run a call is, as the context of the framework tells', async () => {
    const { id } = await createAgent(app, { name: 'for whom', capabilities: ['refund', 'note'] });
    const key = (await issueKey(app, { scopes: ['execute'], agentId: id, principals: ['user:*'] })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['for-whom.mjs'], {
      folder: folders.ai,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    const subjectsAndRuns = [
      ['user:ofSdk', 'one'],
      ['user:ofAgents', 'two'],
      ['user:ofGraph', 'three'],
    ];
    const [note, refund] = ['note executed', 'refund pending_approval'];
    expect(JSON.parse(output)).toEqual({
      asked: [...subjectsAndRuns, ...subjectsAndRuns],
      outcomes: [note, note, note, refund, refund, refund],
    });
  });

  it('all: a tool gets the permit for its call, also when it goes on after a pause', async () => {
    const { id } = await createAgent(app, { name: 'permits', capabilities: ['note'] });
    const key = (await issueKey(app, { scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['permits.mjs'], {
      folder: folders.ai,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    const outcomes = Array.from({ length: 4 }, () => 'note executed');
    expect(JSON.parse(output)).toEqual({ audiences: ['bank', 'bank', 'bank', 'bank'], outside: null, outcomes });
  });

  itWithEach(
    VERCEL_AI,
    'an allowed call with the id of one that was answered in an earlier turn runs without a question',
    async ({ title, sdk }) => {
      const { id } = await createAgent(app, { name: `again ${title}`, capabilities: ['succeed'] });
      const key = (await issueKey(app, { name: 'again', scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const folder = folders[sdk];
      const { exitCode, output, errors } = await run(process.execPath, ['again-vercel-ai.mjs'], {
        folder,
        environment,
      });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      const proof = JSON.parse(output);
      expect(proof.again).toEqual(proof.first);
      expect(proof.outcomes).toEqual(['succeed executed', 'succeed executed']);
    },
  );

  itWithEach(
    VERCEL_AI,
    'input that JSON would change is refused, is not asked about and does not run',
    async ({ title, sdk }) => {
      const { id } = await createAgent(app, { name: `changing ${title}`, capabilities: ['note'] });
      const key = (await issueKey(app, { name: 'changing', scopes: ['execute'], agentId: id })).secret;
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
      const folder = folders[sdk];
      const running = run(process.execPath, ['changing-vercel-ai.mjs'], { folder, environment });
      const { exitCode, output, errors } = await running;
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      const refused = expect.stringMatching(/^(parameters\.to) must be plain JSON/);
      expect(JSON.parse(output)).toEqual({ asked: refused, called: refused, ran: 0, outcomes: [] });
    },
  );

  it.each(VERCEL_AI)('$title: the types of governed tools are those of the tools', async ({ sdk }) => {
    expect(await typeCheck(folders[sdk], 'typed.mts', sdk)).toEqual({ exitCode: 0, output: '', errors: '' });
  });

  it('langchain: a tool that interrupts the graph itself is not reported until it ends, and keeps its execution', async () => {
    const { id } = await createAgent(app, { name: 'pausing', capabilities: ['refund', 'note'] });
    const key = (await issueKey(app, { name: 'pausing', scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer };
    const { exitCode, output, errors } = await run(process.execPath, ['pausing-langchain.mjs'], {
      folder: folders.ai,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    const pending = {
      message: expect.stringContaining('refund did not run.'),
      decisionId: expect.stringMatching(/^dec_\w+$/),
    };
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
    const { exitCode, output, errors } = await run(process.execPath, ['other-langgraph.mjs'], {
      folder: folders.ai,
      environment,
    });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    expect(JSON.parse(output)).toEqual({
      ran: 0,
      said: expect.stringContaining('Leave `interrupt` out'),
      outcomes: [],
    });
  });

  itWithEach(
    ASKING,
    'what a handler of the service carried out because the policies changed meanwhile is not called again',
    async ({ name, title, sdk }) => {
      for (const [lost, message] of [
        ['', 'Do not call it again'],
        ['yes', 'It is not known whether succeed was carried out'],
      ] as const) {
        const { id } = await createAgent(app, { name: `turning ${title}${lost}`, capabilities: ['succeed'] });
        const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
        const approval = { approvers: [{ subjects: ['role:finance'] }] };
        const rules = { effect: 'require_approval', actions: ['succeed'], approval };
        const policy = await createPolicy(app, rules);
        const environment = {
          ...{ GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key, REVIEWER_KEY: reviewer },
          ...{ OPERATOR_KEY: API_KEY, POLICY: policy.id, LOST: lost },
        };
        const { exitCode, output, errors } = await run(process.execPath, [`turning-${name}.mjs`], {
          folder: folders[sdk],
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
  );

  itWithEach(ADAPTERS, 'the program of examples/frameworks waits, acts and reports', async ({ name, title, sdk }) => {
    const file = `payer-${name}.mjs`;
    copyFileSync(join(ROOT, 'examples', 'frameworks', file), join(folders[sdk], file));
    // In this SDK names of tools have no hyphens.
    const called = name === 'openai-agents' ? 'send_payment' : 'send-payment';
    const model = `export const model = callOnce('${called}', { amount: 1200 });\n`;
    writeFileSync(join(folders[sdk], 'model.mjs'), `import { callOnce } from './models/${name}.mjs';\n${model}`);
    const { id } = await createAgent(app, { name: `payer of ${title}`, capabilities: ['send-payment'] });
    const key = (await issueKey(app, { name, scopes: ['execute'], agentId: id })).secret;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
    const running = run(process.execPath, [file], { folder: folders[sdk], environment });
    const query = `agentId=${id}`;
    let executions = [];
    for (let looks = 0; executions.length === 0 && looks < 1_500; looks += 1) {
      await sleep(20);
      executions = (await send(app, 'GET', `${EXECUTIONS}?${query}`)).body.data;
    }
    await approve(app, executions[0].decisionId, ann);
    expect(await running).toEqual({ exitCode: 0, output: '1200\n', errors: '' });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?${query}`)).body;
    expect(data).toEqual([expect.objectContaining({ outcome: 'executed', action: 'send-payment' })]);
  });
});
