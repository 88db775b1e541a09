import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { isReplayed, send, type Answer, type Parsed } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { responseParts, DOCUMENT, KeyedRequests } from './keyed-requests';
import { contexts, release } from './steps.module';

describe('An execution under an Idempotency-Key', () => {
  let requests: KeyedRequests;

  beforeAll(async () => {
    requests = await KeyedRequests.start(await temporaryDatabase());
  });
  afterEach(() => chainIsValid(requests.app));
  afterAll(() => requests.end());

  describe('that only authorised', () => {
    const DENIED = { status: 403, body: { error: { reason: 'policy_denied' } } };
    const SUSPENDED = { status: 403, body: { error: { reason: 'agent_suspended' } } };

    it('is authorised again only while a new request would be; each refusal is recorded, and the key keeps its answer', async () => {
      const name = requests.newKey();
      const { id } = await createAgent(requests.app, { name, capabilities: ['look', 'unmatched'] });
      const path = `agents/${name}/execute`;
      const body = { action: 'look', ...DOCUMENT };
      const key = requests.newKey();
      const first = await requests.post(path, body, key);
      expect(first).toMatchObject({ status: 200, body: { outcome: 'authorized' } });

      await requests.post(`agents/${id}/suspend`, {});
      const before = await requests.entries();
      const refused = await requests.post(path, body, key);
      expect(refused).toMatchObject(SUSPENDED);
      expect(isReplayed(refused)).toBe(false);
      expect(refused.body.error.requestId).toBe(refused.headers.get('x-request-id'));
      expect(await requests.entries()).toBe(before + 1);
      const [recorded] = (await requests.get(`executions?agentId=${id}&order=desc&limit=1`)).data;
      expect(recorded).toMatchObject({ outcome: 'denied', agentId: id, ...DOCUMENT });
      expect(recorded.id).not.toBe(first.body.id);
      const [entry] = (await requests.get(`audit?subjectId=${recorded.id}`)).data;
      const { requestId } = refused.body.error;
      expect(entry).toMatchObject({ action: 'execution.denied', reason: 'agent_suspended', requestId });
      // Refused again, and recorded again: the key does not keep the refusal.
      expect(await requests.post(path, body, key)).toMatchObject(SUSPENDED);
      expect(await requests.entries()).toBe(before + 2);
      const other = await requests.post(path, { ...body, parameters: { a: 1 } }, key);
      expect(other).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });

      await requests.post(`agents/${id}/resume`, {});
      const again = await requests.post(path, body, key);
      expect(responseParts(again)).toEqual(responseParts(first));
      expect(isReplayed(again)).toBe(true);

      await send(requests.app, 'PATCH', `/api/v1/agents/${id}`, { body: { capabilities: ['unmatched'] } });
      expect(await requests.post(path, body, key)).toMatchObject({
        status: 403,
        body: { error: { reason: 'capability_missing' } },
      });
      await send(requests.app, 'PATCH', `/api/v1/agents/${id}`, { body: { capabilities: ['look'] } });
      const deny = await createPolicy(requests.app, { effect: 'deny', priority: 9, subjects: [`agent:${name}`] });
      expect(await requests.post(path, body, key)).toMatchObject(DENIED);
      await requests.restart();
      expect(await requests.post(path, body, key)).toMatchObject(DENIED);
      await requests.post(`policies/${deny.id}/deactivate`, {});
      expect(responseParts(await requests.post(path, body, key))).toEqual(responseParts(first));
    });

    it('is refused to all repetitions after a change of policies, and to none before it, even in the same batch', async () => {
      const name = requests.newKey();
      await createAgent(requests.app, { name, capabilities: ['look'] });
      const ask = (): Promise<Answer> => requests.post(`agents/${name}/execute`, { action: 'look', ...DOCUMENT }, name);
      const first = await ask();
      const answers = await Promise.all([
        ask(),
        requests.post(`agents/${name}/suspend`, {}),
        ...Array.from({ length: 20 }, ask),
      ]);
      const suspendedAt = (await requests.get(`audit?action=agent.suspended&limit=1`)).data[0].sequence;
      const refused = (await requests.get(`audit?action=execution.denied&limit=50`)).data.filter(
        ({ sequence }: Parsed) => sequence > suspendedAt,
      );
      expect(answers.filter(({ status }) => status === 403)).toHaveLength(refused.length);
      for (const answer of answers.filter(({ status, body }) => status === 200 && body.outcome === 'authorized'))
        expect(responseParts(answer)).toEqual(responseParts(first));
      expect(await ask()).toMatchObject(SUSPENDED);
    });

    it('differs from one that ran, whose first answer is replayed even if the policies have changed', async () => {
      const name = requests.newKey();
      const { id } = await createAgent(requests.app, { name, capabilities: ['note'] });
      const ask = (): Promise<Answer> => requests.post(`agents/${name}/execute`, { action: 'note', ...DOCUMENT }, name);
      const first = await ask();
      expect(first).toMatchObject({ status: 200, body: { outcome: 'executed' } });
      await requests.post(`agents/${id}/suspend`, {});
      const before = await requests.entries();
      expect(responseParts(await ask())).toEqual(responseParts(first));
      expect(await requests.entries()).toBe(before);
    });
  });

  it('waits while the handler of the first runs, which runs once and without the key', async () => {
    const key = requests.newKey();
    const body = { action: 'wait', ...DOCUMENT };
    const ran = contexts.length;
    const first = requests.post('agents/bot/execute', body, key);
    while (contexts.length === ran) await requests.get('health');
    let hasAnswered = false;
    const others = [1, 2, 3].map(() =>
      requests.post('agents/bot/execute', body, key).finally(() => (hasAnswered = true)),
    );
    const running = (await requests.get('executions?outcome=running')).data;
    expect(running).toHaveLength(1);
    for (let looks = 0; looks < 20; looks += 1) await requests.get(`executions/${running[0].id}`);
    expect(hasAnswered).toBe(false);
    release();
    const answer = await first;
    expect(answer.body).toMatchObject({ id: running[0].id, outcome: 'executed', result: { waited: true } });
    for (const other of await Promise.all(others)) {
      expect(responseParts(other)).toEqual(responseParts(answer));
      expect(isReplayed(other)).toBe(true);
    }
    expect(contexts).toHaveLength(ran + 1);
    expect(contexts.at(-1)?.caller).toEqual({ ...contexts.at(-1)?.caller, idempotency: undefined });
  });
});
