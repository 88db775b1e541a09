import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';

const DECISIONS = '/api/v1/decisions';

describe('Questions that agents ask people', () => {
  let app: TestApp;
  beforeAll(async () => (app = await createTestApp()));
  afterAll(() => app.close());

  const propose = (proposedBy: string, title: string, type = 'question'): Promise<Answer> =>
    send(app, 'POST', DECISIONS, { body: { type, title, proposedBy, riskLevel: 'low' } });
  const openQuestions = async (proposedBy: string): Promise<Answer['body']> =>
    (await send(app, 'GET', `${DECISIONS}?proposedBy=${proposedBy}&type=question&status=proposed`)).body;

  it('are open twenty at a time, of 40 that an agent asks at once', async () => {
    await createAgent(app, { name: 'asker' });
    const titles = Array.from({ length: 40 }, (_, index) => `question ${index}`);
    const answers = await Promise.all(titles.map((title) => propose('asker', title)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(20).fill(201), ...Array(20).fill(409)]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.error).toMatchObject({
      code: 'CONFLICT',
      message: 'The agent has 20 open questions, and at most 20 may be open: wait for answers, or cancel some.',
    });
    expect((await openQuestions('asker')).total).toBe(20);
  });

  it('leave room once one is settled, and keep no other decision and no other agent waiting', async () => {
    await createAgent(app, { name: 'other' });
    expect((await propose('other', 'Of another agent')).status).toBe(201);
    expect((await propose('asker', 'Of another type', 'deployment')).status).toBe(201);
    expect((await propose('asker', 'One too many')).status).toBe(409);
    const [{ id }] = (await openQuestions('asker')).data;
    await send(app, 'POST', `${DECISIONS}/${id}/cancel`, { body: {} });
    expect((await propose('asker', 'In its place')).status).toBe(201);
    expect((await propose('asker', 'One too many')).status).toBe(409);
  });
});
