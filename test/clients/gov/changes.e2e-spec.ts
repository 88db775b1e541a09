import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChangeStage, newPolicy, type Person, startChanges } from '../../changes/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createEntity, propose } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

/** Most looks for a change that a command is about to propose. */
const MAX_LOOKS = 600;
const DECISION = /\bdec_[0-9A-Z]{26}\b/;

describeOnSqlite('gov, on changes that need a second person', () => {
  let stage: ChangeStage;
  let folder: string;
  let policies = 0;
  let botId: string;
  let stopId: string;
  let entityId: string;

  beforeAll(async () => {
    await buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), 'gov-changes-'));
    const prepare = async (app: TestApp): Promise<void> => {
      botId = (await createAgent(app, { name: 'bot', capabilities: ['look'] })).id;
      entityId = (await createEntity(app, { type: 'customer', name: 'Example Ltd' })).id;
    };
    stage = await startChanges({ RETAIN_AT_LEAST: 'PT0S' }, { scopes: ['policies', 'agents', 'read'], prepare });
    const { app } = stage;
    stopId = (await send(app, 'POST', '/api/v1/stops', { body: { agentId: 'bot', reason: 'It loops.' } })).body.id;
    await send(app, 'POST', '/api/v1/agents/bot/suspend');
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await stage.app.close();
  });

  const gov = (words: readonly string[], key = API_KEY): Promise<ProgramRun> =>
    runGov(words, {
      environment: { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: stage.app.url, GOVERNANCE_API_KEY: key },
      folder,
    });

  /** A folder with one new policy. */
  function policyFolder(): string {
    policies += 1;
    const name = `set-${policies}`;
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'policy.yaml'), JSON.stringify({ policies: [newPolicy()] }));
    return name;
  }

  const apply = (name: string, ...words: string[]): Promise<ProgramRun> =>
    gov(['policies', 'apply', name, '--yes', ...words], stage.cyd.key);

  function decisionIn({ errors }: ProgramRun): string {
    return DECISION.exec(errors)?.[0] ?? '';
  }

  /** The open change that a person has proposed, once there is one. */
  async function openChange({ id: proposedBy }: Person): Promise<string> {
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const query = 'type=change&status=proposed&order=desc';
      const { body } = await send(stage.app, 'GET', `/api/v1/decisions?${query}`);
      const decision = body.data.find((change: { proposedBy: string | null }) => change.proposedBy === proposedBy);
      if (decision !== undefined) return decision.id;
      await sleep(100);
    }
    throw new Error('Nobody has proposed a change.');
  }

  it('proposes, says what to do next, is approved by gov, and makes the change when it is run again', async () => {
    const { ada } = stage;
    const name = policyFolder();
    const proposed = await apply(name);
    expect(proposed.exitCode).toBe(1);
    expect(proposed.errors).toMatch(/Apply .*\. Proposed: dec_\w+\. Nothing has changed yet\./i);
    expect(proposed.errors).toContain('Waiting for 1 of kind:human; nobody has reviewed it.');
    expect(proposed.errors).toMatch(/Once it is approved, run the same command again.*With --wait/);
    const id = decisionIn(proposed);
    expect((await gov(['inbox'], ada.key)).output).toContain(id);
    const { output } = await gov(['show', id], ada.key);
    expect(output).toMatch(/request +POST \/api\/v1\/policies\/apply\n/);
    expect(output).toMatch(/body +\{\n/);
    expect(output).toMatch(/"actions": \[\s+"look"\s+\]/);
    expect(output).toMatch(/made +not yet\n/);
    expect((await gov(['show', id], stage.cyd.key)).output).toMatch(/body +is shown to a key with the scope review\n/);
    expect((await gov(['approve', id, '--yes'], ada.key)).output).toBe(`${id} is approved.\n`);
    const made = await apply(name);
    expect(made.exitCode).toBe(0);
    expect(made.errors).toContain(`Approved by ${ada.id} (ada).\nMade, by ${id}.\n`);
    expect(made.output).toContain('Applied.');
    expect((await gov(['show', id], ada.key)).output).toMatch(/made +20\d\d-/);
    const again = await apply(name);
    expect([again.exitCode, again.errors]).toEqual([0, '']);
  });

  it('waits for the second person with --wait, and prints JSON alone on standard output', async () => {
    const { ben, cyd } = stage;
    const running = apply(policyFolder(), '--wait', '--json');
    const id = await openChange(cyd);
    await gov(['approve', id, '--yes'], ben.key);
    const made = await running;
    expect(made.exitCode).toBe(0);
    expect(made.errors).toMatch(new RegExp(`Proposed: ${id}[^]*Approved by ${ben.id} \\(ben\\)\\.\nMade`));
    expect(JSON.parse(made.output)).toMatchObject({ changes: [{ change: 'create' }] });
  });

  it('ends a wait when its time is over, and continues with the same decision', async () => {
    const name = policyFolder();
    const late = await apply(name, '--wait', 'PT1S');
    expect([late.exitCode, late.errors]).toEqual([1, expect.stringContaining('run the same command again')]);
    expect(decisionIn(await apply(name))).toBe(decisionIn(late));
    await gov(['reject', decisionIn(late), '--yes'], stage.ada.key);
    expect(decisionIn(await apply(name))).not.toBe(decisionIn(late));
    await gov(['reject', await openChange(stage.cyd), '--yes'], stage.ada.key);
  });

  it('says that it was rejected, and in which words, or cancelled', async () => {
    const { app, ada, cyd } = stage;
    const rejected = apply(policyFolder(), '--wait');
    await gov(['reject', await openChange(cyd), '--comment', 'Too wide.', '--yes'], ada.key);
    expect(await rejected).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(
        /Nothing has changed: the decision dec_\w+ on this change is rejected\..*"Too wide\."/,
      ),
    });
    const cancelled = apply(policyFolder(), '--wait');
    await send(app, 'POST', `/api/v1/decisions/${await openChange(cyd)}/cancel`, { key: cyd.key });
    expect(await cancelled).toMatchObject({ exitCode: 1, errors: expect.stringContaining('is cancelled.') });
  });

  it('does not apply a plan that was approved for other policies', async () => {
    const { app, ada, cyd } = stage;
    const running = apply(policyFolder(), '--wait');
    const id = await openChange(cyd);
    const headers = { 'Break-Glass': 'Needed at once.' };
    expect((await send(app, 'POST', '/api/v1/policies', { body: newPolicy(), headers })).status).toBe(201);
    await gov(['approve', id, '--yes'], ada.key);
    expect(await running).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('Other policies are in force than when this change was proposed.'),
    });
  });

  it('says that a change that two of its processes wait for was made already', async () => {
    const name = policyFolder();
    const running = [apply(name, '--wait'), apply(name, '--wait')];
    const id = await openChange(stage.cyd);
    // Both wait by then: the second does not propose it once more.
    await sleep(2_000);
    await gov(['approve', id, '--yes'], stage.ada.key);
    const ended = await Promise.all(running);
    expect(ended.map(({ exitCode }) => exitCode).sort()).toEqual([0, 1]);
    expect(ended.find(({ exitCode }) => exitCode === 1)?.errors).toContain('This change was made already');
  });

  const commands = (): Readonly<Record<string, readonly string[]>> => ({
    'agents create': ['agents', 'create', 'other-bot', '--capabilities', 'look'],
    'agents set': ['agents', 'set', 'bot', '--roles', 'viewer'],
    'agents set --observe': ['agents', 'set', 'bot', '--observe', '2026-12-24T00:00:00Z'],
    'agents resume': ['agents', 'resume', 'bot'],
    'keys issue': ['keys', 'issue', 'bot', '--scopes', 'execute', '--agent', 'bot'],
    lift: ['lift', stopId, '--reason', 'It is mended.'],
    erase: ['erase', 'entity', entityId, '--reason', 'Request 7', '--yes'],
  });

  it.each(['agents create', 'agents set', 'agents set --observe', 'agents resume', 'keys issue', 'lift', 'erase'])(
    'gov %s: two people approve what no person has proposed, then it is made',
    async (name) => {
      const words = commands()[name] ?? [];
      const proposed = await gov(words);
      const id = decisionIn(proposed);
      expect([proposed.exitCode, id]).toEqual([1, expect.stringMatching(DECISION)]);
      expect(proposed.errors).toContain('Waiting for 2 of kind:human');
      for (const { key } of [stage.ada, stage.ben]) await gov(['approve', id, '--yes'], key);
      const made = await gov(words);
      expect([made.exitCode, made.errors]).toEqual([0, expect.stringContaining(`Made, by ${id}.`)]);
      const { body } = await send(stage.app, 'GET', `/api/v1/decisions/${id}`);
      expect(body.change.madeAt).toEqual(expect.any(String));
    },
  );

  it('proposes the agents of files as one change, without a place in the files', async () => {
    const name = 'agents';
    mkdirSync(join(folder, name));
    const agents = ['a', 'b'].map((letter) => ({ name: `file-bot-${letter}`, capabilities: ['look'] }));
    writeFileSync(join(folder, name, 'agents.yaml'), JSON.stringify({ agents }));
    const running = apply(name, '--wait');
    await gov(['approve', await openChange(stage.cyd), '--yes'], stage.ada.key);
    expect((await running).exitCode).toBe(0);
    for (const agent of agents) expect((await send(stage.app, 'GET', `/api/v1/agents/${agent.name}`)).status).toBe(200);
    writeFileSync(join(folder, name, 'agents.yaml'), JSON.stringify({ agents: [{ name: 'file-bot-c' }] }));
    const proposed = await apply(name);
    expect(proposed.errors).toMatch(/\nNothing has changed yet: dec_/);
    await gov(['reject', decisionIn(proposed), '--yes'], stage.ada.key);
  });

  it('approves no change together with others', async () => {
    const { app, ada } = stage;
    const proposed = await apply(policyFolder());
    const id = decisionIn(proposed);
    const other = await propose(app, botId, { title: 'Move the office' });
    const { output, errors } = await gov(['inbox', '--approve', '--yes'], ada.key);
    expect(errors).toContain(`${id} is about a change of the rules, which is approved by itself: gov approve ${id}`);
    expect(output).toBe(`${other.id} is approved.\n`);
    await gov(['reject', id, '--yes'], ada.key);
  });

  it('breaks the glass in an emergency: it is made at once, and waits for two reviewers', async () => {
    const { ada, ben } = stage;
    const short = await gov(['agents', 'create', 'glass-bot', '--break-glass', 'Quick']);
    expect([short.exitCode, short.errors]).toEqual([1, expect.stringContaining('10')]);
    const reason = 'The only reviewer is ill — Grüße';
    const refused = await gov(['agents', 'create', 'glass-bot', '--break-glass', reason], stage.cyd.key);
    expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('admin')]);
    const made = await gov(['agents', 'create', 'glass-bot', '--break-glass', reason]);
    expect(made).toMatchObject({ exitCode: 0, output: expect.stringContaining('glass-bot') });
    const { data } = (await send(stage.app, 'GET', '/api/v1/decisions?type=change_review&order=desc')).body;
    const { id } = data[0];
    const { output } = await gov(['show', id], ada.key);
    expect(output).toMatch(/request +POST \/api\/v1\/agents\n/);
    expect(output).toContain(reason);
    expect((await gov(['inbox'], ada.key)).output).toContain(id);
    expect((await gov(['approve', id, '--yes'], ada.key)).output).toContain(`${id} is proposed.`);
    expect((await gov(['approve', id, '--yes'], ben.key)).output).toBe(`${id} is approved.\n`);
  });
});

describeOnSqlite('gov, where no second person is needed', () => {
  it('takes the same options', async () => {
    await buildCommandLine();
    const app = await createTestApp();
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const waiting = await runGov(['agents', 'create', 'bot', '--wait'], { environment });
    expect(waiting).toMatchObject({ exitCode: 0, errors: '' });
    const glass = ['agents', 'set', 'bot', '--roles', 'a', '--break-glass', 'Nobody is there.'];
    expect(await runGov(glass, { environment })).toMatchObject({ exitCode: 0, errors: '' });
    const wrong = await runGov(['agents', 'set', 'bot', '--roles', 'b', '--wait', 'soon'], { environment });
    expect([wrong.exitCode, wrong.errors]).toEqual([1, expect.stringContaining('Expected a duration such as P7D')]);
    await app.close();
  });
});
