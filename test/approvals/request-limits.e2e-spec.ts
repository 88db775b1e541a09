import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { approve, company, DECISIONS, EXECUTIONS, order, pending, requireApproval, type Company } from './support';

/** Most requests of one caller that may wait. */
const OF_A_CALLER = 100;

describe('Requests that wait for an approval', () => {
  let app: TestApp;
  let people: Company;

  async function start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    app = await createTestApp({ environment });
    people = await company(app);
    await requireApproval(app);
  }
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const caller = async (): Promise<string> => (await issueKey(app)).secret;
  const stateOf = ({ status, body }: Answer): unknown[] => [status, body.outcome ?? body.status];

  /**
   * Requests with these keys wait, alternately for an execution and for its decision. One is answered although nothing
   * has changed; all others are answered once the decision is approved.
   */
  async function expectOneTooMany(keys: readonly string[]): Promise<void> {
    const { id, decisionId } = await pending(app, people.bot, order());
    const paths = [`${EXECUTIONS}/${id}`, `${DECISIONS}/${decisionId}`];
    const waiting = keys.map((key, index) => send(app, 'GET', `${paths[index % 2]}?wait=60`, { key }));
    const first = await Promise.race(waiting);
    expect(stateOf(first)).toEqual([200, expect.stringMatching(/^(?:pending_approval|proposed)$/)]);
    expect((await approve(app, decisionId, people.ann)).body.status).toBe('approved');
    const others = (await Promise.all(waiting)).filter((answer) => answer !== first);
    expect(others.map(stateOf)).toEqual(others.map(() => [200, 'approved']));
  }

  it('are as many as MAX_WAITING in total: a further one is answered at once', async () => {
    await start({ MAX_WAITING: '3' });
    const [one, other] = [await caller(), await caller()];
    await expectOneTooMany([one, other, one, other]);
    // Requests that have ended leave their places to others.
    await expectOneTooMany([other, other, one, one]);
  });

  it('are 100 of each caller, with any MAX_WAITING', async () => {
    await start();
    const [one, other] = [await caller(), await caller()];
    const many = (key: string): string[] => Array<string>(OF_A_CALLER + 1).fill(key);
    await Promise.all([expectOneTooMany(many(one)), expectOneTooMany(many(other))]);
  });

  it('leave their places to others when their clients leave', async () => {
    await start({ MAX_WAITING: '1' });
    const { id } = await pending(app, people.bot, order());
    const client = new AbortController();
    const sent = { headers: { 'X-API-Key': API_KEY }, signal: client.signal };
    const both = [1, 2].map(() => fetch(`${app.url}${EXECUTIONS}/${id}?wait=60`, sent));
    // One request is refused, so the other one waits.
    await Promise.race(both);
    client.abort();
    await Promise.allSettled(both);
    // The service notices a little later.
    for (let waited = false; !waited;) {
      const next = await pending(app, people.bot, order());
      const others = [1, 2].map(() => send(app, 'GET', `${EXECUTIONS}/${next.id}?wait=60`));
      await Promise.race(others);
      await approve(app, next.decisionId, people.ann);
      waited = (await Promise.all(others)).some(({ body }) => body.outcome === 'approved');
    }
  });

  it('are all answered at once if MAX_WAITING is 0', async () => {
    await start({ MAX_WAITING: '0' });
    const { id, decisionId } = await pending(app, people.bot);
    expect(stateOf(await send(app, 'GET', `${EXECUTIONS}/${id}?wait=60`))).toEqual([200, 'pending_approval']);
    expect(stateOf(await send(app, 'GET', `${DECISIONS}/${decisionId}?wait=60`))).toEqual([200, 'proposed']);
    expect((await approve(app, decisionId, people.ann)).body.status).toBe('approved');
  });
});
