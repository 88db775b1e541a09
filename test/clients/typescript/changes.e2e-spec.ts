import type { ChangePending } from '../../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import { approve, type ChangeStage, newPolicy, startChanges } from '../../changes/support';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { builtClient } from '../typescript-client';

const POLICIES = '/api/v1/policies';

/** The body of a policy, of the type that the client demands. */
function policy(): Parameters<typeof JSON.stringify>[0] {
  return newPolicy();
}

describeOnSqlite('The TypeScript client, on changes that need a second person', () => {
  let module: Awaited<ReturnType<typeof builtClient>>;
  let stage: ChangeStage;

  beforeAll(async () => {
    module = await builtClient();
    stage = await startChanges();
  });
  afterAll(() => stage.app.close());

  async function pending(promise: Promise<unknown>): Promise<ChangePending> {
    const error: unknown = await promise.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(module.ChangePending);
    return error as ChangePending;
  }

  it('throws ChangePending until the decision is approved, and makes the change when it is repeated with `change`', async () => {
    const { app, ada, cyd } = stage;
    const client = new module.GovernanceClient({ url: app.url, key: cyd.key });
    const body = policy();
    const error = await pending(client.post(POLICIES, { body }));
    const { decisionId } = error;
    expect(error).toBeInstanceOf(module.GovernanceError);
    expect(error).toMatchObject({
      name: 'ChangePending',
      code: 'CHANGE_PENDING',
      status: 202,
      isOutcomeUnknown: false,
      location: `/api/v1/decisions/${String(decisionId)}`,
      decision: { id: decisionId, type: 'change', status: 'proposed', change: { path: POLICIES } },
    });
    expect(error.message).toMatch(/Create the policy .* Nothing has changed yet.*`change`/);
    const id = String(decisionId);
    expect((await pending(client.post(POLICIES, { body, change: id }))).decisionId).toBe(id);
    await approve(app, id, ada);
    const again = await pending(client.post(POLICIES, { body }));
    expect([again.decisionId, again.decision.status]).toEqual([id, 'approved']);
    const other = { ...body, description: 'Another one.' };
    await expect(client.post(POLICIES, { body: other, change: id })).rejects.toMatchObject({ status: 409 });
    expect(await client.post(POLICIES, { body, change: id })).toMatchObject({ name: body.name, status: 'active' });
    await expect(client.post(POLICIES, { body, change: id })).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('answers a read of the decision itself with the decision', async () => {
    const { app, ada, cyd } = stage;
    const client = new module.GovernanceClient({ url: app.url, key: cyd.key });
    const { decisionId } = await pending(client.post(POLICIES, { body: policy() }));
    const path = { id: String(decisionId) };
    expect(await client.get('/api/v1/decisions/{id}', { path, query: {} })).toMatchObject({ status: 'proposed' });
    const reviewer = new module.GovernanceClient({ url: app.url, key: ada.key });
    const body = { comment: 'Not now.' };
    const rejected = await reviewer.post('/api/v1/decisions/{id}/reject', { path, body });
    expect([rejected.type, rejected.status]).toEqual(['change', 'rejected']);
  });

  it('waits in the place of its caller with `changes`, once the change is approved or the wait has ended', async () => {
    const { app, ada, cyd } = stage;
    const made = jest.fn();
    const changes = {
      approval: async ({ id }: { readonly id: string }) => void (await approve(app, id, ada)),
      made,
    };
    const client = new module.GovernanceClient({ url: app.url, key: cyd.key, changes });
    const body = policy();
    const { id } = await client.post(POLICIES, { body });
    expect((await send(app, 'GET', `${POLICIES}/${id}`)).body.name).toBe(body.name);
    expect(made).toHaveBeenCalledTimes(1);
    const end = new Error('No time left.');
    const others = { approval: () => Promise.reject(end) };
    const hurried = new module.GovernanceClient({ url: app.url, key: cyd.key, changes: others });
    await expect(hurried.post(POLICIES, { body: policy() })).rejects.toBe(end);
  });
});
