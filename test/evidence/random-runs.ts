import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { runVerifier } from '../support/processes/run-verifier';
import { runProgram } from './run-program';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const QUIET = { RATE_LIMIT: '10000000', LOG_LEVEL: 'fatal' };
/** The outcomes that a question can have. */
const OUTCOMES = [
  ...['allow null', 'deny agent_suspended', 'deny approval_too_large', 'deny capability_missing'],
  ...['deny no_policy_allows', 'deny principal_suspended', 'deny policy_denied', 'require_approval approval_required'],
];

/** Outcomes that happen in enough random histories. */
const ANSWERED = [
  ...['authorized null', 'asked null', 'asked again', 'served by a grant'],
  ...['denied stopped', 'denied approval_rejected', 'in another place'],
];

/** A service with thousands of histories answers slowly: each adds policies and people of its own. */
const HISTORIES_PER_SERVICE = 100;

/** Files of each service that are held against its log. */
const FILES_WITH_EXPORT = 25;

/** `EVIDENCE_SEED` says another one. */
export const SEED = process.env['EVIDENCE_SEED'] ?? '1';
/** The same, but another one each time. */
export const NEW_SEED = process.env['EVIDENCE_SEED'] ?? String(Date.now() % 1_000_000);

/** The verifier's evaluator answers random questions as the service does. */
export async function expectSameAnswers(questions: number, defaultEffect: string, seed = SEED): Promise<void> {
  const app = await createTestApp({ environment: { ...QUIET, POLICY_DEFAULT_EFFECT: defaultEffect } });
  try {
    const words = [String(questions), seed, defaultEffect];
    const { differences, counts, first } = JSON.parse(await runProgram('compare-answers', app.url, ...words));
    expect({ differences, first }).toEqual({ differences: 0, first: [] });
    // Which of them a sample has is chance: conditions look at the clock.
    expect(OUTCOMES).toEqual(expect.arrayContaining(Object.keys(counts)));
  } finally {
    await app.close();
  }
}

/** Every answer to what random agents asked is what a plain reference finds from the entries before it. */
export async function expectSameHistories(histories: number, seed = SEED): Promise<void> {
  for (let start = 0; start < histories; start += HISTORIES_PER_SERVICE)
    await expectSameHistoriesOf(
      Math.min(HISTORIES_PER_SERVICE, histories - start),
      String(Number(seed) + start / HISTORIES_PER_SERVICE),
    );
}

async function expectSameHistoriesOf(histories: number, seed: string): Promise<void> {
  const app = await createTestApp({ environment: { ...QUIET, MAX_PENDING_APPROVALS: '1000' } });
  try {
    const { differences, first, counts } = JSON.parse(
      await runProgram('random-histories', app.url, String(histories), seed),
    );
    expect({ seed, differences, first }).toEqual({ seed, differences: 0, first: [] });
    expect(Object.keys(counts)).toEqual(expect.arrayContaining(ANSWERED));
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    await expectRecomputedWithExport(app);
  } finally {
    await app.close();
  }
}

/** The decision files of what random agents and people did recompute, every one. */
export async function expectRecomputed(rounds: number, seed = SEED): Promise<void> {
  const app = await createTestApp({ environment: QUIET });
  try {
    const { different, first, counts } = JSON.parse(await runProgram('random-flows', app.url, String(rounds), seed));
    expect({ different, first }).toEqual({ different: 0, first: [] });
    expect(Object.keys(counts)).not.toEqual([]);
    await expectRecomputedWithExport(app);
  } finally {
    await app.close();
  }
}

/** The whole log is valid, and files from all over it recompute when they are held against it. */
async function expectRecomputedWithExport(app: TestApp): Promise<void> {
  const { total } = (await send(app, 'GET', '/api/v1/executions?limit=1')).body;
  const step = Math.ceil(total / FILES_WITH_EXPORT);
  const files: string[] = [];
  for (let offset = 0; offset < total; offset += step) {
    const { data } = (await send(app, 'GET', `/api/v1/executions?limit=1&offset=${offset}`)).body;
    files.push(await decisionFileOf(app, data[0]));
  }
  // The log is exported after the files: what waits expires meanwhile, and a file may not be newer than the log.
  const { publicKey, log } = await keyAndLog(app);
  const whole = await runVerifier(['-'], log);
  expect(whole).toMatchObject({ exitCode: 0, output: expect.stringMatching(/\nVALID\n$/) });
  for (const file of files) {
    const { output } = await verifyFile(file, publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: .*\n$/);
  }
}
