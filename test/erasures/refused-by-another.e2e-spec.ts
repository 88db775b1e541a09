import { RetainedContents } from '../../src/evidence/erasures/retained-contents';
import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import { ask, company, type Company, order, pending, reject, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { type Parsed, send } from '../support/application/send';

const DAY = 86_400_000;
const COMMENT = 'Not for Erika Mustermann';

/** An execution that was rejected, and a second request for the same, which that rejection refused. */
interface RefusedRequest {
  readonly rejected: ExecutionResponse;
  readonly refused: ExecutionResponse;
}

async function refusedByAnother(app: TestApp, { bot, ann }: Company): Promise<RefusedRequest> {
  const request = { ...order(), parameters: { for: 'Erika Mustermann' } };
  const rejected = await pending(app, bot, request);
  await reject(app, rejected.decisionId, ann, COMMENT);
  expect((await ask(app, bot, request)).body.error.reason).toBe('approval_rejected');
  const { data } = (await send(app, 'GET', '/api/v1/executions?outcome=denied&order=desc&limit=1')).body;
  expect(data[0].decisionId).toBe(rejected.decisionId);
  return { rejected, refused: data[0] };
}

describe('An execution that the decision about another has refused', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    people = await company(app);
    await requireApproval(app);
  });
  afterAll(() => app.close());

  const get = (path: string): ReturnType<typeof send> => send(app, 'GET', `/api/v1${path}`);

  async function erase(type: string, id: string): Promise<Parsed> {
    const body = { subjects: [{ type, id }], reason: 'Request 7' };
    const { body: erasure } = await send(app, 'POST', '/api/v1/erasures', { body });
    for (;;) {
      const { body: now } = await get(`/erasures/${erasure.id}`);
      if (now.completedAt !== null) return now;
    }
  }

  it('is erased alone', async () => {
    const { rejected, refused } = await refusedByAnother(app, people);
    expect(await erase('execution', refused.id)).toMatchObject({ records: 1, entries: 1 });
    expect((await get(`/executions/${refused.id}`)).body).toMatchObject({ erased: true, parameters: {} });
    expect((await get(`/executions/${rejected.id}`)).body).toEqual(
      expect.objectContaining({ parameters: rejected.parameters, rejection: { comment: COMMENT, instead: null } }),
    );
    const decision = (await get(`/decisions/${rejected.decisionId}`)).body;
    expect(decision).not.toHaveProperty('erased');
    expect((await get(`/executions/${refused.id}/evidence`)).body.error.code).toBe('CONTENT_ERASED');
    expect((await get(`/executions/${rejected.id}/evidence`)).status).toBe(200);
  });

  it('stays when the other and its decision are erased, without the words and without a decision file', async () => {
    for (const subject of ['execution', 'decision']) {
      const { rejected, refused } = await refusedByAnother(app, people);
      const file = (await get(`/executions/${refused.id}/evidence`)).body;
      expect(JSON.stringify(file)).toContain(COMMENT);
      const id = subject === 'execution' ? rejected.id : String(rejected.decisionId);
      expect(await erase(subject, id)).toMatchObject({ records: 2 });
      const left = (await get(`/executions/${refused.id}`)).body;
      expect(left).toMatchObject({ outcome: 'denied', parameters: refused.parameters, actionHash: refused.actionHash });
      expect(left).not.toHaveProperty('erased');
      expect(JSON.stringify(left)).not.toContain(COMMENT);
      const { status, body } = await get(`/executions/${refused.id}/evidence`);
      expect({ status, code: body.error.code }).toEqual({ status: 410, code: 'CONTENT_ERASED' });
    }
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true, invalidRecords: 0, invalidDerived: 0 });
  });
});

describe('RETAIN_CONTENT', () => {
  it('takes what the decision about another has refused when it is old itself, and nothing with it', async () => {
    const environment = { RETAIN_CONTENT: 'P2D', MAX_CLOCK_STEP: String(10 * DAY) };
    const app = await createTestApp({ environment });
    try {
      const people = await company(app);
      await requireApproval(app);
      const { rejected, refused } = await refusedByAnother(app, people);
      await moveTime(1.5 * DAY);
      const body = { subjects: [{ type: 'execution', id: rejected.id }], reason: 'Request 7' };
      expect((await send(app, 'POST', '/api/v1/erasures', { body })).status).toBe(201);
      await moveTime(2.5 * DAY);
      await app.application.get(RetainedContents).eraseOld();
      expect((await send(app, 'GET', `/api/v1/executions/${refused.id}`)).body).toMatchObject({ erased: true });
      const { data } = (await send(app, 'GET', `/api/v1/audit?subjectId=${rejected.decisionId}`)).body;
      expect(data.filter(({ action }: Parsed) => action === 'decision.erased')).toHaveLength(1);
    } finally {
      await restoreTime();
      await app.close();
    }
  });
});
