import { setTimeout } from 'node:timers/promises';
import { chainIsValid, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { isReplayed } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { responseParts, DOCUMENT, KeyedRequests } from './keyed-requests';

const DAY = 24 * 60 * 60 * 1000;

describe('A POST with an Idempotency-Key, over time', () => {
  let requests: KeyedRequests;

  beforeAll(async () => {
    requests = await KeyedRequests.start(await temporaryDatabase());
  });
  afterEach(() => chainIsValid(requests.app));
  afterAll(() => requests.end());

  it('has its answer replayed after a restart', async () => {
    const body = { type: 'restart', name: 'x' };
    const first = await requests.post('entities', body, 'restart');
    const refused = await requests.post('agents/bot/execute', { action: 'unknown', ...DOCUMENT }, 'restart');
    await requests.restart();
    expect(responseParts(await requests.post('entities', body, 'restart'))).toEqual(responseParts(first));
    expect(
      responseParts(await requests.post('agents/bot/execute', { action: 'unknown', ...DOCUMENT }, 'restart')),
    ).toEqual(responseParts(refused));
  });

  it('that names a future time has its answer replayed after that time has passed', async () => {
    const proposedBy = await requests.newAgent();
    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const body = { type: 'a', title: 'b', proposedBy, riskLevel: 'low', expiresAt };
    const key = requests.newKey();
    const first = await requests.post('decisions', body, key);
    expect(first.status).toBe(201);
    while (Date.now() <= Date.parse(expiresAt)) await setTimeout(50);
    expect(responseParts(await requests.post('decisions', body, key))).toEqual(responseParts(first));
    expect(await requests.post('decisions', body, requests.newKey())).toMatchObject({ status: 400 });
    // Its expiry is an entry, which must not fall into the days that other tests move ahead: the ledger would stay
    // there.
    while ((await requests.get(`decisions/${first.body.id}`)).status === 'proposed') await setTimeout(50);
  });

  describe('as time goes by', () => {
    afterEach(restoreTime);

    async function keptKeys(): Promise<number> {
      const foreign = await foreignConnection(requests.app);
      try {
        const [row] = await foreign.all<{ count: number | string }>(
          'SELECT count(*) AS "count" FROM "idempotency_keys"',
        );
        return Number(row?.count);
      } finally {
        await foreign.close();
      }
    }

    it('is remembered for 24 hours, then free again; stored answers are removed as others write', async () => {
      const body = { type: 'day', name: 'x' };
      const first = await requests.post('entities', body, 'day');
      await moveTime(DAY - 60_000);
      expect(responseParts(await requests.post('entities', body, 'day'))).toEqual(responseParts(first));
      await restoreTime();
      await Promise.all(Array.from({ length: 40 }, () => requests.post('entities', body, requests.newKey())));
      expect(await keptKeys()).toBeGreaterThan(40);
      await moveTime(DAY + 60_000);
      const anew = await requests.post('entities', { ...body, name: 'y' }, 'day');
      expect(anew.status).toBe(201);
      expect(isReplayed(anew)).toBe(false);
      while ((await keptKeys()) > 2) await createEntity(requests.app);
      expect(isReplayed(await requests.post('entities', { ...body, name: 'y' }, 'day'))).toBe(true);
    });

    it("is remembered for 24 hours of the ledger's clock, which waits if the machine's is set back", async () => {
      const body = { type: 'back', name: 'x' };
      const before = await requests.post('entities', body, 'back');
      await moveTime(-10 * DAY);
      expect(responseParts(await requests.post('entities', body, 'back'))).toEqual(responseParts(before));
      expect(isReplayed(await requests.post('entities', { ...body, name: 'y' }, 'behind'))).toBe(false);
      await restoreTime();
      await moveTime(3 * DAY);
      const ahead = await requests.post('entities', body, 'back');
      expect(isReplayed(ahead)).toBe(false);
      expect(ahead.body.id).not.toBe(before.body.id);
      // The ledger has reached that day, and does not go back.
      await restoreTime();
      expect(responseParts(await requests.post('entities', body, 'back'))).toEqual(responseParts(ahead));
      expect(isReplayed(await requests.post('entities', { ...body, name: 'y' }, 'behind'))).toBe(false);
    });

    it('is not forgotten because of a clock that ran ahead while nothing was recorded', async () => {
      const [key, body] = [requests.newKey(), { type: 'ahead', name: requests.newKey() }];
      const { id } = (await requests.post('webhooks', { url: 'https://host.invalid/', actions: ['none'] })).body;
      const webhook = `webhooks/${id}`;
      await moveTime(5 * DAY);
      const first = await requests.post('entities', body, key);
      await restoreTime();
      await moveTime(7 * DAY);
      expect(isReplayed(await requests.post(`${webhook}/resume`, {}, requests.newKey()))).toBe(false);
      await restoreTime();
      const again = await requests.post('entities', body, key);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(isReplayed(again)).toBe(true);
    });

    it('is also removed by writes without a key', async () => {
      await requests.post('entities', { type: 'a', name: 'b' }, requests.newKey());
      await moveTime(9 * DAY);
      while ((await keptKeys()) > 0) await createEntity(requests.app);
    });
  });
});
