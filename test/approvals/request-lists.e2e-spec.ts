import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { propose } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { approved, company, DECISIONS, EXECUTIONS, pending, reject, requireApproval, type Company } from './support';

describe('Requests for approval are listed', () => {
  let app: TestApp;
  let people: Company;
  /** Requests of the same action, in order: a rejected one, one with other parameters, and one on another type. */
  let requests: readonly {
    readonly id: string;
    readonly decisionId: string | null;
    readonly actionHash: string | null;
  }[];

  beforeAll(async () => {
    app = await createTestApp();
    people = await company(app);
    await requireApproval(app);
    const first = await pending(app, people.bot);
    const second = await approved(app, people, { parameters: { amount: 81 } });
    const third = await pending(app, people.bot, { resourceType: 'voucher', resourceId: 'vouchers/1' });
    await reject(app, first.decisionId, people.ann);
    requests = [first, second, third];
    await propose(app, people.bot.id);
  });
  afterAll(() => app.close());

  async function listed(list: string, query: string): Promise<string[]> {
    const { status, body } = await send(app, 'GET', `${list}?${query}`);
    expect([status, body.total]).toEqual([200, body.data.length]);
    return body.data.map(({ id }: { id: string }) => id);
  }

  const idsOf = (...indexes: number[]): (string | undefined)[] => indexes.map((index) => requests[index]?.id);

  it('by the decision, of which there is one execution', async () => {
    for (const { id, decisionId } of requests)
      expect(await listed(EXECUTIONS, `decisionId=${decisionId}`)).toEqual([id]);
    expect(await listed(EXECUTIONS, 'decisionId=dec_1')).toEqual([]);
  });

  it('by the execution, of which there is one decision', async () => {
    for (const { id, decisionId } of requests)
      expect(await listed(DECISIONS, `executionId=${id}`)).toEqual([decisionId]);
    expect(await listed(DECISIONS, 'executionId=exe_1')).toEqual([]);
  });

  it('by exactly what was requested', async () => {
    for (const { id, actionHash } of requests)
      expect(await listed(EXECUTIONS, `actionHash=${actionHash}`)).toEqual([id]);
    expect(await listed(EXECUTIONS, `actionHash=${'0'.repeat(64)}`)).toEqual([]);
  });

  it('by the resource and its type, exactly as they were named', async () => {
    expect(await listed(EXECUTIONS, 'resourceType=payment')).toEqual(idsOf(0, 1));
    expect(await listed(EXECUTIONS, 'resourceType=voucher')).toEqual(idsOf(2));
    expect(await listed(EXECUTIONS, 'resourceType=Payment')).toEqual([]);
    expect(await listed(EXECUTIONS, 'resourceId=orders%2F4711')).toEqual(idsOf(0, 1));
    expect(await listed(EXECUTIONS, 'resourceId=vouchers/1')).toEqual(idsOf(2));
    expect(await listed(EXECUTIONS, 'resourceId=orders')).toEqual([]);
  });

  it('by several of these together, and by others', async () => {
    const [first, second] = requests;
    const both = `resourceType=payment&resourceId=orders/4711&agentId=bot&action=refund`;
    expect(await listed(EXECUTIONS, both)).toEqual(idsOf(0, 1));
    expect(await listed(EXECUTIONS, `${both}&outcome=approved`)).toEqual(idsOf(1));
    expect(await listed(EXECUTIONS, `${both}&actionHash=${first?.actionHash}`)).toEqual(idsOf(0));
    expect(await listed(EXECUTIONS, `actionHash=${first?.actionHash}&decisionId=${second?.decisionId}`)).toEqual([]);
    expect(await listed(EXECUTIONS, `actionHash=${first?.actionHash}&resourceType=voucher`)).toEqual([]);
    expect(await listed(DECISIONS, `executionId=${first?.id}&status=rejected&proposedBy=bot`)).toEqual([
      first?.decisionId,
    ]);
    expect(await listed(DECISIONS, `executionId=${first?.id}&status=proposed`)).toEqual([]);
  });

  it.each([
    [EXECUTIONS, 'executionId'],
    [DECISIONS, 'decisionId'],
    [DECISIONS, 'actionHash'],
    [DECISIONS, 'resourceId'],
  ])('in %s not by %s, nor by an empty text', async (list, name) => {
    expect(Object.keys(faults(await send(app, 'GET', `${list}?${name}=x`)))).toEqual([`query.${name}`]);
    expect(Object.keys(faults(await send(app, 'GET', `${EXECUTIONS}?actionHash=`)))).toEqual(['query.actionHash']);
  });
});
