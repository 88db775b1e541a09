import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { ROOT } from '../support/documents/markdown';
import { runVerifier, type VerifierRun } from '../support/processes/run-verifier';
import { entriesOf, exportOf, sealEntries } from './forged-log';

/** The time of day in so many minutes, as a condition on the clock says it. */
function inMinutes(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
}

async function logOfClocks(): Promise<{ readonly app: TestApp; readonly log: string }> {
  const app = await createTestApp();
  await createAgent(app, { name: 'bot', capabilities: ['*'] });
  const between = (from: number, to: number): object[] => [
    { clock: 'UTC', op: 'between', value: [inMinutes(from), inMinutes(to)] },
  ];
  await createPolicy(app, { name: 'for hours', actions: ['look'], conditions: between(-180, 180) });
  await createPolicy(app, { name: 'for minutes', actions: ['read'], conditions: between(-10, 10) });
  await createPolicy(app, { name: 'later', actions: ['pay'], conditions: between(180, 300) });
  for (const action of ['look', 'read', 'pay', 'drop'])
    await send(app, 'POST', '/api/v1/agents/bot/execute', {
      body: { action, resourceType: 'order', resourceId: 'a', parameters: {} },
    });
  return { app, log: (await send(app, 'GET', '/api/v1/provenance/export')).text };
}

describe('The verifier, on an export of a service with another version of the time zones', () => {
  const stage = stageOf(logOfClocks);

  /** Verifies the log of a service with other zones, in which some actions were changed. */
  function verify(change: (execution: Parsed) => void): Promise<VerifierRun> {
    const entries = entriesOf(stage.log);
    for (const entry of entries) {
      if (entry.audit.details.zones !== undefined) entry.audit.details.zones = '2020a';
      if (entry.subjectType === 'execution') change(entry);
    }
    sealEntries(entries);
    return runVerifier(['-'], exportOf(entries));
  }

  it('recomputes it, and notes what an hour decides', async () => {
    const { exitCode, output } = await verify(() => undefined);
    expect(exitCode).toBe(0);
    expect(output).toContain('NOTE 1 entries were decided by another version of the time zones');
  });

  it('notes what a copy without time zones cannot check', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'verifier-'));
    cpSync(join(ROOT, 'verifier'), folder, { recursive: true });
    // Without this empty package, the copy would find one that somebody has installed above the temporary folder.
    const empty = join(folder, 'node_modules', 'moment-timezone');
    mkdirSync(empty, { recursive: true });
    writeFileSync(join(empty, 'package.json'), '{"exports":{}}');
    const program = [join(folder, 'main.mjs'), '-'];
    const { stdout } = spawnSync(process.execPath, program, { input: stage.log, encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(stdout).toContain(
      'NOTE 4 entries were decided by another version of the time zones, or the verifier has none',
    );
    expect(stdout).toMatch(/\nVALID\n$/);
  });

  it.each([
    ['no hour allows', 'pay', 'later'],
    ['no policy allows', 'drop', 'for hours'],
  ])('finds an action that %s', async (_what, action, policyName) => {
    const { state: policy } = entriesOf(stage.log).find(({ state }) => state.name === policyName) ?? {};
    const { id, name, version, effect } = policy;
    const { exitCode, output } = await verify((entry) => {
      const { state, audit } = entry;
      if (state.action !== action) return;
      entry.action = audit.action = 'execution.authorized';
      Object.assign(audit, { outcome: 'success', reason: null });
      Object.assign(audit.details, { zones: '2020a', policies: [{ id, name, version }] });
      Object.assign(state, { outcome: 'authorized', completedAt: null, policies: [{ id, name, version, effect }] });
      delete state.reason;
    });
    expect({ exitCode, output }).toEqual({
      exitCode: 1,
      output: expect.stringMatching(/FAULT decision: .*the deciding policies is recorded as/),
    });
  });
});
