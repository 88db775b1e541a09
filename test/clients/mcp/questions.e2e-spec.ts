import { describeOnSqlite } from '../../support/database/database-kind';
import type { RawConnection } from './raw-connection';
import { answer, Strangers, WITH_EVERYTHING } from './strangers';

const line = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });
const params = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } };
const QUESTION = line({ id: 'q', method: 'elicitation/create', params });
/**
 * A server that never answers a call, asks when its prompts are listed, and no longer wants an answer when its
 * resources are.
 */
const ODD = {
  initialize: [WITH_EVERYTHING],
  'tools/call': ['%NEVER%'],
  'prompts/list': [QUESTION, answer({ result: { prompts: [] } })],
  'resources/list': [
    line({ method: 'notifications/cancelled', params: { requestId: 'q' } }),
    answer({ result: { resources: [] } }),
  ],
};

describeOnSqlite('A question of a server behind gov mcp', () => {
  let strangers: Strangers;
  let connection: RawConnection;

  beforeAll(async () => (strangers = await Strangers.open()));
  beforeEach(async () => (connection = await strangers.connectToOne(ODD, {}, { elicitation: {} })));
  afterEach(() => connection.close());
  afterAll(() => strangers.close());

  /** Calls, so many at once, while which the server asks. Returns the id of the question. */
  async function askedDuring(calls: number): Promise<unknown> {
    for (let id = 1; id <= calls; id += 1) connection.call(id, 'greet', { id });
    while (strangers.requests().filter(([method]) => method === 'tools/call').length < calls)
      await strangers.ask(connection, 'ping');
    await strangers.ask(connection, 'prompts/list');
    return (await connection.until(({ method }) => method === 'elicitation/create')).id;
  }

  function cancelled(): unknown[] {
    const messages = connection.received.filter(({ method }) => method === 'notifications/cancelled');
    return messages.map((message) => message.params.requestId);
  }

  async function cancel(requestId: number): Promise<void> {
    connection.send({ method: 'notifications/cancelled', params: { requestId } });
    await strangers.ask(connection, 'ping');
  }

  it('is withdrawn with the only call', async () => {
    const id = await askedDuring(1);
    await cancel(1);
    expect(cancelled()).toEqual([id]);
  });

  it('stays when one of several calls is cancelled, as it may belong to another', async () => {
    await askedDuring(2);
    await cancel(2);
    expect(cancelled()).toEqual([]);
  });

  it('is withdrawn when the server no longer wants an answer', async () => {
    const id = await askedDuring(1);
    await strangers.ask(connection, 'resources/list');
    await connection.until(({ method }) => method === 'notifications/cancelled');
    expect(cancelled()).toEqual([id]);
  });
});
